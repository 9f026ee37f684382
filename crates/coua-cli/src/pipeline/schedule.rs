//! Free threads take the next step of some block.

use super::interface::{Batch, Flow, Pipeline, Prefetch};
use super::state::{Awaited, PipelineState, Task, Waiters};
use crate::output::{Outputs, Synced};
use crate::terminal::{CancelToken, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The remaining work, shared by all threads.
pub(super) struct Schedule<'o> {
    state: Mutex<PipelineState<'o>>,
    /// Signaled when there is a task.
    work: Condvar,
    /// Signaled when the answering thread can continue.
    awaited: Condvar,
    prefetch: Arc<dyn Prefetch>,
    stop: Arc<CancelToken>,
}

impl<'o> Schedule<'o> {
    pub(super) fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let (prefetch, stop) = (pipeline.prefetch.clone(), pipeline.stop.clone());
        let state = Mutex::new(PipelineState::new(pipeline, outputs));
        Self { state, work: Condvar::new(), awaited: Condvar::new(), prefetch, stop }
    }

    fn state(&self) -> MutexGuard<'_, PipelineState<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the answering thread if it can continue, and one more thread if there is a task; that thread wakes the
    /// next. Even a wake-up without effect is a system call.
    fn wake(&self, state: &PipelineState<'o>) {
        if state.can_answer() {
            self.awaited.notify_one();
        }
        let Waiters { idle, awaited } = state.waiters;
        if (idle > 0 || awaited.is_some()) && state.has_task() {
            let waiter = if idle > 0 { &self.work } else { &self.awaited };
            waiter.notify_one();
        }
    }

    /// The loop of a thread that does not answer, until the end.
    pub(super) fn work(&self) {
        let _end = End(self);
        let mut state = self.state();
        while !state.has_ended {
            let task = state.task(None);
            state = self.step(state, task, None);
        }
    }

    /// The next block to answer; `None` at the end. While it is not ready, this thread works on it, or on others.
    pub(super) fn next(&self) -> Result<Option<Batch>> {
        let mut state = self.state();
        loop {
            let ready = state.blocks.next_ready();
            if ready.is_some() || state.has_ended || state.is_at_end() {
                self.wake(&state);
                return match ready {
                    None if !state.has_ended => state.end_of_input().map(|()| None),
                    ready => Ok(ready),
                };
            }
            let task = state.task(Some(Awaited::Block));
            state = self.step(state, task, Some(Awaited::Block));
        }
    }

    /// Passes a block on to be written.
    pub(super) fn write(&self, batch: Batch) -> Flow {
        let mut state = self.state();
        if state.sink.failure.is_some() {
            return Flow::Enough;
        }
        state.sink.answered.push_back(batch);
        self.wake(&state);
        Flow::Continue
    }

    /// Syncs the outputs when everything is written; `None` if that is no longer possible.
    pub(super) fn sync(&self) -> Option<Result<Synced>> {
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
    pub(super) fn finish(&self) -> Result<()> {
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
            state = self.step(state, task, Some(Awaited::Writing));
        }
        state
    }

    /// Does a step, and records its result. Without a step, waits for one, or for what the answering thread `awaited`.
    fn step<'s>(
        &'s self,
        mut state: MutexGuard<'s, PipelineState<'o>>,
        task: Option<Task<'o>>,
        awaited: Option<Awaited>,
    ) -> MutexGuard<'s, PipelineState<'o>> {
        self.wake(&state);
        let Some(mut task) = task else {
            let is_other = awaited.is_none();
            let changed = if is_other { &self.work } else { &self.awaited };
            state.waiters.idle += usize::from(is_other);
            state.waiters.awaited = state.waiters.awaited.or(awaited);
            let mut state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiters.idle -= usize::from(is_other);
            state.waiters.awaited = state.waiters.awaited.filter(|_| is_other);
            return state;
        };
        drop(state);
        task.run(&*self.prefetch);
        let mut state = self.state();
        if state.record(task) == Flow::Enough {
            // Without an output there is no need to read on or wait for input.
            self.stop.cancel();
        }
        state
    }
}

/// Ends the work of all threads when dropped, even by a panic: no thread waits for input or work any more.
pub(super) struct End<'s, 'o>(pub(super) &'s Schedule<'o>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.0.state().end();
        self.0.work.notify_all();
        self.0.awaited.notify_all();
        self.0.stop.cancel();
    }
}
