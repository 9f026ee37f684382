//! numpy and Arrow arrays as keys.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};
use numpy::{
    PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyArrayReader};

use crate::batch::Batch;
use crate::column::{Column, add_arrow};
use crate::error;
use crate::values::converted;

/// Keys that are hashed between two checks for signals.
const SLICE: usize = 1 << 20;

/// Adds the keys of a numpy array, as `_convert.py` prepares them.
pub(crate) fn add_numpy(batch: &mut Batch, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    let key_of: fn(&[u8]) -> &[u8] =
        if array.dtype().kind() == b'S' { unpadded } else { |row| row };
    let prepared = converted("plain_numpy", array.as_any())?;
    if let Ok(numbers) = prepared.cast::<PyArray1<u64>>() {
        add_integers(batch, numbers)
    } else if let Ok(rows) = prepared.cast::<PyArray2<u8>>() {
        add_fixed_width(batch, rows, key_of)
    } else {
        batch.add_items(&prepared)
    }
}

/// Keys of 64 bits.
fn add_integers(batch: &mut Batch, numbers: &Bound<'_, PyArray1<u64>>) -> PyResult<()> {
    batch.reserve(numbers.len())?;
    let (py, numbers) = (numbers.py(), numbers.readonly());
    let Ok(keys) = numbers.as_slice() else {
        batch.add_integers(numbers.as_array().iter().copied());
        return Ok(());
    };
    in_slices(py, keys.len(), |slice| {
        batch.add_integers(keys[slice].iter().copied());
        Ok(())
    })
}

/// Works through keys without the interpreter, and looks at the signals on the way. `work` gets the numbers of some.
fn in_slices(
    py: Python<'_>,
    keys: usize,
    mut work: impl FnMut(Range<usize>) -> PyResult<()> + Send,
) -> PyResult<()> {
    for begin in (0..keys).step_by(SLICE) {
        py.detach(|| work(begin..keys.min(begin + SLICE)))?;
        py.check_signals()?;
    }
    Ok(())
}

/// Keys of one length in bytes.
fn add_fixed_width(
    batch: &mut Batch,
    rows: &Bound<'_, PyArray2<u8>>,
    key_of: fn(&[u8]) -> &[u8],
) -> PyResult<()> {
    let (py, keys, width) = (rows.py(), rows.shape()[0], rows.shape()[1]);
    batch.reserve(keys)?;
    let rows = rows.readonly();
    let rows = rows.as_slice().map_err(error::value)?;
    in_slices(py, keys, |slice| {
        let rows = rows[slice.start * width..slice.end * width].chunks_exact(width);
        batch.add_bytes(rows.map(key_of));
        Ok(())
    })
}

/// A row of `S`, which ends before the zeros at its end.
fn unpadded(key: &[u8]) -> &[u8] {
    let end = key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &key[..end]
}

/// The keys of an object with `__arrow_c_array__`.
pub(crate) fn add_arrow_array(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let array = keys.extract::<PyArray>()?;
    add_in_slices(keys.py(), batch, array.array())
}

/// A dictionary is looked at as a whole, for its values would be in each slice.
fn add_in_slices(py: Python<'_>, batch: &mut Batch, array: &ArrayRef) -> PyResult<()> {
    if matches!(array.data_type(), DataType::Dictionary(..)) {
        return py.detach(|| add_arrow(batch, array));
    }
    batch.reserve(array.len())?;
    in_slices(py, array.len(), |slice| add_arrow(batch, &array.slice(slice.start, slice.len())))
}

/// The keys of an object with `__arrow_c_stream__`, array by array.
pub(crate) fn add_arrow_stream(batch: &mut Batch, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    // Of the first polars hands on the addresses, and others have no name in Arrow.
    let kind = keys.getattr("dtype").map_or_else(|_| String::new(), |dtype| dtype.to_string());
    if ["Object", "Int128", "UInt128"].contains(&&*kind) {
        return Err(PyTypeError::new_err(format!(
            "a column of {kind} has no keys (strings, binary and integers are); use column.to_list()"
        )));
    }
    let stream = keys.extract::<PyArrayReader>()?;
    // Nulls of polars have a buffer, which Arrow's own must not have.
    if stream.field_ref()?.data_type() == &DataType::Null {
        return (0..keys.len()?).try_for_each(|_| batch.add_null());
    }
    let mut arrays = stream.into_reader()?;
    loop {
        let Some(array) = keys.py().detach(|| arrays.next()) else { return Ok(()) };
        add_in_slices(keys.py(), batch, &array.map_err(|error| broken_stream(&error))?)?;
        keys.py().check_signals()?;
    }
}

fn broken_stream(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow stream of keys failed: {error}"))
}
