//! The loop itself. Free threads take the next step of some block.

use super::state::{PipelineState, Task, ThreadRole};
use super::{Batch, BlockHandler, Flow, Pipeline, Prefetch};
use crate::output::{Outputs, Synced};
use crate::terminal::{CancelToken, Failure, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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

/// The remaining work, shared by all threads.
struct Schedule<'o> {
    state: Mutex<PipelineState<'o>>,
    /// Signaled when there is a task.
    work: Condvar,
    /// Signaled when the answering thread can continue.
    awaited: Condvar,
    prefetch: Arc<dyn Prefetch>,
    stop: Arc<CancelToken>,
}

impl<'o> Schedule<'o> {
    fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let (prefetch, stop) = (pipeline.prefetch.clone(), pipeline.stop.clone());
        let state = Mutex::new(PipelineState::new(pipeline, outputs));
        Self { state, work: Condvar::new(), awaited: Condvar::new(), prefetch, stop }
    }

    fn state(&self) -> MutexGuard<'_, PipelineState<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the answering thread and one other, after a change. If the other finds a task, it wakes the next.
    fn wake(&self) {
        self.awaited.notify_one();
        self.work.notify_one();
    }

    /// The loop of a thread that does not answer, until the end.
    fn work(&self) {
        let _end = End(self);
        let mut state = self.state();
        while !state.has_ended {
            let task = state.task(ThreadRole::Other);
            state = self.step(state, task, ThreadRole::Other);
        }
    }

    /// The next block to answer; `None` at the end. While it is not ready, this thread works on it, or on others.
    fn next(&self) -> Result<Option<Batch>> {
        let mut state = self.state();
        loop {
            let ready = state.blocks.next_ready();
            if ready.is_some() || state.has_ended || state.is_at_end() {
                self.wake();
                return match ready {
                    None if !state.has_ended => state.end.take().unwrap_or(Ok(())).map(|()| None),
                    ready => Ok(ready),
                };
            }
            let task = state.task(ThreadRole::Answering);
            state = self.step(state, task, ThreadRole::Answering);
        }
    }

    /// Passes a block on to be written.
    fn write(&self, batch: Batch) -> Flow {
        let mut state = self.state();
        if state.sink.failure.is_some() {
            return Flow::Enough;
        }
        state.sink.answered.push_back(batch);
        self.wake();
        Flow::Continue
    }

    /// Syncs the outputs when everything is written; `None` if that is no longer possible.
    fn sync(&self) -> Option<Result<Synced>> {
        let mut state = self.all_written();
        if state.sink.failure.is_some() {
            return None;
        }
        // Other threads continue with steps other than writing.
        let outputs = state.sink.outputs.take()?;
        drop(state);
        let synced = outputs.sync();
        self.state().sink.outputs = Some(outputs);
        Some(synced)
    }

    /// Writes the remaining blocks, and passes all bytes to the operating system.
    fn finish(&self) -> Result<()> {
        let mut state = self.all_written();
        match state.sink.failure.take() {
            Some(failure) => Err(failure),
            None => state.sink.outputs.as_mut().map_or(Ok(()), |outputs| outputs.finish()),
        }
    }

    fn all_written(&self) -> MutexGuard<'_, PipelineState<'o>> {
        let mut state = self.state();
        while !state.sink.is_idle() && !state.has_ended {
            let task = state.write_task();
            state = self.step(state, task, ThreadRole::Answering);
        }
        state
    }

    /// Does a step, and records its result. Without a step, waits for a change.
    fn step<'s>(
        &'s self,
        state: MutexGuard<'s, PipelineState<'o>>,
        task: Option<Task<'o>>,
        role: ThreadRole,
    ) -> MutexGuard<'s, PipelineState<'o>> {
        let Some(mut task) = task else {
            let changed = if role == ThreadRole::Other { &self.work } else { &self.awaited };
            return changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.wake();
        task.run(&*self.prefetch);
        let mut state = self.state();
        if state.record(task) == Flow::Enough {
            // Without an output there is no need to read on or wait for input.
            self.stop.cancel();
        }
        self.wake();
        state
    }
}

/// Ends the work of all threads when dropped, even by a panic: no thread waits for input or work any more.
struct End<'s, 'o>(&'s Schedule<'o>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.0.state().end();
        self.0.work.notify_all();
        self.0.awaited.notify_all();
        self.0.stop.cancel();
    }
}
