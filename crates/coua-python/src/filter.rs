//! `Filter`: what all filters can do that count and forget, wherever they are.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use coua::window::{Clock, Generations};
use coua::{BatchFull, KeyHash, KeyHasher};
use coua_store::Notes;
use numpy::{Element, PyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use crate::batch::{Batch, Nulls, Outcome};
use crate::collect::batch_of;
use crate::fork::Process;
use crate::state::{Access, Refusal, State};
use crate::{error, times};

/// What the filters of this package have in common: `CuckooFilter`, `Window`, and `File`.
///
/// A key is a `str`, bytes or an `int`. Batches take a numpy array, anything that speaks Arrow (polars,
/// pyarrow, pandas, DuckDB), or anything that can be iterated over, and answer with one numpy array. A batch
/// with something in it that is no key is refused before anything is changed.
///
/// All methods may be called by many threads. Batches do not hold the interpreter's lock.
#[pyclass(module = "coua", subclass, frozen)]
#[derive(Debug)]
pub(crate) struct Filter {
    hasher: KeyHasher,
    state: Mutex<State>,
    process: Process,
    /// A window by the system's clock, which is to be told the time.
    is_timed: bool,
    /// How the program made the keys of the file that this was loaded from, as the file has it.
    key_note: Option<Vec<u8>>,
}

/// The note of a file about how the program makes keys: JSON.
const KEY_NOTE: &str = "coua/keys";

impl Filter {
    pub(crate) fn new(state: State) -> Self {
        let (hasher, window) = (state.filter().hasher(), state.filter().window());
        let is_timed = window.is_some_and(|window| window.clock() == Clock::Arrival);
        let (state, process) = (Mutex::new(state), Process::this());
        Self { hasher, state, process, is_timed, key_note: None }
    }

    pub(crate) fn of(filter: impl Into<Generations>) -> Self {
        Self::new(State::Memory(filter.into()))
    }

    /// One that was read from a file with these notes.
    pub(crate) fn with_notes(mut self, notes: &Notes) -> Self {
        self.key_note = notes.get(KEY_NOTE).map(<[u8]>::to_vec);
        self
    }

    /// What a file is to have of the notes.
    pub(crate) fn notes(&self, py: Python<'_>) -> PyResult<Notes> {
        let state = self.lock(py)?;
        let note = match &*state {
            State::Written(store) => store.note(KEY_NOTE),
            State::Read(view) => view.note(KEY_NOTE),
            _ => self.key_note.as_deref(),
        };
        let mut notes = Notes::default();
        // It was small enough for a file before.
        note.and_then(|note| notes.set(KEY_NOTE, note).ok());
        Ok(notes)
    }

    /// How the program makes keys: a `dict` from JSON.
    pub(crate) fn options_of_keys<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let notes = self.notes(py)?;
        let load = |note| py.import("json")?.call_method1("loads", (PyBytes::new(py, note),));
        notes.get(KEY_NOTE).map(load).transpose()
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The state, once no other thread uses it.
    #[inline]
    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        if self.process.is_this()
            && let Ok(state) = self.state.try_lock()
        {
            return Ok(state);
        }
        self.wait(py)
    }

    /// The state, where there was a fork or another thread uses it.
    #[cold]
    fn wait(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        self.check_process()?;
        self.state.lock_py_attached(py).map_err(broken)
    }

    /// The state, for a thread that does not hold the interpreter's lock.
    pub(crate) fn lock_detached(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.lock().map_err(broken)
    }

    /// The state, to be used as `access` says.
    #[inline]
    pub(crate) fn lock_for(
        &self,
        py: Python<'_>,
        access: Access,
    ) -> PyResult<MutexGuard<'_, State>> {
        let mut state = self.lock(py)?;
        state.check(access).map_err(refused)?;
        if self.is_timed {
            state.tell_time();
        }
        Ok(state)
    }

    /// What the filter says of itself.
    pub(crate) fn described<T>(
        &self,
        py: Python<'_>,
        of: impl FnOnce(&Generations) -> T,
    ) -> PyResult<T> {
        Ok(of(self.lock_for(py, Access::Ask)?.filter()))
    }

    /// A copy as it is now.
    pub(crate) fn copied(&self, py: Python<'_>) -> PyResult<Generations> {
        self.check_process()?;
        py.detach(|| {
            let state = self.lock_detached()?;
            state.check(Access::Ask).map_err(refused)?;
            state.filter().try_clone().map_err(|error| error::build(error.into()))
        })
    }

    /// Changes the filter as a whole.
    pub(crate) fn change<R: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Generations) -> R + Send,
    ) -> PyResult<R> {
        self.check_process()?;
        py.detach(|| {
            let mut state = self.lock_detached()?;
            state.check(Access::Change).map_err(refused)?;
            Ok(state.change(change))
        })
    }

    #[inline]
    pub(crate) fn check_process(&self) -> PyResult<()> {
        if self.process.is_this() { Ok(()) } else { self.check_fork() }
    }

    /// After a fork, files belong to the parent, and what another thread of it was doing is never done.
    #[cold]
    fn check_fork(&self) -> PyResult<()> {
        match self.state.try_lock().as_deref() {
            Ok(State::Written(store)) => Err(PyRuntimeError::new_err(format!(
                "{}: was opened before this process was forked, and belongs to its parent: open it here",
                store.path().display()
            ))),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "the filter was in use by another thread when this process was forked: copy it before the \
                 fork, or start processes by \"spawn\"",
            )),
            _ => {
                self.process.adopt();
                Ok(())
            }
        }
    }

    /// Works through a batch. `work` gets some of the keys, and puts their answers after those that are there.
    pub(crate) fn in_chunks<A: Send>(
        &self,
        py: Python<'_>,
        access: Access,
        batch: &Batch,
        work: impl Fn(&mut State, Range<usize>, &mut Vec<A>) -> Result<(), BatchFull> + Sync,
    ) -> PyResult<Outcome<A>> {
        batch.in_chunks(py, |chunk, answers| {
            self.check_process()?;
            let mut state = self.lock_detached()?;
            state.check(access).map_err(refused)?;
            if self.is_timed {
                state.tell_time();
            }
            Ok(work(&mut state, chunk, answers))
        })
    }

    /// Answers a batch of which no key can be refused. `work` gets some of the keys.
    pub(crate) fn answers<'py, A: Element + Copy + Default>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
        access: Access,
        work: impl Fn(&mut State, &[KeyHash]) -> Vec<A> + Sync,
    ) -> PyResult<Bound<'py, PyArray1<A>>> {
        let batch = self.batch(keys, null)?;
        let outcome = self.in_chunks(keys.py(), access, &batch, |state, chunk, answers| {
            answers.append(&mut work(state, &batch.hashes()[chunk]));
            Ok(())
        })?;
        Ok(PyArray1::from_vec(keys.py(), batch.spread(outcome.answers, A::default())))
    }

    pub(crate) fn batch(&self, keys: &Bound<'_, PyAny>, null: &str) -> PyResult<Batch> {
        batch_of(keys, self.hasher, Nulls::named(null)?)
    }

    /// The times of a batch, without those of its nulls.
    pub(crate) fn times(
        &self,
        batch: &Batch,
        times: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Vec<u64>>> {
        let Some(times) = times else { return Ok(None) };
        let window = self.described(times.py(), Generations::window)?;
        if window.is_none_or(|window| window.clock() != Clock::Given) {
            return Err(PyValueError::new_err(
                "times were given to a filter that does not go by them: make it with clock=\"given\"",
            ));
        }
        let times = times::milliseconds(times)?;
        if times.len() != batch.len() {
            let (times, keys) = (times.len(), batch.len());
            return Err(PyValueError::new_err(format!("{times} times were given for {keys} keys")));
        }
        Ok(Some(batch.without_nulls(times)))
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // The lock and the files of an open file are its parent's.
        if !self.process.is_this()
            && let Ok(state) = self.state.get_mut()
            && matches!(state, State::Written(_))
        {
            state.abandon();
        }
    }
}

pub(crate) fn refused(refusal: Refusal) -> PyErr {
    PyValueError::new_err(match refusal {
        Refusal::Closed => "the file is closed: open it again",
        Refusal::ReadOnly => "the file was opened with readonly=True: open it without that",
    })
}

fn broken<T>(_: PoisonError<T>) -> PyErr {
    PyRuntimeError::new_err(
        "the filter is not whole any more: an operation on it has failed inside",
    )
}
