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

/// A Bloom filter: a set that can neither count nor remove. At a rate of 1 % it is about as small as a cuckoo filter;
/// `plan` compares them.
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

    /// The union with an empty one: cloning has no error for a lack of memory.
    fn copied(&self) -> PyResult<Plain> {
        let plan = BloomPlan::new(self.filter.bits(), self.filter.probes());
        let empty = plan.and_then(|plan| Plain::from_plan(plan, self.filter.hasher()));
        let copy = empty.map_err(error::build_bloom)?;
        copy.merge(&self.filter).map_err(error::value)?;
        Ok(copy)
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
        let plan = BloomPlan::for_rate(items.0, rate).map_err(error::build_bloom)?;
        let hasher = Hashing::new(seed, key)?.hasher();
        Plain::from_plan(plan, hasher).map(Self::of).map_err(error::build_bloom)
    }

    /// Whether the key was added. Wrongly true for other keys, with probability `false_positive_rate`.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.filter.contains(key::hash(key, self.filter.hasher())?))
    }

    /// Adds the key. Returns whether it was new.
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.filter.hasher())?;
        Ok(self.filter.insert_unique(hash).is_new())
    }

    /// `add` for many keys: `True` for each new key.
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

    /// `add_many` without answers; `|=` if `keys` is a filter.
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

    /// Adds the keys of another filter with the same size, probes and seed.
    fn __ior__(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        let (py, other) = (other.py(), other.get());
        let merged = py.detach(|| self.filter.merge(&other.filter));
        merged.map_err(|error| MergeError::new_err(error.to_string()))
    }

    /// An independent copy.
    fn copy(&self) -> PyResult<Self> {
        self.copied().map(Self::of)
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy()
    }

    /// The union of two filters, as by `|=`.
    fn __or__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        let union = self.copy()?;
        union.__ior__(other)?;
        Ok(union)
    }

    /// The keys that both filters have. Finds slightly more keys than a filter with only these keys.
    fn __and__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        let (py, other) = (other.py(), other.get());
        let both = py.detach(|| {
            let mut both = self.copied()?;
            let merged = both.intersect(&other.filter);
            merged.map(|()| both).map_err(|error| MergeError::new_err(error.to_string()))
        });
        both.map(Self::of)
    }

    /// Removes all keys. Keys that another thread adds meanwhile may be lost.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| {
            let held = self.adding.lock();
            self.filter.clear();
            drop(held);
        });
    }

    /// Always true, even for an empty filter.
    #[expect(clippy::unused_self, reason = "Python asks an object")]
    fn __bool__(&self) -> bool {
        true
    }

    /// Whether both have the same size, probes and seed, and the same keys, in any order.
    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.filter == other.get().filter
    }

    /// Loads a filter from a file that `save` wrote.
    #[staticmethod]
    #[pyo3(signature = (path, *, key = None))]
    fn load(py: Python<'_>, path: FileName, key: Option<Secret>) -> PyResult<Self> {
        let bytes = py.detach(|| fs::read(&path.0));
        let bytes = bytes.map_err(|source| error::system(&path.0, &source, &source))?;
        read(&bytes, key).map(Self::of).inspect_err(|error| {
            error.add_note(py, format!("(file {})", path.0.display())).ok();
        })
    }

    /// Loads a filter from the result of `bytes(filter)`, in any object that holds bytes.
    #[staticmethod]
    #[pyo3(signature = (data, *, key = None))]
    fn from_bytes(data: &Bound<'_, PyAny>, key: Option<Secret>) -> PyResult<Self> {
        let bytes = buffer(data)?;
        let bytes = bytes.as_slice().map_err(error::value)?;
        read(bytes, key).map(Self::of)
    }

    /// Writes the filter to a file in one step: a reader sees the old file or the new one. Ctrl-C keeps the old file.
    fn save(&self, py: Python<'_>, path: FileName) -> PyResult<()> {
        let signals = Signals::new();
        let write = |file: &mut File| self.filter.write_to(signals.watch(file));
        py.detach(|| replace_file(&path.0, write))
            .map_err(|source| signals.or(|| error::system(&path.0, &source, &source)))
    }

    /// The bytes that `save` writes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| self.filter.write_to(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        if matches!(slf.get().filter.hasher().algorithm(), HashAlgorithm::SipHash13 { .. }) {
            return Err(PyTypeError::new_err(
                "a filter with a secret key cannot be pickled, because the pickle would contain the key; save it, and \
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

    /// The estimated number of different keys.
    #[getter]
    fn count_estimate(&self) -> f64 {
        self.filter.count_estimate()
    }

    /// The probability of finding a key that was never added, with the present keys.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        self.filter.false_positive_rate()
    }

    /// Bytes of memory.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.filter.memory_bytes()
    }
}

fn read(bytes: &[u8], key: Option<Secret>) -> PyResult<Plain> {
    let filter = Plain::load(bytes, key.as_ref().map(|key| key.0)).map_err(error::load)?;
    if key.is_some() && matches!(filter.hasher().algorithm(), HashAlgorithm::Xxh3 { .. }) {
        return Err(LoadError::new_err("the filter has no secret key; drop key="));
    }
    Ok(filter)
}
