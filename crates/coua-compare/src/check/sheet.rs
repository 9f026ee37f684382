//! The table of jobs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BASE, OPENING};
use crate::dedup::Cost;
use crate::markdown::{Table, cell, short};
use crate::measure::{Summary, median};
use crate::output::Failure;

/// All runs of one job.
pub(super) struct Runs {
    name: &'static str,
    remark: &'static str,
    /// One a round.
    pub(super) costs: Vec<Cost>,
    /// Lines that it says are in the filter.
    pub(super) found: Option<u64>,
}

impl Runs {
    /// None yet.
    pub(super) fn new(job: &super::Job) -> Self {
        Self { name: job.0, remark: job.1, costs: Vec::new(), found: None }
    }
}

/// A job's figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    name: String,
    remark: String,
    /// The ratio is that to reading and splitting alone.
    wall_seconds: Summary,
    processor_seconds: Summary,
    peak_bytes: u64,
    found: Option<u64>,
}

/// All jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    /// The lines, in words.
    pub(super) input: String,
    /// Items in the filter.
    pub(super) items: u64,
    /// Bytes of its file.
    pub(super) filter_bytes: u64,
    /// Its false-positive rate.
    pub(super) rate: f64,
    /// Lines that were checked.
    pub(super) lines: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// How many of them were added to the filter.
    pub(super) present: u64,
    /// Rounds measured.
    pub(super) rounds: u32,
    /// The jobs.
    pub(super) jobs: Vec<Line>,
}

/// Summarises the runs.
pub(super) fn jobs(all: &[Runs]) -> Vec<Line> {
    let walls = |runs: &Runs| runs.costs.iter().map(|cost| cost.wall).collect::<Vec<_>>();
    let base = all.iter().find(|runs| runs.name == BASE).map(walls);
    let line = |runs: &Runs| {
        let processor: Vec<f64> = runs.costs.iter().map(|cost| cost.processor).collect();
        let peaks: Vec<f64> = runs.costs.iter().map(|cost| cost.peak as f64).collect();
        Line {
            name: runs.name.to_owned(),
            remark: runs.remark.to_owned(),
            wall_seconds: Summary::new(&walls(runs), base.as_deref()),
            processor_seconds: Summary::new(&processor, None),
            peak_bytes: median(&peaks) as u64,
            found: runs.found,
        }
    };
    all.iter().map(line).collect()
}

impl Sheet {
    /// Whether all lines that were added were found, and few others.
    ///
    /// # Errors
    ///
    /// The first job for which that is not so.
    pub(super) fn judge(&self) -> Result<(), Failure> {
        // Five deviations above the expected number of false positives.
        let expected = (self.lines - self.present) as f64 * self.rate;
        let most = self.present + (expected + 5.0 * expected.sqrt()).ceil() as u64 + 1;
        for job in self.jobs.iter().filter(|job| job.name != OPENING) {
            let wrong = |found: &u64| !(self.present..=most).contains(found);
            if let Some(found) = job.found.filter(wrong) {
                let present = self.present;
                let why = format!("found {found} lines, expected {present} to {most}");
                return Err(Failure::of(&job.name, &why));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "### {} lines ({}, {} GB) against a file of {} items ({} GB, rate {}), {} rounds\n\n\
             Whole process, warm cache: median, half the spread, ratio to `{BASE}`.\n",
            self.lines,
            self.input,
            short(self.bytes as f64 / 1e9),
            self.items,
            short(self.filter_bytes as f64 / 1e9),
            short(self.rate),
            self.rounds
        )?;
        let mut table = Table::new([
            "job",
            "seconds",
            "processor seconds",
            "M lines/s",
            "peak MiB",
            "wrongly found",
        ]);
        for job in &self.jobs {
            let wrong = job
                .found
                .map_or("-".into(), |found| found.saturating_sub(self.present).to_string());
            table.row([
                job.name.clone(),
                cell(Some(&job.wall_seconds)),
                cell(Some(&job.processor_seconds)),
                if job.name == OPENING {
                    "-".into()
                } else {
                    short(self.lines as f64 / job.wall_seconds.median / 1e6)
                },
                short(job.peak_bytes as f64 / f64::from(1 << 20)),
                wrong,
            ]);
        }
        writeln!(out, "{table}")?;
        self.jobs.iter().try_for_each(|job| writeln!(out, "- {}: {}", job.name, job.remark))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Sheet};
    use crate::measure::Summary;

    #[test]
    fn lost_lines_and_too_many_strangers_are_told() {
        let time = Summary::new(&[1.0], None);
        let sheet = |found| Sheet {
            input: "urls".into(),
            items: 100,
            filter_bytes: 300,
            rate: 0.01,
            lines: 2000,
            bytes: 1,
            present: 1000,
            rounds: 1,
            jobs: vec![Line {
                name: "coua check".into(),
                remark: String::new(),
                wall_seconds: time,
                processor_seconds: time,
                peak_bytes: 1,
                found: Some(found),
            }],
        };
        assert!(sheet(1000).judge().is_ok() && sheet(1020).judge().is_ok());
        assert!(sheet(999).judge().is_err() && sheet(1040).judge().is_err());
    }
}
