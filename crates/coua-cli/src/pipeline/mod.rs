//! Blocks of records go through threads, in order.
//!
//! ```text
//! read      one block after the other                       any thread
//! hash      find and hash keys, look up what may be looked up   any thread, any block
//! part      ask one part of a divided filter                any thread, each part block after block
//! answer    the command's own work                          the thread that called, block after block
//! write     the selected records                            any thread, block after block
//! ```
//!
//! A thread that has nothing to do takes the step that is nearest to the output (`state`). So every number of
//! threads is kept busy, and each step sees the blocks as one thread would have shown them to it: the output
//! does not depend on that number. (`docs/decisions/0015-whoever-has-time.md`)
//!
//! Written blocks come back to be filled again.

mod ahead;
mod schedule;
mod state;

use crate::input::reader::BlockReader;
use crate::key::answers::{Answers, Group};
use crate::key::hashing::Hashing;
use crate::key::keyed::Keyed;
use crate::output::{Outputs, Settled};
use crate::record::block::Block;
use crate::terminal::message::Failure;
use crate::terminal::signals::Stop;
use ahead::answer_all;
use schedule::Schedule;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

/// A block on its way: its records, what is known about their keys, and the answers.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) block: Block,
    pub(crate) keyed: Keyed,
    pub(crate) answers: Answers,
}

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
    fn ask(&mut self, _batch: &Batch) {}

    /// Bytes of blocks that may have been asked about and not answered for; one block always.
    fn most_asked(&self) -> usize {
        0
    }

    /// Answers for the records of a block.
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow, Failure>;

    /// Whether it is time to make durable what was answered so far.
    fn checkpoint_is_due(&self) -> bool {
        false
    }

    /// Makes it durable; all of it is in the outputs, and settled there.
    fn checkpoint(&mut self, _settled: Settled) -> Result<(), Failure> {
        Ok(())
    }
}

/// What may be found out about a hashed block before its turn to be answered, by any thread.
pub(crate) trait Early: Send + Sync {
    /// Looks for answers. Blocks come in any order, several at a time.
    fn look(&self, _keyed: &Keyed, _answers: &mut Answers) {}

    /// How many parts the filter has that answer by themselves.
    fn parts(&self) -> usize {
        0
    }

    /// When parts are asked about a block.
    fn order(&self) -> Order {
        Order::AfterHashing
    }

    /// Whether the parts are to be asked about the next block, and not only the command.
    fn accepts(&self, _keyed: &Keyed) -> bool {
        true
    }

    /// Asks a part about its keys. Each part sees the blocks in their order. `consumed` raw bytes were read up to
    /// the end of the block.
    fn ask_part(&self, _part: usize, _group: &mut Group, _consumed: u64) {}
}

/// When the parts of a filter are asked about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    AfterHashing,
    /// After the block before it was answered for.
    AfterAnswers,
}

/// Nothing is found out early.
impl Early for () {}

/// The first steps, and how many threads there may be.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) early: Arc<dyn Early>,
    pub(crate) threads: NonZeroUsize,
    pub(crate) stop: Arc<Stop>,
}

impl Pipeline {
    /// Reads to the end, or until there are enough answers, or a signal or an error. What was
    /// answered before is written in every case.
    pub(crate) fn run(
        self,
        answer: &mut impl Answer,
        outputs: &mut Outputs,
    ) -> Result<(), Failure> {
        let (threads, stop) = (self.threads.get(), self.stop.clone());
        let schedule = Schedule::new(self, outputs);
        thread::scope(|scope| {
            // However it ends: nobody waits for input or work any more.
            let _end = schedule.end_with(&stop);
            for _ in 1..threads {
                let thread = thread::Builder::new().name("worker".to_owned());
                let started = thread.spawn_scoped(scope, || schedule.work());
                started.map_err(|error| Failure::io("threads", &error))?;
            }
            let result = answer_all(
                |wait| schedule.next(wait),
                answer,
                |answer, mut batch| {
                    let failure = batch.block.failure.take();
                    if schedule.write(batch) == Flow::Enough {
                        // The writing will say why.
                        return Ok(Flow::Enough);
                    }
                    if failure.is_none() && answer.checkpoint_is_due() {
                        match schedule.settle() {
                            Some(settled) => answer.checkpoint(settled?)?,
                            None => return Ok(Flow::Enough),
                        }
                    }
                    failure.map_or(Ok(Flow::Continue), Err)
                },
            );
            schedule.finish().and(result)
        })
    }
}
