//! The work of a command and a filter on blocks of records, and blocks whose requests are sent before their answers.
//!
//! A local filter answers at once. For one on a server, requests for further blocks are sent while a reply is on its
//! way.

use crate::input::BlockReader;
use crate::key::{Answers, BlockKeys, Group, Hashing};
use crate::output::Synced;
use crate::record::Block;
use crate::terminal::{CancelToken, Result};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A block in the pipeline: its records, their keys, and the answers.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) block: Block,
    pub(crate) keys: BlockKeys,
    pub(crate) answers: Answers,
}

/// The first steps, and the maximum number of threads.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) prefetch: Arc<dyn Prefetch>,
    pub(crate) threads: NonZeroUsize,
    pub(crate) stop: Arc<CancelToken>,
}

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// The work of a command on blocks.
pub(crate) trait BlockHandler {
    /// Sends the requests for the records of a block, if answers take time. Called for every block before `answer`,
    /// which follows for each of them in the same order, whatever happens.
    fn request(&mut self, batch: &Batch);

    /// Bytes of blocks that may be requested and not answered; one block is always allowed.
    fn max_pending_bytes(&self) -> usize;

    /// Answers a block.
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow>;

    /// Whether a checkpoint of all answers so far is due.
    fn checkpoint_is_due(&mut self) -> bool;

    /// Makes the answers so far durable; they are in the outputs, and synced there.
    fn checkpoint(&mut self, synced: Synced) -> Result<()>;

    /// Ends the work. `unanswered` holds the groups that shards processed before an early end.
    fn end(&mut self, unanswered: Vec<Unanswered>);
}

/// A group of keys that a shard processed, without an answer for its block.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) shard: usize,
    pub(crate) group: Group,
}

/// Work on a hashed block before its turn to be answered, by any thread.
pub(crate) trait Prefetch: Send + Sync {
    /// Looks up answers. Called for blocks in any order, several at a time.
    fn lookup(&self, _keys: &BlockKeys, _answers: &mut Answers) {}

    /// The number of shards of the filter that work independently.
    fn shards(&self) -> usize {
        0
    }

    /// Whether the shards may process the next block ahead. Otherwise the command processes it alone, after all blocks
    /// before it, and the shards wait with the blocks after it.
    fn accepts(&self, _keys: &BlockKeys) -> bool {
        true
    }

    /// Lets a shard process its keys. Each shard sees the blocks in their order, whatever the others do. `consumed` raw
    /// bytes were read up to the end of the block.
    fn query_shard(&self, _shard: usize, _group: &mut Group, _consumed: u64) {}
}

/// Does nothing early.
impl Prefetch for () {}

/// Whether to wait for the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    ForIt,
    Not,
}

/// The next block, or why there is none.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are blocks")]
pub(super) enum Coming {
    Next(Batch),
    /// It is not ready yet.
    NotYet,
    /// There are no more, or reading failed.
    End(Result<()>),
}

/// Answers all blocks in order, and passes them on. In every case all requested blocks are answered, and nothing is
/// requested after the end.
pub(super) fn answer_all<H: BlockHandler>(
    mut next: impl FnMut(Wait) -> Coming,
    handler: &mut H,
    mut hand_on: impl FnMut(&mut H, Batch) -> Result<Flow>,
) -> Result<()> {
    let mut pending = PendingBlocks::default();
    let (mut end, mut result) = (None, Ok(()));
    loop {
        if end.is_none() {
            end = pending.fill(&mut next, handler);
        }
        let Some(mut batch) = pending.pop() else { break };
        let flow = handler.answer(&mut batch);
        if matches!(flow, Ok(Flow::Enough)) {
            // A failure after the last needed record does not matter.
            batch.block.failure = None;
        }
        if result.is_err() {
            continue;
        }
        match flow.and_then(|flow| hand_on(handler, batch).map(|then| then.max(flow))) {
            Ok(Flow::Continue) => continue,
            Ok(Flow::Enough) => {}
            Err(failure) => result = Err(failure),
        }
        end.get_or_insert(Ok(()));
    }
    result.and(end.unwrap_or(Ok(())))
}

/// Blocks without an answer, in their order.
#[derive(Debug, Default)]
struct PendingBlocks {
    blocks: VecDeque<Batch>,
    bytes: usize,
    /// The next one, if there was no room for it.
    held: Option<Batch>,
}

