//! The table of programs.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::Verdict;
use super::run::Cost;
use super::tools::{REFERENCE, Tool};
use crate::generate::Lines;
use crate::markdown::{Table, cell, short};
use crate::measure::{Summary, median};
use crate::terms::Absent;

/// All runs of one program.
#[derive(Debug)]
pub(crate) struct Runs {
    /// The program.
    pub(crate) tool: &'static Tool,
    /// Its file.
    pub(crate) program: PathBuf,
    /// One a round.
    pub(crate) costs: Vec<Cost>,
    /// What was wrong, if it was checked.
    pub(crate) verdict: Option<Verdict>,
    /// Why it was given up.
    pub(crate) failure: Option<String>,
}

impl Runs {
    /// None yet.
    pub(crate) fn new(tool: &'static Tool, program: PathBuf) -> Self {
        Self { tool, program, costs: Vec::new(), verdict: None, failure: None }
    }
}

/// A program's figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    name: String,
    remark: String,
    command: String,
    wall_seconds: Summary,
    processor_seconds: Summary,
    peak_bytes: u64,
    peak_bytes_per_unique: f64,
    verdict: Option<Verdict>,
}

/// All programs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    /// The input, in words.
    pub(crate) input: String,
    /// Bytes of the input.
    pub(crate) bytes: u64,
    /// Its lines.
    pub(crate) count: u64,
    /// Its distinct lines.
    pub(crate) unique: u64,
    /// Rounds measured.
    pub(crate) rounds: u32,
    /// The programs.
    pub(crate) lines: Vec<Line>,
    /// Those that did not run, and why.
    pub(crate) absent: Absent,
}

/// Summarises the runs; times are related to the reference's in the same round.
pub(crate) fn lines(input: &Lines, runs: &[Runs]) -> Vec<Line> {
    let walls = |runs: &Runs| runs.costs.iter().map(|cost| cost.wall).collect::<Vec<_>>();
    let base = runs.iter().find(|runs| runs.tool.name == REFERENCE).map(walls);
    let line = |runs: &Runs| {
        let processor: Vec<f64> = runs.costs.iter().map(|cost| cost.processor).collect();
        let peaks: Vec<f64> = runs.costs.iter().map(|cost| cost.peak as f64).collect();
        let peak = median(&peaks);
        Line {
            name: runs.tool.name.to_owned(),
            remark: runs.tool.remark.to_owned(),
            command: runs.tool.script.to_owned(),
            wall_seconds: Summary::new(&walls(runs), base.as_deref()),
            processor_seconds: Summary::new(&processor, None),
            peak_bytes: peak as u64,
            peak_bytes_per_unique: peak / input.unique() as f64,
            verdict: runs.verdict,
        }
    };
    runs.iter().filter(|runs| !runs.costs.is_empty()).map(line).collect()
}

impl Sheet {
    fn table(&self) -> Table {
        let mut table = Table::new([
            "program",
            "seconds",
            "processor seconds",
            "M lines/s",
            "peak MiB",
            "bytes/unique",
            "lost",
            "left over",
            "strange",
        ]);
        for line in &self.lines {
            let count =
                |of: fn(&Verdict) -> u64| line.verdict.map_or("-".into(), |v| of(&v).to_string());
            table.row([
                line.name.clone(),
                cell(Some(&line.wall_seconds)),
                cell(Some(&line.processor_seconds)),
                short(self.count as f64 / line.wall_seconds.median / 1e6),
                short(line.peak_bytes as f64 / f64::from(1 << 20)),
                short(line.peak_bytes_per_unique),
                count(|verdict| verdict.lost),
                count(|verdict| verdict.left_over),
                count(|verdict| verdict.strange),
            ]);
        }
        table
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "### {}: {} lines, {} distinct, {} GB, {} rounds\n\n\
             Whole process, warm cache, output to a file: median, half the spread, ratio to \
             `{REFERENCE}`.\n\n{}",
            self.input,
            self.count,
            self.unique,
            short(self.bytes as f64 / 1e9),
            self.rounds,
            self.table()
        )?;
        for line in &self.lines {
            let command: Vec<&str> = line.command.split_whitespace().collect();
            let colon = if line.remark.is_empty() { "" } else { ": " };
            writeln!(out, "- {}: {}{colon}`{}`", line.name, line.remark, command.join(" "))?;
        }
        for (name, reason) in &self.absent {
            writeln!(out, "- {name}: not run, {reason}")?;
        }
        Ok(())
    }
}
