//! Blocks of records go through threads, in order.
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
//! (`docs/decisions/0015-free-threads.md`)
//!
//! Written blocks are reused.

mod answer;
mod schedule;
mod state;

pub(crate) use answer::{Batch, BlockHandler, Flow, Pipeline, Prefetch, Unanswered};

use crate::output::Outputs;
use crate::terminal::{Failure, Result};
use answer::answer_all;
use schedule::{End, Schedule};
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
            let result = answer_all(
                |wait| schedule.next(wait),
                handler,
                |handler, mut batch| {
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
                },
            );
            schedule.finish().and(result)
        });
        result.map(|()| handler.end(schedule.into_unanswered()))
    }
}
