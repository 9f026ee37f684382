//! `File`: a filter in a file.

use std::mem;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use coua_store::{Lock, Options as StoreOptions, Reason, StoreError, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::error;
use crate::filter::Filter;
use crate::options::{Length, Options, check_empty, take};
use crate::state::State;
use crate::values::FileName;

/// Between two tries for the lock: so often are signals looked at.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// A filter in a file, opened by `coua.open`.
///
/// The file always holds the state of the last commit. In a `with` statement the end of the block
/// commits; after an exception, the file stays at the last commit.
#[pyclass(module = "coua", extends = Filter, frozen)]
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
}

/// Opens the filter in a file, or creates it.
///
/// One process writes at a time. `wait` is the number of seconds to wait for another one; `True` waits without
/// limit, `False` or 0 raises `Locked` at once, and so does a file that this process already has open: let threads
/// share the filter. `readonly=True` opens the last commit, without waiting.
///
/// `capacity`, `rate`, and the keywords of `CuckooFilter` describe a new filter. An existing filter must
/// agree with them. `window` (a length, such as `"7d"`) or `window_items` create a filter with a window;
/// `generations`, `clock`, and `window_by` are as in `Window` (where it is called `by`).
///
/// >>> import os, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "seen.coua")
/// >>> with open(path) as seen:
/// ...     seen.add("kestrel")
/// True
/// >>> with open(path) as seen:
/// ...     seen.add("kestrel")
/// False
#[pyfunction]
#[pyo3(signature = (path, **keywords),
       text_signature = "(path, *, wait=True, readonly=False, window=None, window_items=None, window_by=\"first\", \
                         generations=8, clock=\"arrival\", capacity=None, rate=None, max_items=None, hash_bits=None, \
                         when_full=\"grow\", seed=0, key=None)")]
pub(crate) fn open(
    py: Python<'_>,
    path: FileName,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<File>> {
    let (FileName(path), keywords) = (path, keywords.map_or_else(|| PyDict::new(py), Clone::clone));
    let mut wanted = Options::take(&keywords)?;
    let length = take::<Length>(&keywords, "window")?;
    let wait = take::<Bound<'_, PyAny>>(&keywords, "wait")?;
    let is_readonly = take(&keywords, "readonly")?.unwrap_or(false);
    wanted.take_window(length, "window_", &keywords)?;
    check_empty(&keywords)?;
    let options = StoreOptions::new().key(wanted.key);
    let state = if is_readonly {
        let view = py.detach(|| options.read(&path)).map_err(|error| error::store(&error))?;
        State::Read(view)
    } else {
        let lock = lock(py, &path, patience(wait.as_ref())?)?;
        written(py, &options, lock, &wanted)?
    };
    wanted.agree_with(state.filter()).inspect_err(|error| {
        error.add_note(py, format!("(file {})", path.display())).ok();
    })?;
    Py::new(py, PyClassInitializer::from(Filter::new(state)).add_subclass(File { path }))
}

fn written(
    py: Python<'_>,
    options: &StoreOptions,
    lock: Lock,
    wanted: &Options,
) -> PyResult<State> {
    // Before the file is created, so that a failure leaves none.
    let new = if lock.is_new() { Some(wanted.build()?) } else { None };
    let store = py.detach(|| options.write_locked(lock, new));
    store.map(|store| State::Written(Box::new(store))).map_err(|error| error::store(&error))
}

/// How long to wait for another writer; `None`: as long as it takes.
fn patience(wait: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    let Some(wait) = wait else { return Ok(None) };
    if let Ok(forever) = wait.cast::<PyBool>() {
        return Ok(if forever.is_true() { None } else { Some(Duration::ZERO) });
    }
    let seconds: f64 =
        wait.extract().map_err(|_| PyTypeError::new_err("wait must be a bool or a number"))?;
    let patience = Duration::try_from_secs_f64(seconds).map_err(error::value)?;
    Ok(Some(patience))
}

/// Tries again and again, so that a signal ends the wait.
fn lock(py: Python<'_>, path: &Path, patience: Option<Duration>) -> PyResult<Lock> {
    let begin = Instant::now();
    loop {
        match py.detach(|| Lock::take(path, Wait::No)) {
            Err(StoreError { reason: Reason::Busy, .. })
                if patience.is_none_or(|most| begin.elapsed() < most) =>
            {
                py.check_signals()?;
                py.detach(|| sleep(BETWEEN_TRIES));
            }
            taken => return taken.map_err(|error| error::store(&error)),
        }
    }
}

#[pymethods]
impl File {
    /// Makes all changes durable.
    fn commit(slf: &Bound<'_, Self>) -> PyResult<()> {
        let commit = |state: &mut State| match state {
            State::Written(store) => store.commit(),
            _ => Ok(()),
        };
        let committed = slf.as_super().get().shared.change_long(slf.py(), commit)?;
        committed.map_err(|error| error::store(&error))
    }

    /// Commits, and closes the file. Closing again does nothing.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let shared = &slf.as_super().get().shared;
        let finished =
            shared.replace(slf.py(), |state| match mem::replace(state, State::Closed) {
                State::Written(store) => store.finish().map(drop),
                _ => Ok(()),
            })?;
        finished.map_err(|error| error::store(&error))
    }

    /// Closes the file without a commit; uncommitted changes are lost.
    fn abandon(slf: &Bound<'_, Self>) -> PyResult<()> {
        let shared = &slf.as_super().get().shared;
        shared.replace(slf.py(), |state| drop(mem::replace(state, State::Closed)))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.as_super().get().shared.ask(slf.py(), |_| ()).map(|()| slf.clone())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() { Self::close(slf) } else { Self::abandon(slf) }
    }

    /// Whether the file is closed.
    #[getter]
    fn closed(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.as_super().get().shared.look(slf.py(), |state| matches!(state, State::Closed))
    }

    /// The name with which it was opened.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> PathBuf {
        slf.get().path.clone()
    }
}
