//! The threads between input and output.
//!
//! ```text
//! -j 1   read + split + hash + answer + write
//! -j 2   read + split + hash  ->  hash + answer + write
//! -j 3   read + split + hash  ->  hash + answer  ->  write
//! -j N   read + split + hash  ->  hash (N - 3 threads, in turn)  ->  answer  ->  write
//! ```
//!
//! Where two threads can hash, the one that reads hashes the blocks that would have to wait for the other
//! (`docs/decisions/0015-who-hashes.md`).
//!
//! Some commands find out a part of the answers beforehand ("prepare"): with two and three threads the one that
//! reads, which then hashes all blocks, if keys are whole records, and else the one that answers; from four
//! on a thread of its own, behind those that hash (one less). In others, threads that hash help: they look for
//! the answers to a hashed block that still has to wait.
//!
//! Blocks go round: written, they come back to be filled again. Each stage takes them in the order of
//! the input, whatever N is.

mod ahead;
mod stages;
mod threads;

use crate::input::reader::BlockReader;
use crate::key::hashing::Hashing;
use crate::output::Settled;
use crate::record::block::Block;
use crate::terminal::message::Failure;
use crate::terminal::signals::Stop;
use ahead::{Coming, Next, Wait};
use stages::{Source, apart, prepared, together, write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, Scope};
use threads::{ahead, hashed_by_either, hashed_in_turn, prepared_here, start};

/// Blocks that may wait between two threads: enough that neither waits for the other's jitter, and
/// few enough to stay in the cache.
const WAITING_BLOCKS: usize = 4;

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// What a command finds out about records.
pub(crate) trait Answer {
    /// Asks about the records of a block, where the answer takes its time. Every block is asked about
    /// first; and all that were asked about are answered for later, in the same order, whatever happens.
    fn ask(&mut self, _block: &Block) {}

    /// Bytes of blocks that may have been asked about and not answered for; one block always.
    fn most_asked(&self) -> usize {
        0
    }

    /// Answers for the records of a block, in the block.
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure>;

    /// Whether it is time to make durable what was answered so far.
    fn checkpoint_is_due(&self) -> bool {
        false
    }

    /// Makes it durable; all of it is in the outputs, and settled there.
    fn checkpoint(&mut self, _settled: Settled) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a command shows of the answers.
pub(crate) trait Deliver {
    /// Writes what was answered about a block.
    fn deliver(&mut self, block: &Block) -> Result<(), Failure>;

    /// Hands all to the operating system: nothing more comes for now.
    fn flush(&mut self) -> Result<(), Failure>;

    /// Waits until all is on the disk, and says where it ends.
    fn settle(&mut self) -> Result<Settled, Failure> {
        self.flush()?;
        Ok(Settled::default())
    }
}

/// What may be found out about a block after its keys are hashed and before its turn to be answered.
pub(crate) enum Early<'p> {
    Nothing,
    /// A part of the answers for every block, perhaps by another thread. Blocks come in the order of the
    /// input, and all that come are answered for later, unless the answers end before.
    Prepare(&'p mut (dyn FnMut(&mut Block) + Send)),
    /// Answers for blocks that would have to wait, by threads that would have to wait with them.
    Help(Help<'p>),
}

type Help<'p> = &'p (dyn Fn(&mut Block) + Sync);

impl Early<'_> {
    /// Lent for no longer than the threads may live.
    fn lent(&mut self) -> Early<'_> {
        match self {
            Self::Nothing => Early::Nothing,
            Self::Prepare(prepare) => Early::Prepare(prepare),
            Self::Help(help) => Early::Help(help),
        }
    }
}

/// For commands that show nothing.
impl Deliver for () {
    fn deliver(&mut self, _block: &Block) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The first stages, and how many threads there may be.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) threads: usize,
    pub(crate) stop: Arc<Stop>,
}

/// Blocks on their way, or why there are no more.
type Passed = Result<Block, Failure>;

impl Pipeline {
    /// Reads to the end, or until there are enough answers, or a signal or an error. What was
    /// answered before is delivered in every case.
    pub(crate) fn run(
        self,
        answer: &mut impl Answer,
        deliver: &mut (impl Deliver + Send),
    ) -> Result<(), Failure> {
        self.run_early(Early::Nothing, answer, deliver)
    }

    /// [`run`](Self::run), with a part of the answers found out beforehand.
    pub(crate) fn run_early(
        self,
        mut early: Early<'_>,
        answer: &mut impl Answer,
        deliver: &mut (impl Deliver + Send),
    ) -> Result<(), Failure> {
        let stop = self.stop.clone();
        thread::scope(|scope| {
            let result = self.stages(scope, early.lent(), answer, deliver);
            // However it ended: nobody waits for input any more.
            stop.cancel();
            result
        })
    }

    fn stages<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        early: Early<'s>,
        answer: &mut impl Answer,
        deliver: &'s mut (impl Deliver + Send),
    ) -> Result<(), Failure> {
        let (threads, stop) = (self.threads, self.stop.clone());
        let (recycle, empty) = mpsc::channel();
        let next = self.blocks(scope, early, empty)?;
        if threads <= 2 {
            return together(next, &recycle, answer, deliver);
        }
        let (answered, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
        let write = move || {
            let written = write(&blocks, &recycle, deliver);
            if written.is_err() {
                // Without an output there is no need to read on, nor to wait for input.
                stop.cancel();
            }
            written
        };
        apart(next, answered, answer, start(scope, "output", write)?)
    }

    /// Starts the threads before the one that answers.
    fn blocks<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        early: Early<'s>,
        empty: Receiver<Block>,
    ) -> Result<Next<'s>, Failure> {
        let Self { reader, mut hashing, threads, .. } = self;
        let help = match early {
            Early::Help(help) => Some(help),
            Early::Nothing | Early::Prepare(_) => None,
        };
        match (threads, early) {
            (4.., Early::Prepare(prepare)) => {
                let hashed = Self { reader, hashing, threads: threads - 1, ..self };
                let mut hashed = hashed.blocks(scope, Early::Nothing, empty)?;
                let next = move || match hashed(Wait::ForIt) {
                    Coming::Next(passed) => Some(prepared(passed, prepare)),
                    Coming::NotYet | Coming::Nothing => None,
                };
                ahead(scope, "prepare", next)
            }
            (4.., _) => {
                let source = Source { reader, empty };
                hashed_in_turn(scope, source, &hashing, threads - 3, help)
            }
            (2.., Early::Prepare(prepare)) if hashing.keys.is_whole_record() => {
                let mut source = Source { reader, empty };
                let next = move || Some(prepared(source.read_and_hash(&mut hashing)?, prepare));
                ahead(scope, "reader", next)
            }
            (2.., early) => {
                let source = Source { reader, empty };
                let hashed = hashed_by_either(scope, source, hashing, help)?;
                Ok(prepared_here(hashed, early))
            }
            (_, early) => {
                let mut source = Source { reader, empty };
                let mut next = move || source.read_and_hash(&mut hashing);
                let hashed = Box::new(move |wait| match wait {
                    Wait::ForIt => next().map_or(Coming::Nothing, Coming::Next),
                    Wait::Not => Coming::NotYet,
                });
                Ok(prepared_here(hashed, early))
            }
        }
    }
}
