//! `Window`: a filter in memory that forgets by age.

use coua::window::Generations;
use coua_store::{Notes, View};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cuckoo::{from_bytes, read};
use crate::error::LoadError;
use crate::filter::Filter;
use crate::options::{Length, Options, check_empty};
use crate::values::{FileName, Secret};

/// A set of keys that forgets keys older than `length`, such as `"7d"` or a `timedelta`; or, with
/// `items=N`, all but the last N keys.
///
/// A key counts as seen for at least `length` after it was new, and for at most one generation (`length` /
/// `generations`) more. Its time is that of its arrival. With `clock="given"` keys have their own times
/// (`times`, or `advance`), and the latest so far is the present. With `by="last"` the time counts from
/// when `add` last saw the key, not from when it was new.
///
/// The other keywords are those of `CuckooFilter`; `capacity` and `max_items` apply to all
/// generations together.
///
/// >>> last = Window(items=1_000_000)
/// >>> last.add("kestrel"), last.add("kestrel")
/// (True, False)
#[pyclass(module = "coua", extends = Filter, frozen)]
#[derive(Debug)]
pub(crate) struct Window;

impl Window {
    pub(crate) fn of(filter: Generations, notes: &Notes) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Filter::in_memory(filter, notes)).add_subclass(Self)
    }
}

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (length = None, **keywords),
           text_signature = "(length=None, *, items=None, by=\"first\", generations=8, clock=\"arrival\", \
                             capacity=None, rate=None, max_items=None, hash_bits=None, \
                             when_full=\"grow\", seed=0, key=None)")]
    fn new(
        py: Python<'_>,
        length: Option<Length>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = keywords.map_or_else(|| PyDict::new(py), Clone::clone);
        let mut options = Options::take(&keywords)?;
        options.take_window(length, "", &keywords)?;
        check_empty(&keywords)?;
        Ok(Self::of(options.build()?, &Notes::default()))
    }

    /// Loads the window from a file of any coua program or package.
    #[staticmethod]
    #[pyo3(signature = (path, *, key = None))]
    fn load(py: Python<'_>, path: FileName, key: Option<Secret>) -> PyResult<Py<Self>> {
        let View { filter, notes, .. } = read(py, &path.0, key.map(|key| key.0))?;
        windowed(py, filter, &notes)
    }

    /// Loads a window from the result of `bytes(window)`, in any object that holds bytes.
    #[staticmethod]
    #[pyo3(signature = (data, *, key = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        key: Option<Secret>,
    ) -> PyResult<Py<Self>> {
        windowed(py, from_bytes(py, data, key)?, &Notes::default())
    }

    /// Items forgotten since the window was created or loaded.
    #[getter]
    fn forgotten(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.as_super().get().shared.ask(slf.py(), Generations::forgotten)
    }
}

fn windowed(py: Python<'_>, filter: Generations, notes: &Notes) -> PyResult<Py<Window>> {
    if filter.window().is_none() {
        return Err(LoadError::new_err("the filter has no window; load it with coua.CuckooFilter"));
    }
    Py::new(py, Window::of(filter, notes))
}
