//! `CuckooFilter`: a filter in memory.

use coua::window::Generations;
use coua_store::Notes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::filter::Filter;
use crate::options::{Options, check_empty};
use crate::values::Whole;

/// A set or multiset of keys, in a few bytes per key.
///
/// Without arguments it grows and keeps 64 bits of every key's hash: among a billion keys, 0.03 wrong answers
/// are expected. With `capacity` and `rate` it has a fixed size, and refuses more keys (`Full`).
///
/// Keywords: `max_items`, up to which the filter grows and keeps the rate; `hash_bits`, instead of a
/// rate; `when_full`, "grow", "error", or "exceed" to grow even beyond `max_items`; `seed`, or a secret `key` of
/// 16 bytes for hostile keys.
///
/// >>> seen = CuckooFilter(1_000_000, 0.001)
/// >>> seen.add("kestrel"), "kestrel" in seen, len(seen)
/// (True, True, 1)
/// >>> seen.memory_bytes < 1_800_000
/// True
#[pyclass(module = "coua", extends = Filter, frozen)]
#[derive(Debug)]
pub(crate) struct CuckooFilter;

impl CuckooFilter {
    pub(crate) fn of(filter: Generations, notes: &Notes) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Filter::in_memory(filter, notes)).add_subclass(Self)
    }
}

#[pymethods]
impl CuckooFilter {
    #[new]
    #[pyo3(signature = (capacity = None, rate = None, **keywords),
           text_signature = "(capacity=None, rate=None, *, max_items=None, hash_bits=None, \
                             when_full=\"grow\", seed=0, key=None)")]
    fn new(
        py: Python<'_>,
        capacity: Option<Whole<u64>>,
        rate: Option<f64>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = keywords.map_or_else(|| PyDict::new(py), Clone::clone);
        let mut options = Options::take(&keywords)?;
        (options.wanted.capacity, options.wanted.rate) = (capacity.map(|it| it.0), rate);
        check_empty(&keywords)?;
        Ok(Self::of(options.build()?, &Notes::default()))
    }
}
