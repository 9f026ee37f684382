//! `coua remove`.

use crate::cli::checkpoint::WorkArgs;
use crate::cli::secret::SecretArgs;
use crate::cli::target::TargetArgs;
use crate::cli::window::NowArgs;
use crate::clock::Now;
use crate::output::{Destination, Destinations, Settled};
use crate::pipeline::{Answer, Deliver, Flow};
use crate::record::block::Block;
use crate::remote::{self, Address, Task};
use crate::resume::{Begun, Command, JobSpec, Recorder};
use crate::run::preflight::{Preflight, Use};
use crate::run::session::Session;
use crate::target::file::{FilterFile, Kept};
use crate::target::memory::Memory;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use clap::ValueEnum;
use coua::Insertion;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Take records out of a filter file
///
/// Takes one copy of every record away. Remove only what was added: a record that was never added
/// is, with the filter's false-positive rate as probability, mistaken for another one, which is then
/// forgotten. The file is brought up to date at the end, after the report is complete (and on disk, if
/// it is a file), and every few seconds if all inputs, and the report, are files. At exit code 2 it is
/// as it was before, or at the last checkpoint; at exit code 4 all is recorded, but the disk has not confirmed it,
/// and a power cut may undo it. SIGINT and SIGTERM finish the present block, save, and
/// end the program by the signal.
///
/// A run whose inputs are files, without --report or with -o, can be interrupted at any moment, also by
/// a crash, and resumed by the same command with --resume: of every record one copy is then taken, and the
/// report is what it would have been. (Starting it again would take the first ones twice, and is refused.)
///
/// On a server, what was removed stays removed at exit code 2, also what is in no report yet. After a
/// lost connection, the records whose answer was lost are removed again, may lose two copies, and count
/// as the second answer says.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    work: WorkArgs,
}

/// What to print.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
struct ReportArgs {
    /// Print the records that were found and removed, or those that were not found
    #[arg(long, value_name = "WHICH")]
    report: Option<Which>,

    /// Write the report to FILE instead of standard output (which is `-`)
    #[arg(short = 'o', long, value_name = "FILE", requires = "report")]
    output: Option<PathBuf>,
}

/// Which records to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Which {
    /// Those that were found and removed.
    Found,
    /// Those that were not found.
    NotFound,
}

impl ReportArgs {
    fn destinations(&self) -> Destinations<'_> {
        let main = self.report.map(|_| Destination::of(self.output.as_deref()));
        Destinations { main, tee: None }
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (work, path) = (&args.work, &args.target.filter_file);
    let (report, to) = (args.report.report, args.report.destinations());
    let preflight = Preflight::new(&args.target.input, &work.run, work.manners.quiet).to(to);
    if let Some(address) = Address::of(path)? {
        remote::refuse_options_of_files(&args.secret, args.now, Some(work))?;
        let wanted = report.map(|report| report == Which::Found);
        return remote::remove::run(Task { address, preflight }, wanted);
    }
    let ready = preflight.secret(&args.secret).filter(path, Use::Changed).check()?;
    let file = FilterFile::lock_existing(path, &work.manners)?;
    let mut filter = file.open(&args.secret, &ready.inputs, args.now)?;
    let now = args.now.for_window(filter.filter().window())?;
    let spec = JobSpec::new(Command::Remove).with("report", report);
    let job = args.target.input.job(spec, &ready.reading);
    let begun = work.checkpoints.begin(Some(&mut filter), job, ready.start(Counts::default()))?;
    let Begun { recorder, mut outputs, counts } = begun;
    let session = ready.session(Counted::Removed)?;
    let pipeline = session.pipeline(ready.reading, filter.filter().hasher());
    let removed = Vec::new();
    let mut remove = Remove { filter, now, report, session, recorder, counts, removed };
    let read = pipeline.run(&mut remove, &mut outputs);
    remove.session.end(read)?;
    // What is gone from the filter must be in the report first.
    remove.finish(outputs.settle()?)
}

#[derive(Debug)]
struct Remove {
    filter: Kept,
    now: Now,
    report: Option<Which>,
    session: Session,
    recorder: Recorder,
    counts: Counts,
    removed: Vec<bool>,
}

/// What the run has counted.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counts {
    found: u64,
    not_found: u64,
}

impl Answer for Remove {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let over = self.recorder.enter(block)?;
        let known = block.hashes_before(over);
        self.filter.tell(self.now);
        self.removed = self.filter.store.remove_batch(&block.hashes[known..]);
        let found = self.removed.iter().filter(|removed| **removed).count();
        self.counts.found += found as u64;
        self.counts.not_found += (self.removed.len() - found) as u64;
        self.removed.splice(0..0, std::iter::repeat_n(false, known));
        if let Some(report) = self.report {
            let wanted = report == Which::Found;
            let answer = if wanted { Insertion::AlreadyPresent } else { Insertion::Inserted };
            let answers = self.removed.iter().map(|removed| *removed == wanted);
            block.select(answers, |why| self.session.passes(why, answer));
            block.deselect_before(over);
        }
        self.session.show(self.counts.found, self.filter.filter().load());
        Ok(Flow::Continue)
    }

    fn checkpoint_is_due(&self) -> bool {
        self.recorder.is_due()
    }

    fn checkpoint(&mut self, settled: Settled) -> Result<(), Failure> {
        self.recorder.commit(&mut self.filter, settled, &self.counts)
    }
}

impl Remove {
    fn finish(self, settled: Settled) -> Result<Exit, Failure> {
        let answers = Answers {
            removed: Some(self.counts.found),
            not_found: Some(self.counts.not_found),
            ..Answers::default()
        };
        let memory = Memory::Kept(Box::new(self.filter));
        let memory = self.recorder.end(self.session.ending(), memory, settled, &self.counts)?;
        self.session.print_figures(answers, memory.filter())?;
        Ok(self.session.exit(Exit::Success))
    }
}
