//! `coua remove`.

use crate::args::filter::SecretArgs;
use crate::args::run::{Manners, RunArgs};
use crate::args::target::TargetArgs;
use crate::exit::Exit;
use crate::filter_file::{FilterFile, Kept};
use crate::input::block::{Block, Why};
use crate::message::Failure;
use crate::output::Output;
use crate::pipeline::{Answer, Flow};
use crate::session::Session;
use crate::stats::Answers;
use clap::ValueEnum;

/// Take records out of a filter file
///
/// Takes one copy of every record away. Remove only what was added: a record that was never added
/// is, with the filter's false-positive rate as probability, mistaken for another one, which is then
/// forgotten. The file is replaced at the end; after an error (exit code 2) it is as it was before.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Print the records that were found and removed, or those that were not found
    #[arg(long, value_name = "WHICH", help_heading = "Output")]
    report: Option<Which>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    manners: Manners,
}

/// Which records to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Those that were found and removed.
    Found,
    /// Those that were not found.
    NotFound,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let reading = args.target.input.check()?;
    let inputs = reading.inputs.survey()?;
    let file = FilterFile::lock(&args.target.filter_file, &args.manners)?;
    let filter = file.open(&args.secret, &inputs)?;
    let mut output = match args.report {
        Some(_) => {
            Some(Output::open(None, reading.opening(&inputs, Some(&args.target.filter_file)))?)
        }
        None => None,
    };
    let session = Session::begin(&args.run, args.manners.quiet, reading.on_missing, &inputs)?;
    let pipeline = session.pipeline(reading, filter.filter().hasher());
    let mut remove = Remove {
        filter,
        report: args.report,
        session,
        found: 0,
        not_found: 0,
        removed: Vec::new(),
    };
    let read = pipeline.run(&mut remove, &mut output);
    remove.session.end();
    read?;
    // What is gone from the filter must be in the report first.
    output.as_mut().map_or(Ok(()), Output::sync)?;
    remove.finish()
}

#[derive(Debug)]
struct Remove {
    filter: Kept,
    report: Option<Which>,
    session: Session,
    found: u64,
    not_found: u64,
    removed: Vec<bool>,
}

impl Answer for Remove {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        self.filter.store.remove_hash_batch(&block.hashes, &mut self.removed);
        let found = self.removed.iter().filter(|removed| **removed).count();
        self.found += found as u64;
        self.not_found += (self.removed.len() - found) as u64;
        if let Some(report) = self.report {
            let wanted = report == Which::Found;
            let keyless_pass = !wanted && self.session.keeps_keyless();
            let keyless = |why: &Why| matches!(why, Why::Missing(_)) && keyless_pass;
            let answers = self.removed.iter().map(|removed| *removed == wanted);
            block.select(answers, keyless);
        }
        self.session.show(self.found, self.filter.filter().load());
        Ok(Flow::Continue)
    }
}

impl Remove {
    fn finish(self) -> Result<Exit, Failure> {
        let answers = Answers {
            removed: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        let filter = self.filter.finish()?;
        self.session.print_figures(answers, &filter)?;
        Ok(self.session.exit(Exit::Success))
    }
}
