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
//! filter of a window has its clock, a filter in a file its shards, and one on a server its connections. Two passes are
//! two loops.

mod blocks;
mod interface;
mod schedule;
mod state;

pub(crate) use interface::{Batch, BlockHandler, Flow, Pipeline, Prefetch};

use crate::output::Outputs;
use crate::terminal::{Failure, Result};
use schedule::{End, Schedule};
use std::thread;

impl Pipeline {
    /// Runs to the end of the inputs, or until there are enough answers, or until a signal or an error. Earlier answers
    /// are written in every case.
    pub(crate) fn run(self, handler: &mut impl BlockHandler, outputs: &mut Outputs) -> Result<()> {
        let threads = self.threads.get();
        let schedule = Schedule::new(self, outputs);
        thread::scope(|scope| {
            let _end = End(&schedule);
            for _ in 1..threads {
                let thread = thread::Builder::new().name("worker".to_owned());
                let started = thread.spawn_scoped(scope, || schedule.work());
                started.map_err(|error| Failure::io("threads", &error))?;
            }
            let result = answer_all(&schedule, handler);
            schedule.finish().and(result)
        })
    }
}

/// Answers all blocks in order, passes them on to be written, and makes checkpoints that are due.
fn answer_all(schedule: &Schedule<'_>, handler: &mut impl BlockHandler) -> Result<()> {
    while let Some(mut batch) = schedule.next()? {
        let flow = handler.answer(&mut batch)?;
        // A failure after the last needed record does not matter.
        let failure = batch.block.failure.take().filter(|_| flow == Flow::Continue);
        if schedule.write(batch) == Flow::Enough {
            // The writer reports the reason.
            return Ok(());
        }
        failure.map_or(Ok(()), Err)?;
        if handler.checkpoint_is_due() {
            let Some(synced) = schedule.sync() else { return Ok(()) };
            handler.checkpoint(synced?)?;
        }
        if flow == Flow::Enough {
            return Ok(());
        }
    }
    Ok(())
}
