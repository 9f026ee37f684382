//! A filter that threads share: many ask it side by side, one changes it.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use coua::window::{Clock, Generations};
use parking_lot::{RwLock, RwLockWriteGuard};
use pyo3::prelude::*;

use crate::error::Error;
use crate::fork::Process;
use crate::state::{Access, State, milliseconds_now};

/// A filter with its lock. A thread that holds the interpreter's lock does not wait for this one, and no thread waits
/// for the interpreter while it holds this one.
#[derive(Debug)]
pub(crate) struct Shared {
    state: RwLock<State>,
    process: Process,
    /// A window by the system's clock, which must be advanced.
    is_timed: bool,
    /// A change has panicked in the middle.
    is_broken: AtomicBool,
    /// How often the lock was taken for a change.
    changes: AtomicU64,
}

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        let window = state.filter().window();
        let is_timed = window.is_some_and(|window| window.clock() == Clock::Arrival);
        let (state, process) = (RwLock::new(state), Process::this());
        let (is_broken, changes) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { state, process, is_timed, is_broken, changes }
    }

    /// Queries the filter.
    #[inline]
    pub(crate) fn ask<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Generations) -> R + Send,
    ) -> PyResult<R> {
        if self.process.is_this()
            && let Some(state) = self.state.try_read()
            && let Some(filter) = self.ready(&state)?
        {
            return Ok(work(filter));
        }
        py.detach(|| self.ask_detached(work))
    }

    /// [`ask`](Self::ask), for a thread that does not hold the interpreter's lock.
    pub(crate) fn ask_detached<R>(&self, work: impl FnOnce(&Generations) -> R) -> PyResult<R> {
        self.check_process()?;
        let state = self.state.read();
        if let Some(filter) = self.ready(&state)? {
            return Ok(work(filter));
        }
        drop(state);
        let mut state = self.state.write();
        self.check(&state, Access::Ask)?;
        self.count_change();
        self.tell_time(&mut state);
        Ok(work(state.filter()))
    }

    /// Changes of the filter so far: while it is locked, there are none.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// The lock is held, so nobody else counts.
    #[inline]
    fn count_change(&self) {
        self.changes.store(self.changes() + 1, Ordering::Relaxed);
    }

    /// The filter, unless its time must be set first.
    #[inline]
    fn ready<'a>(&self, state: &'a State) -> PyResult<Option<&'a Generations>> {
        self.check(state, Access::Ask)?;
        if self.is_timed && state.is_due(milliseconds_now()) {
            return Ok(None);
        }
        Ok(Some(state.filter()))
    }

    /// Changes the filter.
    #[inline]
    pub(crate) fn change<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> R + Send,
    ) -> PyResult<R> {
        if self.process.is_this()
            && let Some(state) = self.state.try_write()
        {
            return self.change_locked(state, work);
        }
        self.change_long(py, work)
    }

    /// A [`change`](Self::change) that takes a while: it releases the interpreter meanwhile.
    pub(crate) fn change_long<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| self.change_detached(work))
    }

    /// [`change`](Self::change), for a thread that does not hold the interpreter's lock.
    pub(crate) fn change_detached<R>(&self, work: impl FnOnce(&mut State) -> R) -> PyResult<R> {
        self.check_process()?;
        self.change_locked(self.state.write(), work)
    }

    #[inline]
    fn change_locked<R>(
        &self,
        mut state: RwLockWriteGuard<'_, State>,
        work: impl FnOnce(&mut State) -> R,
    ) -> PyResult<R> {
        self.check(&state, Access::Change)?;
        self.tell_time(&mut state);
        Ok(self.whole(state, work))
    }

    /// Replaces the filter's state, such as by a closed one.
    pub(crate) fn replace<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| {
            self.check_process()?;
            Ok(self.whole(self.state.write(), work))
        })
    }

    /// Lets those who wait go first afterwards, for the next part of a batch follows at once.
    #[inline]
    fn whole<R>(
        &self,
        mut state: RwLockWriteGuard<'_, State>,
        work: impl FnOnce(&mut State) -> R,
    ) -> R {
        let unfinished = Unfinished(&self.is_broken);
        let result = work(&mut state);
        mem::forget(unfinished);
        self.count_change();
        RwLockWriteGuard::unlock_fair(state);
        result
    }

    /// Looks at the state, whatever it is.
    pub(crate) fn look<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&State) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| {
            self.check_process()?;
            Ok(work(&self.state.read()))
        })
    }

    #[inline]
    fn check(&self, state: &State, access: Access) -> PyResult<()> {
        state.check(access)?;
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(Error::new_err(
                "the filter is unusable, because an earlier operation failed internally; load it again",
            ));
        }
        Ok(())
    }

    #[inline]
    fn tell_time(&self, state: &mut State) {
        if self.is_timed {
            state.advance(milliseconds_now());
        }
    }

    #[inline]
    fn check_process(&self) -> PyResult<()> {
        if self.process.is_this() { Ok(()) } else { self.check_fork() }
    }

    /// After a fork, files belong to the parent, and unfinished work of its other threads is lost.
    #[cold]
    fn check_fork(&self) -> PyResult<()> {
        match self.state.try_write().as_deref() {
            Some(State::Written(store)) => Err(Error::new_err(format!(
                "{}: was opened before this process was forked, and belongs to its parent; open it here",
                store.path().display()
            ))),
            None => Err(Error::new_err(
                "the filter was in use by another thread when this process was forked; copy it before the \
                 fork, or start processes by \"spawn\"",
            )),
            _ => {
                self.process.adopt();
                Ok(())
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The lock and the files of an open file are its parent's.
        if !self.process.is_this() && matches!(self.state.get_mut(), State::Written(_)) {
            self.state.get_mut().abandon();
        }
    }
}

/// A change that has not come to its end.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
