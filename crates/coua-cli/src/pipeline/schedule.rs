//! Threads that take the next step of some block, whichever is free.

use super::answer::{Batch, Flow, Pipeline, Prefetch};
use super::answer::{Coming, Unanswered, Wait};
use super::state::{PipelineState, Task, Thread};
use crate::output::{Outputs, Synced};
use crate::terminal::{CancelToken, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The work that is left, shared by all threads.
pub(super) struct Schedule<'o> {
    state: Mutex<PipelineState<'o>>,
    changed: Condvar,
    prefetch: Arc<dyn Prefetch>,
    stop: Arc<CancelToken>,
}

impl<'o> Schedule<'o> {
    pub(super) fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let (prefetch, stop) = (pipeline.prefetch.clone(), pipeline.stop.clone());
        let state = Mutex::new(PipelineState::new(pipeline, outputs));
        Self { state, changed: Condvar::new(), prefetch, stop }
    }

    /// What shards were asked about and the command was not, when all threads have ended.
    pub(super) fn into_unanswered(self) -> Vec<Unanswered> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).unanswered
    }

    fn state(&self) -> MutexGuard<'_, PipelineState<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads that wait, if there are any: a call without effect is a system call too.
    fn wake(&self, state: &PipelineState<'o>) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// What a thread does that does not answer, until the end.
    pub(super) fn work(&self) {
        let _end = End(self);
        let mut state = self.state();
        while !state.has_ended {
            let task = state.task(Thread::Other);
            state = self.step(state, task);
        }
    }

    /// The next block to be answered for. While it is not ready, this thread works on it, or on others.
    pub(super) fn next(&self, wait: Wait) -> Coming {
        let mut state = self.state();
        if state.record_answered() {
            self.wake(&state);
        }
        loop {
            if let Some(batch) = state.next_ready() {
                self.wake(&state);
                return Coming::Next(batch);
            }
            if state.has_ended {
                return Coming::End(Ok(()));
            }
            if let Some(end) = state.end_of_input() {
                return Coming::End(end);
            }
            if wait == Wait::Not {
                return Coming::NotYet;
            }
            let task = state.task(Thread::Answering);
            state = self.step(state, task);
        }
    }

    /// Hands a block on to be written.
    pub(super) fn write(&self, batch: Batch) -> Flow {
        let mut state = self.state();
        if state.not_written.is_some() {
            return Flow::Enough;
        }
        state.answered.push_back(batch);
        self.wake(&state);
        Flow::Continue
    }

    /// Settles the outputs when all is written; none if that is not possible any more.
    pub(super) fn sync(&self) -> Option<Result<Synced>> {
        let mut state = self.all_written();
        if state.not_written.is_some() {
            return None;
        }
        state.outputs.as_mut().map(|outputs| outputs.sync())
    }

    /// Writes what is left, and hands all to the operating system.
    pub(super) fn finish(&self) -> Result<()> {
        let mut state = self.all_written();
        match state.not_written.take() {
            Some(failure) => Err(failure),
            None => state.outputs.as_mut().map_or(Ok(()), |outputs| outputs.flush()),
        }
    }

    fn all_written(&self) -> MutexGuard<'_, PipelineState<'o>> {
        let mut state = self.state();
        while state.outputs.is_none() || !state.answered.is_empty() {
            if state.has_ended {
                break;
            }
            let task = state.write_task();
            state = self.step(state, task);
        }
        state
    }

    /// Does a step, and notes what has come of it; without one, waits until something changes.
    fn step<'s>(
        &'s self,
        mut state: MutexGuard<'s, PipelineState<'o>>,
        task: Option<Task<'o>>,
    ) -> MutexGuard<'s, PipelineState<'o>> {
        let Some(mut task) = task else {
            state.waiting += 1;
            let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            return state;
        };
        drop(state);
        task.run(&*self.prefetch);
        let mut state = self.state();
        if state.record(task) == Flow::Enough {
            // Without an output there is no need to read on, nor to wait for input.
            self.stop.cancel();
        }
        self.wake(&state);
        state
    }
}

/// Ends the work of all threads when it is dropped, also by a thread that has a defect: no thread waits for input or
/// work any more.
pub(super) struct End<'s, 'o>(pub(super) &'s Schedule<'o>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.0.state().end();
        self.0.changed.notify_all();
        self.0.stop.cancel();
    }
}
