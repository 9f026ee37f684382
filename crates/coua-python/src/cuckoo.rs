//! `CuckooFilter`: a filter in memory.

use coua::window::Generations;
use coua_store::{Access, Notes, Options as StoreOptions, View};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, LoadError};
use crate::filter::Filter;
use crate::options::{Options, check_empty};
use crate::signals::aside;
use crate::values::{FileName, Secret, Whole, buffer};

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

    /// Loads the filter from a file of any coua program or package. Changes do not affect the file until you `save` it
    /// again; `coua.open` works on the file itself.
    #[staticmethod]
    #[pyo3(signature = (path, *, key = None))]
    fn load(py: Python<'_>, path: FileName, key: Option<Secret>) -> PyResult<Py<Self>> {
        let View { filter, notes, .. } = read(py, &path.0, key.map(|key| key.0))?;
        plain(py, filter, &notes)
    }

    /// Loads a filter from the result of `bytes(filter)`, as `bytes`, a `memoryview` or an `mmap`.
    #[staticmethod]
    #[pyo3(signature = (data, *, key = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        key: Option<Secret>,
    ) -> PyResult<Py<Self>> {
        plain(py, from_bytes(py, data, key)?, &Notes::default())
    }
}

fn plain(py: Python<'_>, filter: Generations, notes: &Notes) -> PyResult<Py<CuckooFilter>> {
    if filter.window().is_some() {
        return Err(LoadError::new_err("the filter has a window; load it with coua.Window"));
    }
    Py::new(py, CuckooFilter::of(filter, notes))
}

/// The last committed state of a file. It is read, not mapped: what happens to the file later must not
/// end this process.
pub(crate) fn read(
    py: Python<'_>,
    path: &std::path::Path,
    key: Option<[u8; 16]>,
) -> PyResult<View> {
    let mut options = StoreOptions::new().access(Access::Load);
    if let Some(key) = key {
        options = options.key(key);
    }
    let path = path.to_owned();
    aside(py, move || options.read(path))?.map_err(|error| error::store(&error))
}

pub(crate) fn from_bytes(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    key: Option<Secret>,
) -> PyResult<Generations> {
    let bytes = buffer(data)?;
    let bytes = bytes.as_slice().map_err(error::value)?;
    let load = coua::Load::new().key(key.map(|key| key.0));
    py.detach(|| load.bytes::<Generations>(bytes)).map_err(error::load)
}