impl PendingBlocks {
    /// Requests as many blocks as are allowed and ready. Waits only for the first. Returns the result of reading at the
    /// end of the blocks.
    fn fill(
        &mut self,
        next: &mut impl FnMut(Wait) -> Coming,
        handler: &mut impl BlockHandler,
    ) -> Option<Result<()>> {
        while self.blocks.is_empty() || self.bytes < handler.max_pending_bytes() {
            let wait = if self.blocks.is_empty() { Wait::ForIt } else { Wait::Not };
            let batch = match self.held.take() {
                Some(batch) => batch,
                None => match next(wait) {
                    Coming::Next(batch) => batch,
                    Coming::NotYet => return None,
                    Coming::End(end) => return Some(end),
                },
            };
            let size = batch.block.size();
            if !self.blocks.is_empty() && self.bytes + size > handler.max_pending_bytes() {
                self.held = Some(batch);
                return None;
            }
            handler.request(&batch);
            let is_last = batch.block.failure.is_some();
            self.bytes += size;
            self.blocks.push_back(batch);
            if is_last {
                return Some(Ok(()));
            }
        }
        None
    }

    fn pop(&mut self) -> Option<Batch> {
        let batch = self.blocks.pop_front()?;
        self.bytes -= batch.block.size();
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Synced;
    use crate::record::Block;
    use crate::terminal::Failure;

    /// A handler that records its calls.
    #[derive(Default)]
    struct Script {
        most: usize,
        log: Vec<String>,
        enough_at: Option<u64>,
    }

    impl BlockHandler for Script {
        fn request(&mut self, batch: &Batch) {
            self.log.push(format!("?{}", batch.block.records_before));
        }

        fn max_pending_bytes(&self) -> usize {
            self.most
        }

        fn answer(&mut self, batch: &mut Batch) -> Result<Flow> {
            self.log.push(format!("!{}", batch.block.records_before));
            let enough = self.enough_at == Some(batch.block.records_before);
            Ok(if enough { Flow::Enough } else { Flow::Continue })
        }

        fn checkpoint_is_due(&mut self) -> bool {
            false
        }

        fn checkpoint(&mut self, _settled: Synced) -> Result<()> {
            Ok(())
        }

        fn end(&mut self, _unanswered: Vec<Unanswered>) {}
    }

    type Passed = Result<Batch>;

    fn block(number: u64, size: usize) -> Batch {
        let block = Block { records_before: number, ends: vec![size], ..Block::default() };
        Batch { block, ..Batch::default() }
    }

    fn run(script: &mut Script, blocks: Vec<Passed>) -> Result<()> {
        let mut blocks = blocks.into_iter();
        let next = |_| match blocks.next() {
            Some(Ok(batch)) => Coming::Next(batch),
            Some(Err(failure)) => Coming::End(Err(failure)),
            None => Coming::End(Ok(())),
        };
        answer_all(next, script, |script, batch| {
            let number = batch.block.records_before;
            script.log.push(format!(">{number}"));
            if number == 66 { Err(Failure::OutputClosed) } else { Ok(Flow::Continue) }
        })
    }

    fn four() -> Vec<Passed> {
        (1..5).map(|number| Ok(block(number, 10))).collect()
    }

    #[test]
    fn one_at_a_time_or_as_many_as_may_be() {
        let mut script = Script::default();
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 !1 >1 ?2 !2 >2 ?3 !3 >3 ?4 !4 >4");
        let mut script = Script { most: 25, ..Script::default() };
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 ?2 !1 >1 ?3 !2 >2 ?4 !3 >3 !4 >4");
        let mut script = Script { most: 25, ..Script::default() };
        run(&mut script, [block(1, 10), block(2, 99), block(3, 1)].map(Ok).into()).unwrap();
        assert_eq!(script.log.join(" "), "?1 !1 >1 ?2 !2 >2 ?3 !3 >3", "a giant goes alone");
    }

    #[test]
    fn what_was_asked_is_answered_whatever_happens() {
        let mut script = Script { most: 20, enough_at: Some(1), ..Script::default() };
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 ?2 !1 >1 !2 >2");
        let mut script = Script { most: 20, ..Script::default() };
        let blocks = [block(66, 10), block(2, 10), block(3, 10)].map(Ok).into();
        assert!(matches!(run(&mut script, blocks), Err(Failure::OutputClosed)));
        assert_eq!(script.log.join(" "), "?66 ?2 !66 >66 !2", "and handed on to nobody");
        let mut script = Script { most: 30, ..Script::default() };
        let blocks = vec![Ok(block(1, 10)), Err(Failure::at("in", "unreadable")), Ok(block(3, 10))];
        assert!(matches!(run(&mut script, blocks), Err(Failure::At { .. })));
        assert_eq!(script.log.join(" "), "?1 !1 >1", "all before what cannot be read");
    }
}
