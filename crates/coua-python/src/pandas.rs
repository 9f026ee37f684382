//! pandas columns as keys. Without pyarrow they do not support Arrow.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{self, Column};
use crate::batch::Batch;

/// pandas, if it was imported: otherwise nothing is of it.
pub(crate) fn pandas(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.get_item("pandas")
}

/// The keys of a Series or an Index; whether it is one.
pub(crate) fn add_column(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(pandas) = pandas(keys.py())? else { return Ok(false) };
    if keys.is_instance(&pandas.getattr("DataFrame")?)? {
        return add_table(batch, keys).map(|()| true);
    }
    if keys.is_instance(&pandas.getattr("MultiIndex")?)? {
        let options = PyDict::new(keys.py());
        options.set_item("index", false)?;
        options.set_item("allow_duplicates", true)?;
        let table = keys.call_method("to_frame", (), Some(&options))?;
        return add_table(batch, &table).map(|()| true);
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

/// Its rows, without the index.
fn add_table(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    if keys.getattr("columns")?.len()? < 2 {
        return Err(PyTypeError::new_err(
            "a table of one column has no keys; use the column, such as frame[\"url\"]",
        ));
    }
    let by_row = PyDict::new(keys.py());
    by_row.set_item("axis", 1)?;
    let is_null = keys.call_method0("isna")?.call_method("any", (), Some(&by_row))?;
    let options = PyDict::new(keys.py());
    options.set_item("index", false)?;
    options.set_item("name", keys.py().None())?;
    let rows = keys.call_method("itertuples", (), Some(&options))?;
    for (row, is_null) in rows.try_iter()?.zip(is_null.try_iter()?) {
        if is_null?.is_truthy()? { batch.add_null()? } else { batch.add_item(&row?)? }
    }
    Ok(())
}

/// Item by item; values that pandas treats as missing are null.
fn add_objects(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let objects = keys.call_method1("astype", ("object",))?;
    let present = keys.call_method0("notna")?;
    batch.add_items(&objects.call_method1("where", (present, keys.py().None()))?)
}
