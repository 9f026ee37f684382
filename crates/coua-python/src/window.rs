//! `Window`: a filter in memory that forgets by age.

use coua::window::Generations;
use coua_store::Notes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::filter::Filter;
use crate::options::{Length, Options, check_empty};

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

    /// Items forgotten since the window was created or loaded.
    #[getter]
    fn forgotten(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.as_super().get().shared.ask(slf.py(), Generations::forgotten)
    }
}
