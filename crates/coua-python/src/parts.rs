//! Keys of several columns: each part after its length, as the library's tuples and the program's several columns.

use arrow_array::{Array, StructArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::column::{Column, add_arrow};
use crate::key::append;

/// One part of many keys.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    /// The end of each value; `None` if it is null. A value begins where the one before ends.
    ends: Vec<Option<usize>>,
}

impl Parts {
    fn push(&mut self, part: Option<&[u8]>) {
        self.bytes.extend(part.unwrap_or_default());
        self.ends.push(part.map(|_| self.bytes.len()));
    }

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
    fn reserve(&mut self, keys: usize) -> PyResult<()> {
        self.ends.reserve(keys);
        Ok(())
    }

    fn add_integers(&mut self, keys: impl Iterator<Item = u64>) {
        keys.for_each(|key| self.push(Some(&key.to_le_bytes())));
    }

    fn add_bytes<'a>(&mut self, keys: impl Iterator<Item = &'a [u8]>) {
        keys.for_each(|key| self.push(Some(key)));
    }

    fn add_null(&mut self) -> PyResult<()> {
        self.push(None);
        Ok(())
    }

    fn beside(&self) -> Self {
        Self::default()
    }

    fn gather(
        &mut self,
        values: Self,
        places: impl Iterator<Item = Option<usize>>,
    ) -> PyResult<()> {
        let values: Vec<_> = values.iter().collect();
        places.for_each(|place| self.push(place.and_then(|place| values[place])));
        Ok(())
    }

    fn add_rows(&mut self, _: &StructArray) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a column of structs cannot be a part of a key; use its fields as columns",
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
        if is_null {
            batch.add_null()?;
        } else {
            batch.add_bytes(std::iter::once(key.as_slice()));
        }
    }
    Ok(())
}
