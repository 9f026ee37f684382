//! The record loop: `records -> keys -> filter -> output`, by blocks of records, in order.
//!
//! ```text
//! read      one block after the other                      any thread
//! hash      find and hash keys, look up early if allowed   any thread, any block
//! shard     work of one shard, ahead of the answers        any thread, each shard block after block
//! answer    the command's own work                         the calling thread, block after block
//! write     the selected records                           any thread, block after block
//! ```
//!
//! A free thread takes the step that is nearest to the output (`state`). So every thread is kept busy, and each step
//! sees the blocks in the same order as with one thread: the output does not depend on the number of threads.
//!
//! What else a run may need lies around the loop. `--resume` and `--known` set keys aside when a block is hashed. A
//! filter of a window has its clock, a filter in a file its shards, and one on a server sends requests for further blocks
//! while a reply is on its way. Two passes are two loops.

mod blocks;
mod interface;
mod schedule;
mod state;

pub(crate) use interface::{Batch, BlockHandler, Flow, Pipeline, Prefetch, Unanswered};

use crate::output::Outputs;
use crate::terminal::{Failure, Result};
use interface::{Coming, Wait};
use schedule::{End, Schedule};
use std::collections::VecDeque;
use std::thread;

impl Pipeline {
    /// Runs to the end of the inputs, or until there are enough answers, or until a signal or an error. Earlier answers
    /// are written in every case.
    pub(crate) fn run(self, handler: &mut impl BlockHandler, outputs: &mut Outputs) -> Result<()> {
        let threads = self.threads.get();
        let schedule = Schedule::new(self, outputs);
        let result = thread::scope(|scope| {
            let _end = End(&schedule);
            for _ in 1..threads {
                let thread = thread::Builder::new().name("worker".to_owned());
                let started = thread.spawn_scoped(scope, || schedule.work());
                started.map_err(|error| Failure::io("threads", &error))?;
            }
            let pass_on = |handler: &mut _, batch| pass_on(&schedule, handler, batch);
            let result = answer_all(|wait| schedule.next(wait), handler, pass_on);
            schedule.finish().and(result)
        });
        result.and_then(|()| handler.end(schedule.into_unanswered()))
    }
}

/// Passes an answered block on to be written, and makes a checkpoint if one is due.
fn pass_on(
    schedule: &Schedule<'_>,
    handler: &mut impl BlockHandler,
    mut batch: Batch,
) -> Result<Flow> {
    let failure = batch.block.failure.take();
    if schedule.write(batch) == Flow::Enough {
        // The writer reports the reason.
        return Ok(Flow::Enough);
    }
    if failure.is_none() && handler.checkpoint_is_due() {
        match schedule.sync() {
            Some(synced) => handler.checkpoint(synced?)?,
            None => return Ok(Flow::Enough),
        }
    }
    failure.map_or(Ok(Flow::Continue), Err)
}

/// Answers all blocks in order, and passes them on. In every case all requested blocks are answered, and nothing is
/// requested after the end.
fn answer_all<H: BlockHandler>(
    mut next: impl FnMut(Wait) -> Coming,
    handler: &mut H,
    mut pass_on: impl FnMut(&mut H, Batch) -> Result<Flow>,
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
        match flow.and_then(|flow| pass_on(handler, batch).map(|then| then.max(flow))) {
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

        fn end(&mut self, _unanswered: Vec<Unanswered>) -> Result<()> {
            Ok(())
        }
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
