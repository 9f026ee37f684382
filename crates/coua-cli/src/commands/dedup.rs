//! `coua dedup`: the main job.

use crate::args::filter::FilterArgs;
use crate::args::input::InputArgs;
use crate::args::run::{Manners, RunArgs};
use crate::estimate::{Forecast, Moment};
use crate::exit::Exit;
use crate::filter_file::{FilterFile, Memory};
use crate::input::block::{Block, Header, Why};
use crate::message::Failure;
use crate::output::{Opening, Output};
use crate::pipeline::{Answer, Deliver, Flow};
use crate::session::Session;
use crate::stats::Answers;
use coua::{Full, Insertion};
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
/// before, and nothing of the run is recorded. SIGINT and SIGTERM finish the present block, save, and
/// end the program by the signal.
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
    run: RunArgs,

    #[command(flatten)]
    manners: Manners,
}

/// What to print where.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the repeats instead of the first occurrences
    #[arg(short = 'd', long, conflicts_with = "tee_dups")]
    repeats: bool,

    /// Also write the repeats to FILE
    #[arg(long, value_name = "FILE")]
    tee_dups: Option<PathBuf>,
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
    let mut outputs = args.output.open(reading.opening(&inputs, args.filter_file.as_deref()))?;
    let session = Session::begin(&args.run, args.manners.quiet, reading.on_missing, &inputs)?;
    let pipeline = session.pipeline(reading, memory.filter().hasher());
    // A filter that is kept must depend on the records alone, not on how they were stored.
    let open_ended = args.filter_file.is_none() && args.filter.leaves_capacity_open();
    let forecast =
        Forecast::new(inputs.total_bytes).filter(|_| open_ended && memory.filter().is_resizable());
    let mut dedup = Dedup {
        items_before: memory.filter().len(),
        memory,
        forecast,
        wanted: args.output.wanted(),
        tee: outputs.tee.is_some(),
        session,
        unique: 0,
        repeats: 0,
        outcomes: Vec::new(),
        refused: None,
    };
    let read = pipeline.run(&mut dedup, &mut outputs);
    dedup.session.end();
    read?;
    if args.filter_file.is_some() {
        // What the filter remembers must be in the output first.
        outputs.each(Output::sync)?;
    }
    dedup.finish()
}

impl OutputArgs {
    fn open(&self, opening: Opening<'_>) -> Result<Outputs, Failure> {
        let main = Output::open(self.output.as_deref(), opening)?;
        let Some(path) = &self.tee_dups else { return Ok(Outputs { main, tee: None }) };
        let tee = Output::open(Some(path), opening)?;
        if tee.identity().is_some() && tee.identity() == main.identity() {
            return Err(Failure::at(path.display(), "is the output as well: name another file"));
        }
        Ok(Outputs { main, tee: Some(tee) })
    }

    /// What goes to the main output.
    fn wanted(&self) -> Insertion {
        if self.repeats { Insertion::AlreadyPresent } else { Insertion::Inserted }
    }
}

#[derive(Debug)]
struct Outputs {
    main: Output,
    /// For the repeats.
    tee: Option<Output>,
}

impl Outputs {
    fn each(&mut self, act: impl Fn(&mut Output) -> Result<(), Failure>) -> Result<(), Failure> {
        act(&mut self.main)?;
        self.tee.as_mut().map_or(Ok(()), act)
    }
}

impl Deliver for Outputs {
    fn deliver(&mut self, block: &Block) -> Result<(), Failure> {
        self.main.write_selected(block, &block.selected)?;
        match &mut self.tee {
            Some(tee) => tee.write_selected(block, &block.also_selected),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.each(Output::flush)
    }
}

#[derive(Debug)]
struct Dedup {
    memory: Memory,
    items_before: u64,
    forecast: Option<Forecast>,
    /// What goes to the main output.
    wanted: Insertion,
    /// Whether there is an output for the repeats as well.
    tee: bool,
    session: Session,
    unique: u64,
    repeats: u64,
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
        let result = self.memory.insert_unique_hash_batch(&block.hashes, &mut self.outcomes);
        let fresh = self.outcomes.iter().filter(|o| **o == Insertion::Inserted).count();
        self.unique += fresh as u64;
        self.repeats += (self.outcomes.len() - fresh) as u64;
        self.select(block);
        if let Err(stopped) = result {
            self.refuse(block, stopped.done, stopped.full);
            return Ok(Flow::Enough);
        }
        self.make_room(block.consumed);
        self.session.show(self.unique, self.memory.filter().load());
        Ok(Flow::Continue)
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
            unique: Some(self.unique),
            repeats: Some(self.repeats),
            expected_wrongly_dropped: Some(self.expected_wrongly_dropped()),
            ..Answers::default()
        }
    }

    /// Every record that is really new is taken for a repeat with probability n / 2^H, where n items
    /// are there already: the sum over the n of this run.
    fn expected_wrongly_dropped(&self) -> f64 {
        let filter = self.memory.filter();
        let (before, now) = (self.items_before as f64, filter.len() as f64);
        (now * now - before * before) / 2.0 / filter.hash_bits().exp2()
    }
}
