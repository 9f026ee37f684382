//! `coua count`.

use crate::args::filter::SecretArgs;
use crate::args::input::InputArgs;
use crate::args::run::{Quiet, RunArgs};
use crate::exit::Exit;
use crate::filter_file;
use crate::input::block::Block;
use crate::message::Failure;
use crate::output::{Opening, Output};
use crate::pipeline::{Consumer, Flow};
use crate::session::Session;
use crate::stats::Answers;
use coua::CuckooFilter;
use std::io::Write;
use std::path::PathBuf;

/// Print each record behind the number of its copies in a filter file
///
/// Number, tab, record. The number is never below the truth, and above it only by the copies of a
/// false positive. CSV headers are left out; a record without a key has 0 copies, or is left out
/// with --on-missing=drop.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    filter_file: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    quiet: Quiet,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let reading = args.input.check()?;
    let inputs = reading.inputs.survey()?;
    let filter = filter_file::read(&args.filter_file, &args.secret)?;
    let separator = &reading.format.separator;
    let opening = Opening { separator, inputs: &inputs, threads: args.run.threads() };
    let output = Output::open(None, opening)?;
    let session = Session::begin(&args.run, args.quiet, reading.on_missing, &inputs)?;
    let source = session.source(reading, filter.hasher());
    let mut count = Count { filter, output, session, found: 0, not_found: 0, counts: Vec::new() };
    let read = source.feed(&mut count);
    count.session.end();
    read?;
    count.finish()
}

#[derive(Debug)]
struct Count {
    filter: CuckooFilter,
    output: Output,
    session: Session,
    found: u64,
    not_found: u64,
    counts: Vec<u64>,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block) -> Result<Flow, Failure> {
        self.session.note(block);
        self.filter.count_hash_batch(&block.hashes, &mut self.counts);
        let mut counts = self.counts.iter();
        let mut keyless = block.keyless.iter().peekable();
        let mut number = Vec::new();
        for (place, record) in block.records().enumerate() {
            let count = match keyless.next_if(|keyless| keyless.record == place) {
                Some(without) if without.why.is_header() || !self.session.keeps_keyless() => {
                    continue;
                }
                Some(_) => 0,
                None => counts.next().copied().unwrap_or(0),
            };
            number.clear();
            // Writing into memory does not fail.
            write!(number, "{count}\t").ok();
            self.output.write(&number)?;
            self.output.write_record(block, place, record)?;
        }
        let found = self.counts.iter().filter(|count| **count > 0).count();
        self.found += found as u64;
        self.not_found += (self.counts.len() - found) as u64;
        self.session.show(self.found, self.filter.load());
        Ok(Flow::Continue)
    }

    fn drained(&mut self) -> Result<(), Failure> {
        self.output.flush()
    }
}

impl Count {
    fn finish(mut self) -> Result<Exit, Failure> {
        self.output.finish()?;
        let answers = Answers {
            found: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        self.session.print_figures(answers, &self.filter);
        Ok(self.session.exit(Exit::Success))
    }
}
