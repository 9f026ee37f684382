//! `coua dedup`: the main job.

mod checkpoints;
mod outputs;

use crate::args::filter::FilterArgs;
use crate::args::input::InputArgs;
use crate::args::run::{Manners, RunArgs};
use crate::estimate::{Forecast, Moment};
use crate::exit::Exit;
use crate::filter_file::{FilterFile, Memory};
use crate::input::block::{Block, Header, Why};
use crate::message::Failure;
use crate::output::{Output, Settled};
use crate::pipeline::{Answer, Deliver, Flow};
use crate::resume::{Note, Tracker};
use crate::session::Session;
use crate::stats::Answers;
use checkpoints::CheckpointArgs;
use coua::{Full, Insertion};
use outputs::OutputArgs;
use std::path::PathBuf;

/// Print each record the first time it is seen
///
/// Needs no size and no sorting; the order stays. The filter remembers all 64 bits of every key's
/// hash unless told otherwise, so the expected number of records wrongly taken for repeats stays far
/// below one (0.03 for a billion records; --stats prints it). Records are printed as they came; only
/// between two files of which the first lacks its last newline one is added.
///
/// With --filter the run goes on where the one before it ended. The filter file is brought up to date
/// at the end, after the output is complete (and on disk, if it is a file). Few changes of a large
/// filter go to a journal beside it, FILE.journal: copy both files, or one made by `coua merge -o
/// COPY FILE`. At exit code 2, and when the reader of the output goes away (| head), it is as it was
/// before, or at the last checkpoint, and nothing after that is recorded. SIGINT and SIGTERM finish the present block, save, and
/// end the program by the signal.
///
/// With --filter, -o and inputs that are files, a run can be interrupted at any moment, also by a
/// crash, and gone on with: the same command with --resume then leaves the output and the filter that
/// it would have left without the interruption.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Remember in FILE what was seen, for the next run; created if it does not exist
    ///
    /// If it exists, the options that describe a filter must agree with it.
    #[arg(long = "filter", value_name = "FILE", help_heading = "Filter")]
    filter_file: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    checkpoints: CheckpointArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    manners: Manners,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let reading = args.input.check()?;
    let inputs = reading.inputs.survey()?;
    let file = args.filter_file.as_deref();
    let file = file.map(|path| FilterFile::lock(path, &args.manners)).transpose()?;
    let memory = match file {
        Some(file) => Memory::Kept(Box::new(file.open_or_build(&args.filter, &inputs)?)),
        None => Memory::Fleeting(Box::new(args.filter.build()?)),
    };
    let files = reading.inputs.files();
    let opening = reading.opening(&inputs, args.filter_file.as_deref());
    let interrupted =
        args.checkpoints.interrupted(&memory, files.as_deref(), &args.output.paths())?;
    let mut outputs = match &interrupted {
        Some(run) => args.output.go_on(run, opening)?,
        None => args.output.open(opening)?,
    };
    let files = files.filter(|_| outputs.are_files());
    let tracker = files
        .filter(|_| matches!(memory, Memory::Kept(_)))
        .map(|files| args.checkpoints.tracker(&files));
    let session = Session::begin(&args.run, args.manners.quiet, reading.on_missing, &inputs)?;
    let pipeline = session.pipeline(reading, memory.filter().hasher());
    // A filter that is kept must depend on the records alone, not on how they were stored.
    let open_ended = args.filter_file.is_none() && args.filter.leaves_capacity_open();
    let forecast =
        Forecast::new(inputs.total_bytes).filter(|_| open_ended && memory.filter().is_resizable());
    let mut dedup = Dedup {
        note: Note { items_before: memory.filter().len(), ..Note::default() },
        memory,
        forecast,
        tracker: tracker.transpose()?,
        wanted: args.output.wanted(),
        tee: outputs.tee.is_some(),
        session,
        passed: (0, 0),
        over: 0,
        outcomes: Vec::new(),
        refused: None,
    };
    match interrupted {
        Some(run) => (dedup.over, dedup.note) = (run.records, run.note),
        // From here on the filter knows that the output is being written.
        None => dedup.checkpoint(outputs.settle()?)?,
    }
    let read = pipeline.run(&mut dedup, &mut outputs);
    dedup.session.end();
    read?;
    if dedup.is_interrupted() {
        dedup.checkpoint(outputs.settle()?)?;
        return dedup.leave();
    }
    if args.filter_file.is_some() {
        // What the filter remembers must be in the output first.
        outputs.each(Output::sync)?;
    }
    dedup.finish()
}

#[derive(Debug)]
struct Dedup {
    memory: Memory,
    note: Note,
    forecast: Option<Forecast>,
    /// What goes to the main output.
    wanted: Insertion,
    /// Whether there is an output for the repeats as well.
    tee: bool,
    session: Session,
    /// Set if the run can be gone on with.
    tracker: Option<Tracker>,
    /// Records dealt with, and bytes of the inputs read for them.
    passed: (u64, u64),
    /// Records still to be passed over: the interrupted run has dealt with them.
    over: u64,
    outcomes: Vec<Insertion>,
    refused: Option<Refused>,
}

