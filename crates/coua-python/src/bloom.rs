//! `BloomFilter`: for sets that only grow.

use std::fs::{self, File};
use std::sync::Mutex;

use coua::bloom::BloomFilter as Plain;
use coua::sizing::bloom::BloomPlan;
use coua::snapshot::replace_file;
use coua::{HashAlgorithm, KeyHash};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::batch::Nulls;
use crate::collect::batch_of;
use crate::error::{self, LoadError, MergeError};
use crate::key;
use crate::options::Hashing;
use crate::signals::Signals;
use crate::values::{FileName, Secret, Whole, buffer, rate, size};

/// A Bloom filter: a set that can neither count nor forget. Where 1 % of wrong answers will do, it is about as
/// small as a cuckoo filter; `plan` compares them.
///
/// >>> words = BloomFilter(1_000_000, 0.01)
/// >>> words.add("kestrel"), words.add("kestrel"), "kestrel" in words
/// (True, False, True)
#[pyclass(module = "coua", frozen, weakref)]
#[derive(Debug)]
pub(crate) struct BloomFilter {
    filter: Plain,
    /// Held while a batch is added, so that of equal keys in two batches one is new.
    adding: Mutex<()>,
}

impl BloomFilter {
    fn of(filter: Plain) -> Self {
        Self { filter, adding: Mutex::new(()) }
    }

    /// Answers a batch. `work` gets some of the keys.
    fn in_chunks<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
        work: impl Fn(&[KeyHash]) -> Vec<bool> + Sync,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let batch = batch_of(keys, self.filter.hasher(), Nulls::named(null)?)?;
        let outcome = batch.in_chunks(keys.py(), |chunk, answers| {
            answers.append(&mut work(&batch.hashes()[chunk]));
            Ok(Ok(()))
        })?;
        batch.answered(keys.py(), outcome)
    }
}

#[pymethods]
impl BloomFilter {
    #[new]
    #[pyo3(signature = (items, rate, *, seed = None, key = None))]
    fn new(
        items: Whole<u64>,
        rate: f64,
        seed: Option<Whole<u64>>,
        key: Option<Secret>,
    ) -> PyResult<Self> {
        let plan = BloomPlan::for_rate(items.0, rate).map_err(error::value)?;
        let hasher = Hashing::new(seed, key)?.hasher();
        Plain::from_plan(plan, hasher).map(Self::of).map_err(error::value)
    }

