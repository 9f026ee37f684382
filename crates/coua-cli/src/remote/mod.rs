//! Filters on a server: `--filter valkey://host/name` instead of a file.
//!
//! A filter is one key of the server, or spread over `shards`. An [`address`](Address) leads to `nodes`
//! with a `link` to each, over a `wire` that has limits; the `exchange` brings each `order` there and
//! its reply back, through lost connections, `overtaken` or not; `question` puts questions about keys
//! into commands, and each command of the program has a file of its own. `ending` is how such a run
//! ends early. `pull` and `push` carry a whole filter, as an `image`.
//!
//! What is inserted must not be lost from the output, whatever happens in between. The server notes a
//! record as seen before its line is written, because only so can several processes share a filter.
//! Therefore what was noted and could not be written is taken back; and a record whose answer was
//! lost counts as new, since nobody knows whether this run has noted it or an earlier one.

pub(crate) mod add;
mod address;
pub(crate) mod check;
pub(crate) mod count;
mod creation;
pub(crate) mod dedup;
mod description;
mod ending;
mod exchange;
mod filter;
mod image;
pub(crate) mod info;
mod link;
mod nodes;
mod order;
mod overtaken;
pub(crate) mod pull;
pub(crate) mod push;
mod question;
pub(crate) mod remove;
mod request;
mod shards;
mod wire;

pub(crate) use address::Address;
pub(crate) use request::{Request, refuse_options_of_files};

use crate::cli::input::Reading;
use crate::cli::run::Quiet;
use crate::pipeline::Pipeline;
use crate::record::block::Block;
use crate::run::preflight::Preflight;
use crate::run::session::Session;
use crate::terminal::exit::Exit;
use crate::terminal::figures::{Answers, FilterFigures};
use crate::terminal::message::{self, Failure};
use crate::terminal::text::grouped;
use coua::KeyHasher;
use filter::{Asked, Filter};
use question::{Answer, Keys, Question};
use std::collections::VecDeque;

/// What every command needs to know.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) address: Address,
    pub(crate) preflight: Preflight<'a>,
}

/// Bytes of input about which may have been asked and not answered yet, unless one block has more. The
/// promises about lost connections name them.
const MOST_ASKED: usize = 1 << 20;

/// A filter, and the run that works with it.
#[derive(Debug)]
struct Work {
    filter: Filter,
    session: Session,
    quiet: Quiet,
    /// The questions that are open, in their order.
    asked: VecDeque<Asked>,
}

impl Work {
    fn new(mut filter: Filter, session: Session, quiet: Quiet) -> Self {
        filter.heed(&session);
        Self { filter, session, quiet, asked: VecDeque::new() }
    }

    /// Asks about the records of a block.
    fn ask(&mut self, question: Question, block: &Block) {
        self.asked.push_back(self.filter.ask(question, keys(block)));
    }

    /// The answers to the first question that is open; if some are missing, why.
    fn answers(&mut self) -> (Vec<Answer>, Result<(), Failure>) {
        let asked = self.asked.pop_front();
        asked.map_or_else(|| (Vec::new(), Ok(())), |asked| self.filter.answers(asked))
    }

    /// Asks when no question is open.
    fn ask_at_once(
        &mut self,
        question: Question,
        keys: Keys<'_>,
    ) -> (Vec<Answer>, Result<(), Failure>) {
        let asked = self.filter.ask(question, keys);
        self.filter.answers(asked)
    }

    /// Ends a run that cannot go on: by the signal, if that is why the server was not waited for any longer.
    fn fail(&self, failure: Failure) -> Result<Exit, Failure> {
        match self.session.exit(Exit::Error) {
            by_signal @ Exit::Signal(_) => {
                failure.report();
                Ok(by_signal)
            }
            _ => Err(failure),
        }
    }

    fn show(&mut self, found: u64) {
        // The server is not asked for its load all the time.
        self.session.show(found, None);
    }

    /// Tells of lost connections, and what they may have done.
    fn tell_doubts(&self, consequence: &str) {
        if self.filter.in_doubt > 0 && !self.quiet.quiet {
            let (name, losses) = (self.filter.name(), grouped(self.filter.losses()));
            let records = grouped(self.filter.in_doubt);
            message::say(format_args!(
                "{name}: connections lost: {losses}; records sent again because the answer was lost: \
                 {records}, {consequence}"
            ));
        }
    }

    /// What a message that says where records are has to add.
    fn exceptions(&self) -> &'static str {
        if self.filter.in_doubt > 0 { ", but for some whose answer was lost" } else { "" }
    }

    fn print_figures(&mut self, answers: Answers) -> Result<(), Failure> {
        if !self.session.wants_figures() {
            return Ok(());
        }
        let now = self.filter.describe()?.unwrap_or_default();
        self.session.print_figures(answers, FilterFigures::from(&now))
    }
}

/// The way of the records, with their keys.
fn pipeline(session: &Session, reading: Reading) -> Pipeline {
    let mut pipeline = session.pipeline(reading, KeyHasher::default());
    pipeline.hashing.keep_keys();
    pipeline
}

fn keys(block: &Block) -> Keys<'_> {
    Keys { bytes: &block.keys, hashes: &block.hashes }
}
