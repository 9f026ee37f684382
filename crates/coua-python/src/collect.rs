//! Converts Python collections of keys to batches.

use coua::KeyHasher;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::array;
use crate::batch::{Batch, Nulls};
use crate::convert::converted;

/// The keys of an array of numpy, an array or stream of Arrow, a column or table of pandas, or anything that can be
/// iterated over.
pub(crate) fn batch_of(
    keys: &Bound<'_, PyAny>,
    hasher: KeyHasher,
    nulls: Nulls,
) -> PyResult<Batch> {
    refuse_single(keys)?;
    refuse_lazy(keys)?;
    let mut batch = Batch::new(hasher, nulls);
    let converted = converted("keys_of_pandas", keys)?;
    let keys = if converted.is_none() { keys } else { &converted };
    if let Ok(array) = keys.cast::<PyUntypedArray>() {
        array::add_numpy(&mut batch, array)?;
    } else if keys.hasattr("__arrow_c_array__")? {
        array::add_arrow_array(&mut batch, keys)?;
    } else if keys.hasattr("__arrow_c_stream__")? {
        array::add_arrow_stream(&mut batch, keys)?;
    } else {
        batch.add_items(keys)?;
    }
    Ok(batch)
}

/// Values that polars has yet to compute.
fn refuse_lazy(keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let kind = keys.get_type();
    let (module, name) = (kind.module()?, kind.name()?);
    let is_lazy =
        module.to_str()?.starts_with("polars.") && (name == "LazyFrame" || name == "Expr");
    if !is_lazy {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "{name} has no values yet; collect a column first, such as frame.select(\"url\").collect()[\"url\"]"
    )))
}

/// Text and bytes can be iterated over too, which is never meant.
fn refuse_single(keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_single = keys.is_instance_of::<PyString>()
        || keys.is_instance_of::<PyBytes>()
        || keys.is_instance_of::<PyByteArray>()
        || keys.is_instance_of::<PyMemoryView>();
    if !is_single {
        return Ok(());
    }
    let kind = keys.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{kind} is one key, but a batch needs many; use a list of keys, or an array"
    )))
}