    /// Whether the key was added; another one may be taken for it.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.filter.contains(key::hash(key, self.filter.hasher())?))
    }

    /// Adds the key, and says whether it was new.
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.filter.hasher())?;
        Ok(self.filter.insert_unique(hash).is_new())
    }

    /// `add` for many keys: `True` where a key is new.
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn add_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.in_chunks(keys, null, |hashes| {
            let held = self.adding.lock();
            let outcomes = self.filter.insert_unique_batch(hashes);
            drop(held);
            outcomes.iter().map(|outcome| outcome.is_new()).collect()
        })
    }

    /// `add_many` without the answers; or `|=`, if `keys` are a filter.
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn update(&self, keys: &Bound<'_, PyAny>, null: &str) -> PyResult<()> {
        match keys.cast::<Self>() {
            Ok(other) => self.__ior__(other),
            Err(_) => self.add_many(keys, null).map(drop),
        }
    }

    /// `in` for many keys.
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.in_chunks(keys, null, |hashes| self.filter.contains_batch(hashes))
    }

    /// Adds the keys of another filter of the same size, probes and seed.
    fn __ior__(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        let (py, other) = (other.py(), other.get());
        let merged = py.detach(|| self.filter.merge(&other.filter));
        merged.map_err(|error| MergeError::new_err(error.to_string()))
    }

    /// A copy that does not change with this one.
    fn copy(&self) -> Self {
        Self::of(self.filter.clone())
    }

    fn __copy__(&self) -> Self {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.copy()
    }

    /// The union of two filters, as `|=` makes it.
    fn __or__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        let union = self.copy();
        union.__ior__(other)?;
        Ok(union)
    }

    /// A filter of the keys that both have. It may find a few more keys than one into which only these were added.
    fn __and__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        let (py, other) = (other.py(), other.get());
        let both = py.detach(|| {
            let mut both = self.filter.clone();
            both.intersect(&other.filter).map(|()| both)
        });
        both.map(Self::of).map_err(|error| MergeError::new_err(error.to_string()))
    }

    /// Removes all keys. One that another thread adds meanwhile may be lost.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| {
            let held = self.adding.lock();
            self.filter.clear();
            drop(held);
        });
    }

    /// Always true: a filter without keys is one too.
    #[expect(clippy::unused_self, reason = "Python asks an object")]
    fn __bool__(&self) -> bool {
        true
    }

    /// Whether both have the same size, probes and seed, and took the same keys, in whatever order.
    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.filter == other.get().filter
    }

    /// The filter in a file that `save` wrote.
    #[staticmethod]
    #[pyo3(signature = (path, *, key = None))]
    fn load(py: Python<'_>, path: FileName, key: Option<Secret>) -> PyResult<Self> {
        let bytes = py.detach(|| fs::read(&path.0));
        let bytes = bytes.map_err(|source| error::system(&path.0, &source, &source))?;
        read(&bytes, key).map(Self::of).inspect_err(|error| {
            error.add_note(py, format!("(file {})", path.0.display())).ok();
        })
    }

    /// The filter that `bytes(filter)` gave, of whatever holds them.
    #[staticmethod]
    #[pyo3(signature = (data, *, key = None))]
    fn from_bytes(data: &Bound<'_, PyAny>, key: Option<Secret>) -> PyResult<Self> {
        let bytes = buffer(data)?;
        let bytes = bytes.as_slice().map_err(error::value)?;
        read(bytes, key).map(Self::of)
    }

    /// Writes the filter to a file, in one step: a reader finds the old file or the new one. Ctrl-C leaves the old one.
    fn save(&self, py: Python<'_>, path: FileName) -> PyResult<()> {
        let signals = Signals::new();
        let write = |file: &mut File| self.filter.write_to(signals.watch(file));
        py.detach(|| replace_file(&path.0, write))
            .map_err(|source| signals.or(|| error::system(&path.0, &source, &source)))
    }

    /// What `save` would write.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| self.filter.write_to(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        if matches!(slf.get().filter.hasher().algorithm(), HashAlgorithm::SipHash13 { .. }) {
            return Err(PyTypeError::new_err(
                "a filter with a secret key is not pickled, for the key would be in the pickle: save it, and \
                 load it with key=",
            ));
        }
        let arguments = (slf.get().__bytes__(slf.py())?,);
        (slf.get_type().getattr("from_bytes")?, arguments).into_pyobject(slf.py())
    }

    fn __repr__(&self) -> String {
        let (items, rate) = (self.filter.count_estimate(), rate(self.filter.false_positive_rate()));
        let size = size(self.filter.memory_bytes() as f64);
        format!("<BloomFilter: about {items:.0} items, false positive rate {rate}, {size}>")
    }

    /// How many different keys were added, estimated.
    #[getter]
    fn count_estimate(&self) -> f64 {
        self.filter.count_estimate()
    }

    /// The probability that a key which was never added is found, with the keys of now.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        self.filter.false_positive_rate()
    }

    /// Bytes of memory that the filter takes.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.filter.memory_bytes()
    }
}

fn read(bytes: &[u8], key: Option<Secret>) -> PyResult<Plain> {
    let filter = Plain::load(bytes, key.as_ref().map(|key| key.0)).map_err(error::load)?;
    if key.is_some() && matches!(filter.hasher().algorithm(), HashAlgorithm::Xxh3 { .. }) {
        return Err(LoadError::new_err("the filter has no secret key: leave key out"));
    }
    Ok(filter)
}
