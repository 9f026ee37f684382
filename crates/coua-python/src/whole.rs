//! A filter as a whole: copied, united with another one, as bytes, and in words.

use std::path::{Path, PathBuf};

use coua::window::{Generation, Generations};
use coua::{KeyHasher, Load};
use coua_store::{Access, Lock, Notes, Options, View, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::cuckoo::CuckooFilter;
use crate::error::{self, LoadError, MergeError};
use crate::file::File;
use crate::filter::Filter;
use crate::signals::{Signals, aside};
use crate::state::State;
use crate::values::{Secret, buffer, converted};
use crate::window::Window;

pub(crate) fn copy(filter: &Filter, py: Python<'_>) -> PyResult<Py<PyAny>> {
    in_memory(py, filter.copied(py)?, &filter.notes(py)?)
}

/// Changes a filter by another one; not by itself, which would change nothing.
type Combine = fn(&mut Generations, &Generations) -> PyResult<()>;

pub(crate) fn combine_into(
    filter: &Bound<'_, Filter>,
    other: &Bound<'_, Filter>,
    combine: Combine,
) -> PyResult<()> {
    if filter.is(other) {
        return Ok(());
    }
    let other = other.get().copied(other.py())?;
    filter.get().remake(filter.py(), move |filter| combine(filter, &other))
}

/// [`combine_into`] a copy.
pub(crate) fn combined(
    filter: &Filter,
    other: &Bound<'_, Filter>,
    combine: Combine,
) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let mut both = filter.copied(py)?;
    let other = other.get().copied(py)?;
    let both = aside(py, move || combine(&mut both, &other).map(|()| both))??;
    in_memory(py, both, &filter.notes(py)?)
}

/// The locks are taken in one order, so that two threads do not wait for each other.
pub(crate) fn equal(one: &Bound<'_, Filter>, other: &Bound<'_, Filter>) -> PyResult<bool> {
    if one.is(other) {
        return Ok(true);
    }
    let mut both = [&one.get().shared, &other.get().shared];
    both.sort_by_key(|shared| std::ptr::from_ref(*shared).addr());
    one.py()
        .detach(|| both[0].ask_detached(|one| both[1].ask_detached(|other| same(one, other))))?
}

fn same(one: &Generations, other: &Generations) -> bool {
    if let (Some(one), Some(other)) = (one.unbounded(), other.unbounded()) {
        return one == other;
    }
    let filled = |it: &Generation<'_>| !it.filter.is_empty();
    let mut others = other.generations().filter(filled);
    one.window() == other.window()
        && one.template() == other.template()
        && one.generations().filter(filled).all(|mine| {
            others.next().is_some_and(|it| it.number == mine.number && it.filter == mine.filter)
        })
        && others.next().is_none()
}

pub(crate) fn save(filter: &Filter, py: Python<'_>, path: &Path) -> PyResult<()> {
    let (copy, notes) = (filter.copied(py)?, filter.notes(py)?);
    let signals = Signals::new();
    let saved = py.detach(|| {
        let (lock, watch) = (Lock::take(path, Wait::No)?, signals.clone());
        Options::new().cancel_when(move || watch.end_it()).replace(lock, copy, notes)
    });
    saved.map_err(|error| signals.raised().unwrap_or_else(|| error::store(&error)))
}

pub(crate) fn bytes<'py>(filter: &Filter, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let copy = filter.copied(py)?;
    let write = move || {
        let mut bytes = Vec::new();
        copy.write_to(&mut bytes).map(|()| bytes)
    };
    Ok(PyBytes::new(py, &aside(py, write)??))
}

/// The last committed state of a file. It is read, not mapped: what happens to the file later must not end this process.
pub(crate) fn load(
    class: &Bound<'_, PyType>,
    path: PathBuf,
    key: Option<Secret>,
) -> PyResult<Py<PyAny>> {
    let options = Options::new().access(Access::Load).key(key.map(|key| key.0));
    let view = aside(class.py(), move || options.read(path))?;
    let View { filter, notes, .. } = view.map_err(|error| error::store(&error))?;
    of_class(class, filter, &notes)
}

pub(crate) fn from_bytes(
    class: &Bound<'_, PyType>,
    data: &Bound<'_, PyAny>,
    key: Option<Secret>,
) -> PyResult<Py<PyAny>> {
    let bytes = buffer(data)?;
    let bytes = bytes.as_slice().map_err(error::value)?;
    let load = Load::new().key(key.map(|key| key.0));
    let filter = class.py().detach(|| load.bytes::<Generations>(bytes)).map_err(error::load)?;
    of_class(class, filter, &Notes::default())
}

fn of_class(class: &Bound<'_, PyType>, filter: Generations, notes: &Notes) -> PyResult<Py<PyAny>> {
    let made = in_memory(class.py(), filter, notes)?;
    if made.bind(class.py()).is_instance(class)? {
        return Ok(made);
    }
    let found = made.bind(class.py()).get_type().name()?;
    Err(LoadError::new_err(format!("the filter is a {found}; load it with coua.{found}")))
}

pub(crate) fn pickled<'py>(filter: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyTuple>> {
    if matches!(filter.get().hasher, KeyHasher::SipHash13 { .. }) {
        return Err(PyTypeError::new_err(
            "a filter with a secret key cannot be pickled, because the pickle would contain the key; save it, and load \
             it with key=",
        ));
    }
    if filter.is_instance_of::<File>() {
        return Err(PyTypeError::new_err(
            "an open file cannot be pickled; pickle its copy(), or its path",
        ));
    }
    let from_bytes = filter.get_type().getattr("from_bytes")?;
    let arguments = (bytes(filter.get(), filter.py())?,);
    (from_bytes, arguments).into_pyobject(filter.py())
}

pub(crate) fn described<'py>(filter: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyAny>> {
    let (py, name) = (filter.py(), filter.get_type().name()?);
    let shared = &filter.get().shared;
    if shared.look(py, |state| matches!(state, State::Closed))? {
        return Ok(format!("<{name}: closed>").into_pyobject(py)?.into_any());
    }
    let numbers =
        |filter: &Generations| (filter.len(), filter.false_positive_rate(), filter.memory_bytes());
    let (items, rate, bytes) = shared.ask(py, numbers)?;
    converted("described", &(name, items, rate, bytes).into_pyobject(py)?.into_any())
}

/// As a `CuckooFilter` or a `Window`.
fn in_memory(py: Python<'_>, filter: Generations, notes: &Notes) -> PyResult<Py<PyAny>> {
    Ok(match filter.window() {
        Some(_) => Py::new(py, Window::of(filter, notes))?.into_any(),
        None => Py::new(py, CuckooFilter::of(filter, notes))?.into_any(),
    })
}

pub(crate) fn unite(filter: &mut Generations, other: &Generations) -> PyResult<()> {
    match (filter.unbounded_mut(), other.unbounded()) {
        (Some(into), Some(from)) => into.merge_unique(from),
        _ => filter.merge(other),
    }
    .map_err(|error| MergeError::new_err(error.to_string()))
}

pub(crate) fn intersect(filter: &mut Generations, other: &Generations) -> PyResult<()> {
    let (Some(into), Some(from)) = (filter.unbounded_mut(), other.unbounded()) else {
        return Err(MergeError::new_err(
            "windows cannot be intersected, because their keys have times",
        ));
    };
    into.intersect(from).map_err(|error| MergeError::new_err(error.to_string()))
}
