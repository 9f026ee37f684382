//! `coua check` of many lines against a large filter file, beside reading and splitting them alone.

mod sheet;
mod split;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::dedup::{Cost, Place, cost};
use crate::generate::{Kind, Lines, Random};
use crate::host::Circumstances;
use crate::output::{Failure, Report};
use sheet::Runs;
pub(crate) use sheet::Sheet;
use split::{Look, split};

/// `coua check` of many lines against a large filter file, beside reading and splitting them alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Items in the filter file.
    #[arg(long, default_value_t = 100_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,
    /// Lines to check; half of them are in the file.
    #[arg(long, default_value_t = 10_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    lines: u64,
    /// What lines look like.
    #[arg(long, value_enum, default_value = "urls")]
    kind: Kind,
    /// The false-positive rate of the filter.
    #[arg(long, default_value_t = 0.000_001, value_name = "P")]
    rate: f64,
    /// Rounds; each runs every job once.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The program to measure [default: the one built beside this one].
    #[arg(long, value_name = "FILE")]
    coua: Option<PathBuf>,
    /// Where filter, lines and results go.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    out: PathBuf,
    /// Only read and split the lines of this file, and hash them if `--hash` is given: a job of its own.
    #[arg(long, hide = true, value_name = "FILE")]
    split: Option<PathBuf>,
    /// See `--split`.
    #[arg(long, hide = true)]
    hash: bool,
}

/// What is timed: name, remark, arguments. `FILTER` and `LINES` stand for the files.
type Job = (&'static str, &'static str, &'static [&'static str]);

/// What the others are related to.
const BASE: &str = "read and split";

/// What opening the file alone takes.
const OPENING: &str = "coua check, no lines";

/// Jobs of this program.
const OWN: [Job; 2] = [
    (BASE, "this program, one thread: blocks of 256 KiB, memchr", &["check", "--split", "LINES"]),
    (
        "read, split and hash",
        "the same, and XXH3 of each line",
        &["check", "--hash", "--split", "LINES"],
    ),
];

/// Jobs of `coua`.
const COUA: [Job; 4] = [
    (OPENING, "opening the file", &["check", "-c", "FILTER", "/dev/null"]),
    ("coua check -c -j 1", "counting", &["check", "-c", "-j", "1", "FILTER", "LINES"]),
    ("coua check -c -j 2", "counting", &["check", "-c", "-j", "2", "FILTER", "LINES"]),
    (
        "coua check -j 2",
        "printing what is there to a file",
        &["check", "-j", "2", "FILTER", "LINES"],
    ),
];

/// The files of one comparison.
struct Files {
    filter: PathBuf,
    lines: PathBuf,
    output: PathBuf,
}

