//! A filter as a whole: copied, united with another one, as bytes, and in words.

use std::path::Path;

use coua::HashAlgorithm;
use coua::window::Generations;
use coua_store::{Lock, Notes, Options, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::cuckoo::CuckooFilter;
use crate::error::{self, MergeError};
use crate::filter::Filter;
use crate::opened;
use crate::state::State;
use crate::window::Window;

pub(crate) fn copy(filter: &Filter, py: Python<'_>) -> PyResult<Py<PyAny>> {
    in_memory(py, filter.copied(py)?, &filter.notes(py)?)
}

pub(crate) fn unite_into(filter: &Bound<'_, Filter>, other: &Bound<'_, Filter>) -> PyResult<()> {
    if filter.is(other) {
        return Ok(());
    }
    let other = other.get().copied(other.py())?;
    filter.get().change(filter.py(), |filter| unite(filter, &other))?
}

pub(crate) fn union(filter: &Filter, other: &Bound<'_, Filter>) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let mut union = filter.copied(py)?;
    let other = other.get().copied(py)?;
    py.detach(|| unite(&mut union, &other))?;
    in_memory(py, union, &filter.notes(py)?)
}

pub(crate) fn save(filter: &Filter, py: Python<'_>, path: &Path) -> PyResult<()> {
    opened::check(path)?;
    let (copy, notes) = (filter.copied(py)?, filter.notes(py)?);
    let saved = py.detach(|| {
        let lock = Lock::take(path, Wait::No)?;
        Options::new().replace(lock, copy, notes)
    });
    saved.map_err(|error| error::store(&error))
}

pub(crate) fn bytes<'py>(filter: &Filter, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let copy = filter.copied(py)?;
    let mut bytes = Vec::new();
    py.detach(|| copy.write_to(&mut bytes))?;
    Ok(PyBytes::new(py, &bytes))
}

pub(crate) fn pickled<'py>(filter: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyTuple>> {
    if matches!(filter.get().hasher().algorithm(), HashAlgorithm::SipHash13 { .. }) {
        return Err(PyTypeError::new_err(
            "a filter with a secret key is not pickled, for the key would be in the pickle: save it, and load \
             it with key=",
        ));
    }
    // A file has none.
    let Ok(from_bytes) = filter.get_type().getattr("from_bytes") else {
        return Err(PyTypeError::new_err(
            "an open file is not pickled: pickle its copy(), or its path",
        ));
    };
    let arguments = (bytes(filter.get(), filter.py())?,);
    (from_bytes, arguments).into_pyobject(filter.py())
}

pub(crate) fn described(filter: &Bound<'_, Filter>) -> PyResult<String> {
    let (py, name) = (filter.py(), filter.get_type().name()?.to_string());
    let filter = filter.get();
    let is_closed = |state: &State| matches!(state, State::Closed);
    if filter.shared().look(py, is_closed)? {
        return Ok(format!("{name}(closed)"));
    }
    filter.described(py, |filter| {
        let (items, rate) = (filter.len(), filter.false_positive_rate());
        let megabytes = filter.memory_bytes() as f64 / 1e6;
        format!("{name}({items} items, false positive rate {rate:.1e}, {megabytes:.1} MB)")
    })
}

/// As a `CuckooFilter` or a `Window`.
fn in_memory(py: Python<'_>, filter: Generations, notes: &Notes) -> PyResult<Py<PyAny>> {
    Ok(match filter.window() {
        Some(_) => Py::new(py, Window::of(filter, notes))?.into_any(),
        None => Py::new(py, CuckooFilter::of(filter, notes))?.into_any(),
    })
}

fn unite(filter: &mut Generations, other: &Generations) -> PyResult<()> {
    match (filter.unbounded_mut(), other.unbounded()) {
        (Some(into), Some(from)) => into.merge_unique(from),
        _ => filter.merge(other),
    }
    .map_err(|error| MergeError::new_err(error.to_string()))
}
