//! `shards`: divides keys among runs and machines.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::batch::{Answers, Nulls};
use crate::collect::batch_of;
use crate::options::hasher;
use crate::values::{Secret, Whole};

/// The shard of each key, from 1 to `of`, as the program's `--shard 1/8` to `--shard 8/8`.
///
/// `null="skip"` puts nulls into the first shard, like the program's records without a key; otherwise
/// they are refused.
///
/// >>> shards(["a", "b", "c", "d"], 4)
/// array([1, 1, 1, 4], dtype=uint32)
#[pyfunction]
#[pyo3(signature = (keys, of, /, *, null = "error", seed = None, key = None))]
pub(crate) fn shards<'py>(
    keys: &Bound<'py, PyAny>,
    of: Whole<u32>,
    null: &str,
    seed: Option<Whole<u64>>,
    key: Option<Secret>,
) -> Answers<'py, u32> {
    let of = of.0;
    if of == 0 {
        return Err(PyValueError::new_err("cannot divide keys into 0 shards"));
    }
    let batch = batch_of(keys, hasher(seed, key)?.unwrap_or_default(), Nulls::named(null)?)?;
    let shards = batch.hashes().iter().map(|hash| hash.share(of) + 1).collect();
    Ok(PyArray1::from_vec(keys.py(), batch.spread(shards, 1)))
}
