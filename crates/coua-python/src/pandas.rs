//! Columns of pandas as keys. Without pyarrow they do not speak Arrow.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array;
use crate::batch::Batch;

/// pandas, if it was imported: otherwise nothing is of it.
pub(crate) fn pandas(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.get_item("pandas")
}

/// The keys of a Series or an Index; whether it is one.
pub(crate) fn add_column(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(pandas) = pandas(keys.py())? else { return Ok(false) };
    if keys.is_instance(&pandas.getattr("DataFrame")?)? {
        return Err(PyTypeError::new_err(
            "a table or struct has no keys: give one column of it, such as frame[\"url\"]",
        ));
    }
    if !keys.is_instance(&pandas.getattr("Series")?)?
        && !keys.is_instance(&pandas.getattr("Index")?)?
    {
        return Ok(false);
    }
    let dtype = keys.getattr("dtype")?;
    if dtype.is_instance(&keys.py().import("numpy")?.getattr("dtype")?)? {
        let array = keys.call_method0("to_numpy")?;
        let array = array.cast::<PyUntypedArray>()?;
        if array.dtype().getattr("kind")?.extract::<char>()? != 'O' {
            array::add_numpy(batch, array)?;
            return Ok(true);
        }
    } else if keys.hasattr("__arrow_c_stream__")? {
        match array::add_arrow_stream(batch, keys) {
            Err(error) if error.is_instance_of::<PyImportError>(keys.py()) => {}
            done => return done.map(|()| true),
        }
    }
    add_objects(batch, keys)?;
    Ok(true)
}

/// Item by item; what pandas takes for missing is null.
fn add_objects(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let objects = keys.call_method1("astype", ("object",))?;
    let present = keys.call_method0("notna")?;
    batch.add_items(&objects.call_method1("where", (present, keys.py().None()))?)
}
