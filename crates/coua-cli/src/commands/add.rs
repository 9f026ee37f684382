//! `coua add`.

use crate::args::filter::FilterArgs;
use crate::args::run::{Manners, RunArgs};
use crate::args::target::TargetArgs;
use crate::exit::Exit;
use crate::filter_file::{FilterFile, Kept};
use crate::input::block::Block;
use crate::message::Failure;
use crate::pipeline::{Answer, Flow};
use crate::session::Session;
use crate::stats::Answers;
use coua::{Full, Insertion};

/// Put records into a filter file
///
/// Every record adds a copy: added twice, a record must be removed twice. The file is created if it
/// does not exist, and replaced at the end; after an error (exit code 2) it is as it was before.
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
    run: RunArgs,

    #[command(flatten)]
    manners: Manners,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let reading = args.target.input.check()?;
    let inputs = reading.inputs.survey()?;
    let file = FilterFile::lock(&args.target.filter_file, &args.manners)?;
    let filter = file.open_or_build(&args.filter, &inputs)?;
    let session = Session::begin(&args.run, args.manners.quiet, reading.on_missing, &inputs)?;
    let pipeline = session.pipeline(reading, filter.filter().hasher());
    let copies = if args.unique { Copies::Keep } else { Copies::Add };
    let mut add = Add { filter, copies, session, added: 0, outcomes: Vec::new(), refused: None };
    let read = pipeline.run(&mut add, &mut ());
    add.session.end();
    read?;
    add.finish()
}

/// Whether a record that is there already gets another copy.
#[derive(Clone, Copy, Debug)]
enum Copies {
    Add,
    Keep,
}

#[derive(Debug)]
struct Add {
    filter: Kept,
    copies: Copies,
    session: Session,
    added: u64,
    outcomes: Vec<Insertion>,
    refused: Option<(String, Full)>,
}

impl Answer for Add {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let before = self.filter.filter().len();
        let result = match self.copies {
            Copies::Add => self.filter.store.insert_hash_batch(&block.hashes),
            Copies::Keep => {
                self.filter.store.insert_unique_hash_batch(&block.hashes, &mut self.outcomes)
            }
        };
        self.added += self.filter.filter().len() - before;
        if let Err(stopped) = result {
            let place = block.record_of_hash(stopped.done);
            self.session.take_back(block, place);
            let record = format!("{}: record {}", block.name, block.record_number(place));
            self.refused = Some((record, stopped.full));
            return Ok(Flow::Enough);
        }
        self.session.show(self.added, self.filter.filter().load());
        Ok(Flow::Continue)
    }
}

impl Add {
    fn finish(self) -> Result<Exit, Failure> {
        let answers = Answers { added: Some(self.added), ..Answers::default() };
        let name = self.filter.name();
        let filter = self.filter.finish()?;
        let printed = self.session.print_figures(answers, &filter);
        let Some((record, full)) = self.refused else {
            printed?;
            return Ok(self.session.exit(Exit::Success));
        };
        let reason = format!(
            "{full}; stopped before {record}: all records before it are in the filter, it and those \
             behind it are not"
        );
        Err(Failure::Full { name, reason })
    }
}
