//! `coua add`.

use crate::cli::checkpoint::WorkArgs;
use crate::cli::filter::FilterArgs;
use crate::cli::target::TargetArgs;
use crate::cli::window::NowArgs;
use crate::clock::Now;
use crate::output::Settled;
use crate::pipeline::{Answer, Flow};
use crate::record::block::Block;
use crate::remote::{self, Address, Request, Task};
use crate::resume::{Begun, Command, Ending, JobSpec, Recorder};
use crate::run::preflight::{Preflight, Use};
use crate::run::session::Session;
use crate::target::file::{FilterFile, Kept};
use crate::target::memory::Memory;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use coua::{Full, Insertion};
use serde::{Deserialize, Serialize};

/// Put records into a filter file
///
/// Every record adds a copy: added twice, a record must be removed twice. The file is created if it
/// does not exist, and brought up to date at the end, and every few seconds if all inputs are files. At
/// exit code 2 it is as it was before, or at the last checkpoint; at exit code 4 all is recorded, but the disk has
/// not confirmed it, and a power cut may undo it. SIGINT and SIGTERM finish the present
/// block, save, and end the program by the signal.
///
/// A run whose inputs are files can be interrupted at any moment, also by a crash, and resumed by the same
/// command with --resume: every record is then added exactly once. (Starting it again would add the first
/// ones twice, and is refused.) If the filter is full (exit code 3), make room and resume.
///
/// On a server, what was added stays at exit code 2, and options that only filter files have are refused
/// (see `coua dedup --help`, --filter). After a lost connection, the records whose answer was lost are
/// added again, and may have a copy too many (not with --unique).
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Add only records that are not there yet
    #[arg(long, help_heading = "Output")]
    unique: bool,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    work: WorkArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (work, path) = (&args.work, &args.target.filter_file);
    let preflight = Preflight::new(&args.target.input, &work.run, work.manners.quiet);
    if let Some(address) = Address::of(path)? {
        remote::refuse_options_of_files(&args.filter.secret, args.now, Some(work))?;
        let task = Task { address, preflight };
        return remote::add::run(task, &Request::of(&args.filter)?, args.copies());
    }
    let preflight = preflight.times(args.filter.window.time_source());
    let mut ready = preflight.secret(&args.filter.secret).filter(path, Use::Changed).check()?;
    let file = FilterFile::lock(path, &work.manners)?;
    let mut filter = file.open_or_build(&args.filter, &ready.inputs, args.now)?;
    let now = args.now.for_window(filter.filter().window())?;
    ready.reading.believe_times(now, filter.filter());
    let spec = args.filter.window.describe(JobSpec::new(Command::Add).with("unique", args.unique));
    let job = args.target.input.job(spec, &ready.reading);
    let begun = work.checkpoints.begin(Some(&mut filter), job, ready.start(Counts::default()))?;
    let Begun { recorder, mut outputs, counts } = begun;
    let session = ready.session(Counted::Added)?;
    let pipeline = session.pipeline(ready.reading, filter.filter().hasher());
    let (copies, outcomes) = (args.copies(), Vec::new());
    let mut add = Add { filter, now, copies, session, recorder, counts, outcomes, refused: None };
    let read = pipeline.run(&mut add, &mut outputs);
    add.session.end(read)?;
    add.finish()
}

/// Whether a record that is there already gets another copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copies {
    Add,
    Keep,
}

impl Args {
    fn copies(&self) -> Copies {
        if self.unique { Copies::Keep } else { Copies::Add }
    }
}

#[derive(Debug)]
struct Add {
    filter: Kept,
    now: Now,
    copies: Copies,
    session: Session,
    recorder: Recorder,
    counts: Counts,
    outcomes: Vec<Insertion>,
    refused: Option<(String, Full)>,
}

/// What the run has counted.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counts {
    added: u64,
}

impl Answer for Add {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let over = self.recorder.enter(block)?;
        let known = block.hashes_before(over);
        let (hashes, when) = (&block.hashes[known..], block.when_from(known));
        self.filter.tell(self.now);
        let before = self.ever_held();
        let outcomes = &mut self.outcomes;
        let result = match self.copies {
            Copies::Add => self.filter.store.insert_batch_at(hashes, when),
            Copies::Keep => self.filter.store.insert_unique_batch_at(hashes, when, outcomes),
        };
        self.counts.added += self.ever_held() - before;
        if let Err(stopped) = result {
            let place = block.record_of_hash(known + stopped.done);
            self.session.take_back(block, place);
            self.recorder.take_back(block, place);
            self.refused = Some((block.record_name(place), stopped.full));
            return Ok(Flow::Enough);
        }
        self.session.show(self.counts.added, self.filter.filter().load());
        Ok(Flow::Continue)
    }

    fn checkpoint_is_due(&self) -> bool {
        self.recorder.is_due()
    }

    fn checkpoint(&mut self, settled: Settled) -> Result<(), Failure> {
        self.recorder.commit(&mut self.filter, settled, &self.counts)
    }
}

impl Add {
    /// Items that are in the filter, or were in this run.
    fn ever_held(&self) -> u64 {
        let filter = self.filter.filter();
        filter.len() + filter.forgotten()
    }

    fn finish(self) -> Result<Exit, Failure> {
        let answers = Answers { added: Some(self.counts.added), ..Answers::default() };
        let (name, remedy) = (self.filter.name(), self.recorder.remedy_if_full());
        self.session.tell_outdated(self.filter.filter());
        let ending = self.refused.as_ref().map_or(self.session.ending(), |_| Ending::Early);
        let memory = Memory::Kept(Box::new(self.filter));
        let ended = self.recorder.end(ending, memory, Settled::default(), &self.counts);
        let Some((record, full)) = self.refused else {
            self.session.print_figures(answers, ended?.filter())?;
            return Ok(self.session.exit(Exit::Success));
        };
        match ended {
            Ok(memory) => drop(self.session.print_figures(answers, memory.filter())),
            Err(failure) => failure.told_if_unsynced()?,
        }
        let reason = format!(
            "{full}; stopped before {record}: all records before it are in the filter, it and \
             those after it are not{remedy}"
        );
        Err(Failure::Full { name, reason })
    }
}