/// The record for which there was no room.
#[derive(Debug)]
struct Refused {
    record: String,
    full: Full,
}

impl Answer for Dedup {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let over = self.over.min(block.len() as u64) as usize;
        self.over -= over as u64;
        self.passed = (self.passed.0 + block.len() as u64, block.consumed);
        let known = block.hashes_before(over);
        let hashes = &block.hashes[known..];
        let result = self.memory.insert_unique_hash_batch(hashes, &mut self.outcomes);
        let fresh = self.outcomes.iter().filter(|o| **o == Insertion::Inserted).count();
        self.note.unique += fresh as u64;
        self.note.repeats += (self.outcomes.len() - fresh) as u64;
        self.outcomes.splice(0..0, std::iter::repeat_n(Insertion::AlreadyPresent, known));
        self.select(block);
        block.deselect_before(over);
        if let Err(stopped) = result {
            self.refuse(block, known + stopped.done, stopped.full);
            return Ok(Flow::Enough);
        }
        self.make_room(block.consumed);
        self.session.show(self.note.unique, self.memory.filter().load());
        Ok(Flow::Continue)
    }

    fn checkpoint_is_due(&self) -> bool {
        self.over == 0 && self.tracker.as_ref().is_some_and(Tracker::is_due)
    }

    fn checkpoint(&mut self, settled: Settled) -> Result<(), Failure> {
        let (Some(tracker), Memory::Kept(kept)) = (&mut self.tracker, &mut self.memory) else {
            return Ok(());
        };
        kept.commit(&tracker.progress(self.passed, settled, &self.note)?)?;
        tracker.done();
        Ok(())
    }
}

impl Dedup {
    /// Selects the records for the outputs.
    fn select(&self, block: &mut Block) {
        let with = |wanted| self.outcomes.iter().map(move |outcome| *outcome == wanted);
        block.select(with(self.wanted), |why| self.passes(why, self.wanted));
        if self.tee {
            let repeats = Insertion::AlreadyPresent;
            block.also_select(with(repeats), |why| self.passes(why, repeats));
        }
    }

    /// The first header goes to every output; a record without a key counts as never seen.
    fn passes(&self, why: &Why, wanted: Insertion) -> bool {
        match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => wanted == Insertion::Inserted && self.session.keeps_keyless(),
        }
    }

    fn refuse(&mut self, block: &Block, done: usize, full: Full) {
        let place = block.record_of_hash(done);
        self.session.take_back(block, place);
        let number = block.record_number(place);
        let record = format!("{}: record {number}", block.name);
        self.refused = Some(Refused { record, full });
    }

    /// Makes room for the items to come, if their number can be foreseen.
    fn make_room(&mut self, consumed: u64) {
        let (Some(forecast), Memory::Fleeting(filter)) = (&mut self.forecast, &mut self.memory)
        else {
            return;
        };
        let more = forecast.advise(Moment {
            consumed,
            records: self.session.records(),
            items: filter.len(),
            capacity: filter.capacity(),
        });
        if let Some(more) = more {
            let limit = filter.max_items().saturating_sub(filter.len());
            // Without memory for all at once, it still grows bit by bit.
            filter.reserve(more.min(limit)).ok();
        }
    }

    /// A signal has ended the reading, and the rest can be done later.
    fn is_interrupted(&self) -> bool {
        self.tracker.is_some() && matches!(self.session.exit(Exit::Success), Exit::Signal(_))
    }

    fn leave(&self) -> Result<Exit, Failure> {
        self.session.print_figures(self.answers(), self.memory.filter())?;
        Ok(self.session.exit(Exit::Success))
    }

    fn finish(self) -> Result<Exit, Failure> {
        let answers = self.answers();
        let (name, saved, filter) = match self.memory {
            Memory::Kept(kept) => (kept.name(), "recorded in the filter and ", kept.finish()?),
            Memory::Fleeting(filter) => ("filter".to_owned(), "", *filter),
        };
        let printed = self.session.print_figures(answers, &filter);
        let Some(Refused { record, full }) = self.refused else {
            printed?;
            return Ok(self.session.exit(Exit::Success));
        };
        let reason = format!(
            "{full}; stopped before {record}: all records before it are {saved}in the output, it \
             and those behind it are neither"
        );
        Err(Failure::Full { name, reason })
    }

    fn answers(&self) -> Answers {
        Answers {
            unique: Some(self.note.unique),
            repeats: Some(self.note.repeats),
            expected_wrongly_dropped: Some(self.expected_wrongly_dropped()),
            ..Answers::default()
        }
    }

    /// Every record that is really new is taken for a repeat with probability n / 2^H, where n items
    /// are there already: the sum over the n of this run.
    fn expected_wrongly_dropped(&self) -> f64 {
        let filter = self.memory.filter();
        let (before, now) = (self.note.items_before as f64, filter.len() as f64);
        (now * now - before * before) / 2.0 / filter.hash_bits().exp2()
    }
}
