//! `coua dedup`: the main job.

mod halves;
mod outputs;
mod tally;

use crate::cli::checkpoint::WorkArgs;
use crate::cli::filter::FilterArgs;
use crate::cli::input::InputArgs;
use crate::cli::window::NowArgs;
use crate::clock::Now;
use crate::input::Survey;
use crate::output::Settled;
use crate::pipeline::{Answer, Deliver, Flow};
use crate::record::block::Block;
use crate::remote::{self, Address, Request, Task};
use crate::resume::{Begun, Command, JobSpec, Recorder};
use crate::run::preflight::{Preflight, Use};
use crate::target::collisions;
use crate::target::estimate::Forecast;
use crate::target::file::FilterFile;
use crate::target::memory::Memory;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use clap::ArgGroup;
use coua::{CuckooFilter, Insertion};
use outputs::OutputArgs;
use std::path::PathBuf;
use tally::{Counts, Saved, Tally};

/// Print each record the first time it is seen
///
/// Needs no size and no sorting; the order stays. The filter remembers all 64 bits of every key's hash
/// unless told otherwise, so the expected number of records wrongly taken for repeats stays far below
/// one (0.03 for a billion records; --stats prints it). Without a filter file, and if all inputs are
/// files, room is made for as many items as their sizes and first records foretell. Records are printed
/// as they came; only between two files of which the first lacks its last newline one is added.
///
/// With --filter, records of earlier runs count as seen. The filter file is brought up to date
/// at the end, after the output is complete (and on disk, if it is a file). At exit code 2, and when the reader of the output goes away (| head), it is as it was
/// before, or at the last checkpoint, and nothing after that is recorded; at exit code 4 all is recorded, but the
/// disk has not confirmed it, and a power cut may undo it. SIGINT and SIGTERM finish the present block, save, and
/// end the program by the signal.
///
/// With --filter, -o and inputs that are files, a run can be interrupted at any moment, also by a crash, and
/// resumed: the same command with --resume then leaves the output and the filter that it would have left
/// without the interruption. If the filter is full (exit code 3), make room and resume.
#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("resumed").args(["resume"]).requires("output"))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Remember in FILE what was seen, for the next run; created if it does not exist
    ///
    /// If it exists, the options that describe a filter must agree with it.
    ///
    /// Or on a server or cluster with Coua's module: `valkey://[USER:PASSWORD@]HOST[:PORT]/NAME[?shards=N]`,
    /// or `redis://`; `valkeys://` and `rediss://` for TLS. Many processes may share such a filter: each
    /// record is printed by the first that has it. A lost connection is tried again (&retry=SECONDS, 60);
    /// records whose answer was lost with it, at most 1 MiB of them or one longer record, are printed
    /// whether seen before or not, so that none is lost. What is printed is recorded before it is
    /// written, and taken back if it cannot be written; only a process that is killed outright cannot
    /// take back. The password may be in the environment as `COUA_SERVER_PASSWORD` instead. Options that
    /// only filter files have (--time-field, seeds and secret keys, layouts, --resume and checkpoints) are
    /// refused; of a new filter --capacity, --rate with --max-items, --hash-bits, --when-full, --window or
    /// --window-items, and --generations say how it is to be, all shards together. The server's clock says
    /// when a record came.
    #[arg(long = "filter", value_name = "FILE", help_heading = "Filter")]
    filter_file: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    work: WorkArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    args.output.check()?;
    let (to, work) = (args.output.destinations(), &args.work);
    let preflight = Preflight::new(&args.input, &work.run, work.manners.quiet).to(to);
    match args.filter_file.as_deref().map_or(Ok(None), Address::of)? {
        Some(address) => run_on_server(args, Task { address, preflight }),
        None => run_here(args, preflight),
    }
}

fn run_on_server(args: &Args, task: Task<'_>) -> Result<Exit, Failure> {
    remote::refuse_options_of_files(&args.filter.secret, args.now, Some(&args.work))?;
    remote::dedup::run(task, &Request::of(&args.filter)?, args.output.wanted())
}

