//! Columns of Arrow.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

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

/// Adds the values of an array.
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
