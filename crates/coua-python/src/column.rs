//! Columns of Arrow, and keys of several columns: each part after its length, as the library's tuples and the program's
//! several columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::key::append;

/// The kind of keys from a column of Arrow.
pub(crate) trait Column {
    /// What is added for bytes.
    type Value<'a>: Copy;

    /// Reserves room for more values.
    fn reserve(&mut self, values: usize) -> PyResult<()>;
    /// Values of 64 bits.
    fn add_integers(&mut self, values: impl Iterator<Item = u64>);
    /// The value of bytes.
    fn value<'a>(&self, bytes: &'a [u8]) -> Self::Value<'a>;
    /// A value; `None` if it is missing.
    fn push(&mut self, value: Option<Self::Value<'_>>) -> PyResult<()>;
    /// Rows of several columns.
    fn add_rows(&mut self, rows: &StructArray) -> PyResult<()>;
}

/// Adds the values of an array.
pub(crate) fn add_arrow(batch: &mut impl Column, array: &ArrayRef) -> PyResult<()> {
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
        DataType::Null => (0..array.len()).try_for_each(|_| batch.push(None)),
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
        batch.push(value.map(|value| batch.value(bytes(value))))?;
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
            None => batch.push(None)?,
        }
    }
    Ok(())
}

/// Each value is looked at once, however often it occurs.
fn add_dictionary(batch: &mut impl Column, array: &ArrayRef) -> PyResult<()> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return (0..array.len()).try_for_each(|_| batch.push(None));
    }
    let mut parts = Parts::default();
    add_arrow(&mut parts, dictionary.values())?;
    let values: Vec<_> = parts.iter().map(|part| part.map(|part| batch.value(part))).collect();
    let nulls = dictionary.keys().nulls();
    for (row, place) in dictionary.normalized_keys().into_iter().enumerate() {
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        batch.push(values[place].filter(|_| !is_null))?;
    }
    Ok(())
}

/// The bytes of many values: a part of each key, or the values of a dictionary.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    /// The end of each value; `None` if it is null. A value begins where the one before ends.
    ends: Vec<Option<usize>>,
}

impl Parts {
    /// All in their order.
    fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let part = end.map(|end| &self.bytes[begin..end]);
            begin = end.unwrap_or(begin);
            part
        })
    }
}

impl Column for Parts {
    type Value<'a> = &'a [u8];

    fn reserve(&mut self, keys: usize) -> PyResult<()> {
        self.ends.reserve(keys);
        Ok(())
    }

    fn add_integers(&mut self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            self.bytes.extend(key.to_le_bytes());
            self.ends.push(Some(self.bytes.len()));
        }
    }

    fn value<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes
    }

    fn push(&mut self, part: Option<&[u8]>) -> PyResult<()> {
        self.bytes.extend(part.unwrap_or_default());
        self.ends.push(part.map(|_| self.bytes.len()));
        Ok(())
    }

    fn add_rows(&mut self, _: &StructArray) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a column of structs cannot be a part of a key, or a dictionary; use its fields as columns",
        ))
    }
}

/// The rows of a table, or of a column of structs. One with a null in it is null.
pub(crate) fn add_rows(batch: &mut impl Column, rows: &StructArray) -> PyResult<()> {
    let mut columns = Vec::with_capacity(rows.num_columns());
    for column in rows.columns() {
        let mut parts = Parts::default();
        add_arrow(&mut parts, column)?;
        columns.push(parts);
    }
    let mut columns: Vec<_> = columns.iter().map(Parts::iter).collect();
    let mut key = Vec::new();
    for row in 0..rows.len() {
        key.clear();
        let mut is_null = rows.is_null(row);
        for column in &mut columns {
            match column.next().flatten() {
                Some(part) => append(part, &mut key),
                None => is_null = true,
            }
        }
        batch.push((!is_null).then(|| batch.value(&key)))?;
    }
    Ok(())
}
