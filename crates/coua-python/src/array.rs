//! numpy and Arrow arrays as keys.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType};
use numpy::{
    PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyArrayReader};

use crate::batch::Batch;
use crate::collect::converted;
use crate::error;

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

/// The kind of keys from a column of Arrow.
pub(crate) trait Column: Sized {
    /// Reserves room for more values.
    fn reserve(&mut self, values: usize) -> PyResult<()>;
    /// Values of 64 bits.
    fn add_integers(&mut self, values: impl Iterator<Item = u64>);
    /// Values of bytes.
    fn add_bytes<'a>(&mut self, values: impl Iterator<Item = &'a [u8]>);
    /// A value that is missing.
    fn add_null(&mut self) -> PyResult<()>;
    /// An empty one, whose nulls are found later, for values that are [gathered](Self::gather).
    fn beside(&self) -> Self;
    /// Those of `values` that are at `places`.
    fn gather(&mut self, values: Self, places: impl Iterator<Item = Option<usize>>)
    -> PyResult<()>;
    /// Rows of several columns.
    fn add_rows(&mut self, rows: &StructArray) -> PyResult<()>;
}

pub(crate) fn add_arrow<C: Column>(batch: &mut C, array: &ArrayRef) -> PyResult<()> {
    batch.reserve(array.len())?;
    match array.data_type() {
        DataType::Utf8 => add_values(batch, array.as_string::<i32>().iter(), str::as_bytes),
        DataType::LargeUtf8 => add_values(batch, array.as_string::<i64>().iter(), str::as_bytes),
        DataType::Utf8View => add_values(batch, array.as_string_view().iter(), str::as_bytes),
        DataType::Binary => add_values(batch, array.as_binary::<i32>().iter(), |key| key),
        DataType::LargeBinary => add_values(batch, array.as_binary::<i64>().iter(), |key| key),
        DataType::BinaryView => add_values(batch, array.as_binary_view().iter(), |key| key),
        DataType::FixedSizeBinary(_) => {
            add_values(batch, array.as_fixed_size_binary().iter(), |key| key)
        }
        DataType::UInt64 => add_numbers::<UInt64Type>(batch, array),
        DataType::UInt32 => add_numbers::<UInt32Type>(batch, array),
        DataType::UInt16 => add_numbers::<UInt16Type>(batch, array),
        DataType::UInt8 => add_numbers::<UInt8Type>(batch, array),
        DataType::Int64 => add_numbers::<Int64Type>(batch, array),
        DataType::Int32 => add_numbers::<Int32Type>(batch, array),
        DataType::Int16 => add_numbers::<Int16Type>(batch, array),
        DataType::Int8 => add_numbers::<Int8Type>(batch, array),
        DataType::Dictionary(..) => add_dictionary(batch, array),
        DataType::Null => (0..array.len()).try_for_each(|_| batch.add_null()),
        DataType::Struct(columns) if columns.len() > 1 => batch.add_rows(array.as_struct()),
        DataType::Struct(_) => Err(PyTypeError::new_err(
            "a table of one column has no keys; use the column, such as frame[\"url\"]",
        )),
        other => Err(PyTypeError::new_err(format!(
            "an Arrow array of {other} has no keys (integers, strings and binary are): {}",
            advice(other)
        ))),
    }
}

fn advice(other: &DataType) -> String {
    let castable = match other {
        DataType::Date32 | DataType::Time32(_) => "int32",
        DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => "int64",
        DataType::Boolean => "uint8",
        DataType::RunEndEncoded(..) => return "decode its runs first".to_owned(),
        other if other.is_nested() => return "make strings or binary of its items".to_owned(),
        _ => "string",
    };
    format!("cast it to {castable}")
}

fn add_values<'a, T: ?Sized + 'a>(
    batch: &mut impl Column,
    values: impl Iterator<Item = Option<&'a T>>,
    bytes: impl Fn(&'a T) -> &'a [u8],
) -> PyResult<()> {
    for value in values {
        match value {
            Some(value) => batch.add_bytes(std::iter::once(bytes(value))),
            None => batch.add_null()?,
        }
    }
    Ok(())
}

/// Integers of any width; a negative one is its two's complement of 64 bits.
fn add_numbers<T: ArrowPrimitiveType<Native: Into<i128>>>(
    batch: &mut impl Column,
    array: &ArrayRef,
) -> PyResult<()> {
    let bits = |key: T::Native| -> u64 { key.into() as u64 };
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        batch.add_integers(array.values().iter().map(|key| bits(*key)));
        return Ok(());
    }
    for key in array {
        match key {
            Some(key) => batch.add_integers(std::iter::once(bits(key))),
            None => batch.add_null()?,
        }
    }
    Ok(())
}

/// Each value is looked at once, however often it occurs.
fn add_dictionary<C: Column>(batch: &mut C, array: &ArrayRef) -> PyResult<()> {
    let dictionary = array.as_any_dictionary();
    let mut values = batch.beside();
    add_arrow(&mut values, dictionary.values())?;
    let nulls = dictionary.keys().nulls();
    let places = dictionary.normalized_keys().into_iter().enumerate();
    let place = |(row, place)| {
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        (!is_null).then_some(place)
    };
    batch.gather(values, places.map(place))
}