impl Check {
    /// Measures, prints, writes `check-KIND-ITEMS.json`.
    ///
    /// # Errors
    ///
    /// If a program is missing or fails, files cannot be written, or answers are wrong.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if let Some(path) = &self.split {
            let told = |why: &io::Error| Failure::of(path.display(), why);
            let found = split(path, if self.hash { Look::Hash } else { Look::Pass })
                .map_err(|why| told(&why))?;
            println!("{found}");
            return Ok(());
        }
        let circumstances = Circumstances::now();
        let coua = Place::new(self.coua.clone())?.coua()?;
        fs::create_dir_all(&self.out)?;
        let at = |name: &str| self.out.join(name);
        let files =
            Files { filter: at("check.coua"), lines: at("check-lines"), output: at("check-found") };
        let sheet = self.measure(&coua, &files);
        for path in [&files.filter, &files.lines, &files.output] {
            // What was never made cannot be removed.
            match fs::remove_file(path) {
                Ok(()) | Err(_) => {}
            }
        }
        let report = Report { circumstances, sheet: sheet? };
        println!("{report}");
        let name = format!("check-{:?}-{}", self.kind, self.items).to_lowercase();
        report.save(&self.out, &name)
    }

    fn measure(&self, coua: &Path, files: &Files) -> Result<Sheet, Failure> {
        eprintln!("filling the filter with {} lines", self.items);
        self.fill(coua, &files.filter)?;
        let present = self.write_lines(&files.lines)?;
        let own = std::env::current_exe()?;
        let jobs = OWN.map(|job| (&*own, job)).into_iter().chain(COUA.map(|job| (coua, job)));
        let mut all: Vec<_> = jobs.map(|(program, job)| (program, job, Runs::new(&job))).collect();
        for round in 1..=self.rounds {
            for (program, job, runs) in &mut all {
                eprintln!("round {round} of {}: {}", self.rounds, job.0);
                runs.costs.push(play(program, job, files)?);
                runs.found = found(job, &files.output)?;
            }
        }
        let all: Vec<Runs> = all.into_iter().map(|(_, _, runs)| runs).collect();
        let sheet = Sheet {
            input: format!("{:?}", self.kind).to_lowercase(),
            items: self.items,
            filter_bytes: fs::metadata(&files.filter)?.len(),
            rate: self.rate,
            lines: self.lines,
            bytes: fs::metadata(&files.lines)?.len(),
            present,
            rounds: self.rounds,
            jobs: sheet::jobs(&all),
        };
        sheet.judge().map(|()| sheet)
    }

    fn generated(&self) -> Lines {
        Lines { kind: self.kind, count: self.items, repeats: 0, seed: 1 }
    }

    /// `coua add` reads the lines as they are made.
    fn fill(&self, coua: &Path, filter: &Path) -> Result<(), Failure> {
        let told = |why: &dyn std::fmt::Display| Failure::of("coua add", &why);
        // Of an earlier run that was broken off: what is added to it would be there twice.
        match fs::remove_file(filter) {
            Ok(()) | Err(_) => {}
        }
        let mut child = Command::new(coua)
            .args(["add", "--quiet", "--rate", &self.rate.to_string()])
            .args(["--capacity", &self.items.to_string()])
            .arg(filter)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|why| told(&why))?;
        let input = child.stdin.take().ok_or_else(|| told(&"it has no input"))?;
        let written = self.generated().write_to(input);
        let status = child.wait().map_err(|why| told(&why))?;
        if !status.success() {
            return Err(told(&status));
        }
        written.map_err(|why| told(&why))
    }

    /// Half of the lines are there, scattered over all items; how many are.
    fn write_lines(&self, path: &Path) -> Result<u64, Failure> {
        let told = |why: &io::Error| Failure::of(path.display(), why);
        let file = File::create(path).map_err(|why| told(&why))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let (mut random, mut line, mut present) = (Random::new(7), Vec::new(), 0);
        for _ in 0..self.lines {
            let index = random.below(2 * self.items);
            present += u64::from(index < self.items);
            line.clear();
            self.kind.write(self.generated().seed, index, &mut line);
            out.write_all(&line).map_err(|why| told(&why))?;
        }
        let file = out.into_inner().map_err(|why| told(why.error()))?;
        // Otherwise the first programs pay for writing it to the disk.
        file.sync_all().map_err(|why| told(&why))?;
        Ok(present)
    }
}

/// Runs a job once.
fn play(program: &Path, job: &Job, files: &Files) -> Result<Cost, Failure> {
    // A new one: some file systems write a file to the disk that was emptied and is closed.
    match fs::remove_file(&files.output) {
        Ok(()) | Err(_) => {}
    }
    let output = File::create(&files.output)?;
    let mut command = Command::new(program);
    for &argument in job.2 {
        match argument {
            "FILTER" => command.arg(&files.filter),
            "LINES" => command.arg(&files.lines),
            plain => command.arg(plain),
        };
    }
    let (cost, status) = cost(command.stdin(Stdio::null()).stdout(output))
        .map_err(|why| Failure::of(job.0, &why))?;
    match status.code() {
        // `coua check` ends with 1 if nothing is there.
        Some(0 | 1) => Ok(cost),
        _ => Err(Failure::of(job.0, &status)),
    }
}

/// How many lines `coua` has found, by what it has written.
fn found(job: &Job, output: &Path) -> Result<Option<u64>, Failure> {
    let told = |why: &dyn std::fmt::Display| Failure::of(job.0, &why);
    if !job.0.starts_with("coua") {
        return Ok(None);
    }
    if job.2.contains(&"-c") {
        let text = fs::read_to_string(output).map_err(|why| told(&why))?;
        return text.trim().parse().map(Some).map_err(|_| {
            let start: String = text.chars().take(40).collect();
            told(&format!("found {start:?}, expected a number of lines"))
        });
    }
    split(output, Look::Pass).map(Some).map_err(|why| told(&why))
}