fn run_here(args: &Args, preflight: Preflight<'_>) -> Result<Exit, Failure> {
    let preflight = preflight.times(args.filter.window.time_source()).secret(&args.filter.secret);
    let mut ready = match &args.filter_file {
        Some(path) => preflight.filter(path, Use::Changed),
        None => preflight,
    }
    .check()?;
    if args.filter_file.is_none() && args.filter.leaves_all_open() {
        return halves::run(args, ready);
    }
    let mut memory = args.memory(&ready.inputs)?;
    let now = args.now.for_window(memory.filter().window())?;
    ready.reading.believe_times(now, memory.filter());
    let repeats = args.output.wanted() == Insertion::AlreadyPresent;
    let spec = JobSpec::new(Command::Dedup).with("repeats", repeats);
    let job = args.input.job(args.filter.window.describe(spec), &ready.reading);
    let begun = args.work.checkpoints.begin(memory.kept(), job, ready.start(Counts::default()))?;
    let Begun { recorder, mut outputs, counts } = begun;
    let session = ready.session(Counted::Unique)?;
    let pipeline = session.pipeline(ready.reading, memory.filter().hasher());
    let inputs = ready.inputs;
    let forecast = args.forecast(&inputs, &memory);
    let tally = Tally::new(session, counts, &args.output);
    let mut dedup = Dedup { memory, now, forecast, recorder, outcomes: Vec::new(), tally };
    let read = pipeline.run(&mut dedup, &mut outputs);
    dedup.tally.session.end(read)?;
    if args.filter_file.is_none() {
        return dedup.finish(Settled::default());
    }
    // What the filter remembers must be in the output first.
    dedup.finish(outputs.settle()?)
}

impl Args {
    /// The filter in the file, or a new one: in the file, or in memory alone.
    fn memory(&self, inputs: &Survey) -> Result<Memory, Failure> {
        let Some(path) = &self.filter_file else {
            return Ok(Memory::Temporary(Box::new(self.filter.build()?)));
        };
        let file = FilterFile::lock(path, &self.work.manners)?;
        Ok(Memory::Kept(Box::new(file.open_or_build(&self.filter, inputs, self.now)?)))
    }

    /// Foresees the items, where that may decide how much room there is. What is kept must depend on the
    /// records alone, not on how they were stored.
    fn forecast(&self, inputs: &Survey, memory: &Memory) -> Option<Forecast> {
        let is_open = self.filter_file.is_none() && self.filter.leaves_capacity_open();
        let is_resizable = memory.filter().unbounded().is_some_and(CuckooFilter::is_resizable);
        Forecast::new(inputs.total_bytes).filter(|_| is_open && is_resizable)
    }
}

/// The filter is one.
#[derive(Debug)]
struct Dedup {
    memory: Memory,
    now: Now,
    forecast: Option<Forecast>,
    recorder: Recorder,
    outcomes: Vec<Insertion>,
    tally: Tally,
}

impl Answer for Dedup {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.tally.session.note(block);
        let over = self.recorder.enter(block)?;
        let known = block.hashes_before(over);
        let (hashes, when) = (&block.hashes[known..], block.when_from(known));
        self.memory.tell(self.now);
        let before = self.memory.filter().len();
        let result = self.memory.insert_unique_batch(hashes, when, &mut self.outcomes);
        let (answered, filter) = (self.tally.count(&self.outcomes), self.memory.filter());
        let (items, bits) = ([before, filter.len()], filter.hash_bits());
        self.tally.counts.expected_wrongly_dropped +=
            collisions::among_repeats(answered, items, bits);
        self.outcomes.splice(0..0, std::iter::repeat_n(Insertion::AlreadyPresent, known));
        self.tally.select(block, &self.outcomes);
        block.deselect_before(over);
        if let Err(mut stopped) = result {
            stopped.done += known;
            let place = self.tally.refuse(block, stopped);
            self.recorder.take_back(block, place);
            return Ok(Flow::Enough);
        }
        self.make_room(block.consumed);
        Ok(self.tally.show(self.memory.filter().load()))
    }

    fn checkpoint_is_due(&self) -> bool {
        self.recorder.is_due()
    }

    fn checkpoint(&mut self, settled: Settled) -> Result<(), Failure> {
        let kept = self.memory.kept();
        kept.map_or(Ok(()), |kept| self.recorder.commit(kept, settled, &self.tally.counts))
    }
}

impl Dedup {
    /// Makes room for the items to come, if their number can be foreseen.
    fn make_room(&mut self, consumed: u64) {
        let (Some(forecast), Memory::Temporary(filter)) = (&mut self.forecast, &mut self.memory)
        else {
            return;
        };
        if let Some(filter) = filter.unbounded_mut() {
            forecast.make_room(consumed, self.tally.session.records(), filter);
        }
    }

    fn finish(self, settled: Settled) -> Result<Exit, Failure> {
        let name = self.memory.name();
        let saved = match self.memory {
            Memory::Kept(_) => Saved {
                name: &name,
                also_in: "recorded in the filter and ",
                remedy: self.recorder.remedy_if_full(),
            },
            Memory::Temporary(_) => Saved::NOWHERE,
        };
        self.tally.session.tell_outdated(self.memory.filter());
        let ending = self.tally.ending();
        let ended = self.recorder.end(ending, self.memory, settled, &self.tally.counts);
        match (ended, self.tally.refusal(saved)) {
            (Err(failure), Some(refusal)) => failure.told_if_unsynced().and(Err(refusal)),
            (ended, _) => self.tally.finish(ended?.filter(), saved),
        }
    }
}
