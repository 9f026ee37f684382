//! Converts Python collections of keys to batches.

use coua::KeyHasher;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array;
use crate::batch::{Batch, Nulls};
use crate::values::converted;

/// The keys of an array of numpy, an array or stream of Arrow, a column or table of pandas, or anything that can be
/// iterated over.
pub(crate) fn batch_of(
    keys: &Bound<'_, PyAny>,
    hasher: KeyHasher,
    nulls: Nulls,
) -> PyResult<Batch> {
    let mut batch = Batch::new(hasher, nulls);
    let converted = converted("plain_keys", keys)?;
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
