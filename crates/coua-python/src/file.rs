//! `File`: a filter that lives in a file.

use std::mem;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use coua::window::Generations;
use coua_store::{Lock, Options as StoreOptions, Reason, StoreError, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use parking_lot::Mutex;

use crate::error;
use crate::filter::Filter;
use crate::opened::{self, Opened};
use crate::options::{Length, Options, check_empty, take};
use crate::state::State;
use crate::values::{FileName, Whole};

/// Between two tries for the lock: so often are signals looked at.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// A filter that lives in a file; `coua.open` gives it.
///
/// The file is as it was at the last commit, whatever happens. In a `with` statement the end of the block
/// commits, and an exception leaves the file as it was at the last commit.
#[pyclass(module = "coua", extends = Filter, frozen)]
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    /// Of a file that is open for writing.
    opened: Mutex<Option<Opened>>,
}

/// Opens the filter in a file, or makes a new one there.
///
/// One process writes at a time. `wait` says how many seconds to wait for another one: `True`, as long as it
/// takes; `False` or 0, not at all (`Locked`). A file that this process has open already is `Locked` at once: threads
/// share the filter. With `readonly=True` the last commit is asked, without waiting.
///
/// `capacity`, `rate`, and the keywords of `CuckooFilter` describe a new filter. A filter that exists must
/// agree with what is given. `window` (a length, such as `"7d"`) or `window_items` make one that forgets, with
/// `generations`, `clock`, and `window_by`, as `Window` has them (there it is `by`).
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
                         layout=\"buckets\", when_full=\"grow\", seed=0, key=None)")]
pub(crate) fn open(
    py: Python<'_>,
    path: FileName,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<File>> {
    let (FileName(path), keywords) = (path, keywords.map_or_else(|| PyDict::new(py), Clone::clone));
    let mut wanted = Options::take(&keywords)?;
    let length = take::<Length>(&keywords, "window")?;
    let items = take::<Whole<u64>>(&keywords, "window_items")?.map(|it| it.0);
    let by = take(&keywords, "window_by")?;
    let wait = take::<Bound<'_, PyAny>>(&keywords, "wait")?;
    let is_readonly = take(&keywords, "readonly")?.unwrap_or(false);
    wanted.take_window(length, items, by, &keywords)?;
    check_empty(&keywords)?;
    let mut options = StoreOptions::new();
    if let Some(key) = wanted.key() {
        options = options.key(key);
    }
    let (state, opened) = if is_readonly {
        let view = py.detach(|| options.read(&path)).map_err(|error| error::store(&error))?;
        (State::Read(view), None)
    } else {
        let lock = lock(py, &path, patience(wait.as_ref())?)?;
        let opened = Opened::new(lock.target());
        (written(py, &options, lock, &wanted)?, Some(opened))
    };
    wanted.agree_with(state.filter()).inspect_err(|error| {
        error.add_note(py, format!("(file {})", path.display())).ok();
    })?;
    let file = File { path, opened: Mutex::new(opened) };
    Py::new(py, PyClassInitializer::from(Filter::new(state)).add_subclass(file))
}

fn written(
    py: Python<'_>,
    options: &StoreOptions,
    lock: Lock,
    wanted: &Options,
) -> PyResult<State> {
    // Before the file is touched, so that what cannot be built leaves nothing.
    let new = if lock.is_new() { Some(wanted.build()?) } else { None };
    let store = py.detach(|| match new {
        Some(filter) => options.write_locked(lock, Some(move || filter)),
        None => options.write_locked(lock, None::<fn() -> Generations>),
    });
    store.map(|store| State::Written(Box::new(store))).map_err(|error| error::store(&error))
}

/// How long to wait for another writer; `None`: as long as it takes.
fn patience(wait: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    let Some(wait) = wait else { return Ok(None) };
    if let Ok(forever) = wait.cast::<PyBool>() {
        return Ok(if forever.is_true() { None } else { Some(Duration::ZERO) });
    }
    let seconds: f64 =
        wait.extract().map_err(|_| PyTypeError::new_err("wait is neither a bool nor a number"))?;
    let patience = Duration::try_from_secs_f64(seconds).map_err(error::value)?;
    Ok(Some(patience))
}

/// Tries again and again, so that a signal ends the wait.
fn lock(py: Python<'_>, path: &Path, patience: Option<Duration>) -> PyResult<Lock> {
    let begin = Instant::now();
    loop {
        opened::check(path)?;
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

impl File {
    fn finish(slf: &Bound<'_, Self>) -> PyResult<()> {
        let finished =
            slf.as_super().get().shared().replace(slf.py(), |state| {
                match mem::replace(state, State::Closed) {
                    State::Written(store) => store.finish().map(drop),
                    _ => Ok(()),
                }
            })?;
        slf.get().note_closed();
        finished.map_err(|error| error::store(&error))
    }

    fn note_closed(&self) {
        drop(self.opened.lock().take());
    }
}

#[pymethods]
impl File {
    /// Makes all changes so far durable.
    fn commit(slf: &Bound<'_, Self>) -> PyResult<()> {
        let commit = |state: &mut State| match state {
            State::Written(store) => store.commit(),
            _ => Ok(()),
        };
        let committed = slf.as_super().get().shared().change_long(slf.py(), commit)?;
        committed.map_err(|error| error::store(&error))
    }

    /// Commits, and lets go of the file. Closing once more does nothing.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::finish(slf)
    }

    /// Lets go of the file; what was not committed is lost.
    fn abandon(slf: &Bound<'_, Self>) -> PyResult<()> {
        let shared = slf.as_super().get().shared();
        shared.replace(slf.py(), |state| drop(mem::replace(state, State::Closed)))?;
        slf.get().note_closed();
        Ok(())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.as_super().get().described(slf.py(), |_| ()).map(|()| slf.clone())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() { Self::finish(slf) } else { Self::abandon(slf) }
    }

    /// Whether it was closed.
    #[getter]
    fn closed(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.as_super().get().shared().look(slf.py(), |state| matches!(state, State::Closed))
    }

    /// The name that it was opened by.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> PathBuf {
        slf.get().path.clone()
    }
}
