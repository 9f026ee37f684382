//! Whole programs beside each other: distinct lines of one file, and remembering lines in a file.

mod check;
mod place;
mod run;
mod sheet;
mod tools;

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use crate::generate::Lines;
use crate::host::Circumstances;
use crate::output::{Failure, Report};
use crate::terms::Absent;
pub(crate) use place::Place;
pub(crate) use run::{Cost, cost};
use run::{Files, check, run};
use sheet::Runs;
pub(crate) use sheet::Sheet;
use tools::{Job, REFERENCE, TOOLS, Tool};

/// Whole programs beside each other: time, memory, lost and left-over lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Dedup {
    #[command(flatten)]
    lines: Lines,
    /// What the programs have to do.
    #[arg(long, value_enum, default_value = "distinct")]
    job: Job,
    /// Rounds; each runs every program once.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only programs whose name contains one of these words, beside Coua.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    only: Vec<String>,
    /// Not the programs whose name contains one of these words.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    without: Vec<String>,
    /// Get the peers from their registries first, into `peers` in the build directory.
    #[arg(long)]
    install: bool,
    /// The program to measure [default: the one built beside this one].
    #[arg(long, value_name = "FILE")]
    coua: Option<PathBuf>,
    /// Where input, output and results go.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    out: PathBuf,
}

impl Dedup {
    /// Measures, prints, writes `dedup-JOB-KIND-LINES.json`.
    ///
    /// # Errors
    ///
    /// If a program fails, or files cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let place = Place::new(self.coua.clone())?;
        if self.install {
            place.install()?;
        }
        place.coua()?;
        let files = self.files()?;
        let sheet = self.measure(&place, &files);
        fs::remove_file(&files.input)?;
        let sheet = sheet?;
        let report = Report { circumstances, sheet };
        println!("{report}");
        let (job, kind) = (self.job, self.lines.kind);
        let name = format!("dedup-{job:?}-{kind:?}-{}", self.lines.count).to_lowercase();
        report.save(&self.out, &name)
    }

    /// Writes the input, which also brings it into the cache.
    fn files(&self) -> Result<Files, Failure> {
        fs::create_dir_all(&self.out)?;
        let files = Files { input: self.out.join("lines"), output: self.out.join("distinct") };
        let told = |why: &io::Error| Failure::of(files.input.display(), why);
        let input = File::create(&files.input).map_err(|why| told(&why))?;
        self.lines.write_to(&input).map_err(|why| told(&why))?;
        // Otherwise the first programs pay for writing it to the disk.
        input.sync_all().map_err(|why| told(&why))?;
        Ok(files)
    }

    fn measure(&self, place: &Place, files: &Files) -> Result<Sheet, Failure> {
        let (mut all, mut absent) = self.gather(place);
        for round in 1..=self.rounds {
            for runs in all.iter_mut().filter(|runs| runs.failure.is_none()) {
                eprintln!("round {round} of {}: {}", self.rounds, runs.tool.name);
                match self.once(runs, files, place) {
                    // Without the reference there is nothing to relate the others to.
                    Err(failure) if runs.tool.name == REFERENCE => return Err(failure),
                    Err(failure) => runs.failure = Some(failure.to_string()),
                    Ok(()) => {}
                }
                files.clear();
            }
        }
        let failed = |runs: &Runs| Some((runs.tool.name.to_owned(), runs.failure.clone()?));
        absent.extend(all.iter().filter_map(failed));
        all.retain(|runs| runs.failure.is_none());
        Ok(Sheet {
            input: format!("{:?}", self.lines.kind).to_lowercase(),
            bytes: fs::metadata(&files.input)?.len(),
            count: self.lines.count,
            unique: self.lines.unique(),
            rounds: self.rounds,
            lines: sheet::lines(&self.lines, &all),
            absent,
        })
    }

    /// The programs that are there, and those that are not.
    fn gather(&self, place: &Place) -> (Vec<Runs>, Absent) {
        let (mut all, mut absent) = (Vec::new(), Absent::new());
        for tool in TOOLS.iter().filter(|tool| self.wants(tool)) {
            match place.find(tool.program) {
                Some(program) => all.push(Runs::new(tool, program)),
                None => absent
                    .push((tool.name.to_owned(), format!("{} is not installed", tool.program))),
            }
        }
        (all, absent)
    }

    fn once(&self, runs: &mut Runs, files: &Files, place: &Place) -> Result<(), Failure> {
        let tool = runs.tool;
        let cost = run(tool, &runs.program, &self.lines, files, place)?;
        runs.costs.push(cost);
        if runs.verdict.is_none() && tool.works {
            runs.verdict = Some(check(tool, &self.lines, files)?);
        }
        Ok(())
    }

    fn wants(&self, tool: &Tool) -> bool {
        let among =
            |words: &[String]| words.iter().any(|word: &String| tool.name.contains(word.as_str()));
        let named = (self.only.is_empty() || among(&self.only)) && !among(&self.without);
        tool.job == self.job && (named || tool.name == REFERENCE)
    }
}
