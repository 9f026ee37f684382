//! Filters as a whole: compared, united, and as the Python class that they are of.

use coua::window::{Generation, Generations};
use coua_store::Notes;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::cuckoo::CuckooFilter;
use crate::error::{LoadError, MergeError};
use crate::filter::Filter;
use crate::signals::aside;
use crate::window::Window;

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

/// Whether both have the same parameters, and the same items in the same places.
pub(crate) fn same(one: &Generations, other: &Generations) -> bool {
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

/// The filter as a Python object, if that is of the class.
pub(crate) fn of_class(
    class: &Bound<'_, PyType>,
    filter: Generations,
    notes: &Notes,
) -> PyResult<Py<PyAny>> {
    let made = in_memory(class.py(), filter, notes)?;
    if made.bind(class.py()).is_instance(class)? {
        return Ok(made);
    }
    let found = made.bind(class.py()).get_type().name()?;
    Err(LoadError::new_err(format!("the filter is a {found}; load it with coua.{found}")))
}

/// As a `CuckooFilter` or a `Window`.
pub(crate) fn in_memory(py: Python<'_>, filter: Generations, notes: &Notes) -> PyResult<Py<PyAny>> {
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
