//! `BloomFilter`: for sets that only grow.

use std::sync::Mutex;

use coua::bloom::BloomFilter as Plain;
use coua::sizing::bloom::BloomPlan;
use coua::{HashAlgorithm, KeyHash};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::batch::Nulls;
use crate::collect::batch_of;
use crate::error::{self, MergeError};
use crate::key;
use crate::options::Hashing;

/// A Bloom filter: a set that can neither count nor forget. Where 1 % of wrong answers will do, it is about as
/// small as a cuckoo filter; `plan` compares them.
///
/// >>> words = BloomFilter(1_000_000, 0.01)
/// >>> words.add("kestrel"), words.add("kestrel"), "kestrel" in words
/// (True, False, True)
#[pyclass(module = "coua", frozen)]
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
    fn new(items: u64, rate: f64, seed: Option<u64>, key: Option<[u8; 16]>) -> PyResult<Self> {
        let plan = BloomPlan::for_rate(items, rate).map_err(error::value)?;
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
        let other = other.get();
        self.filter.merge(&other.filter).map_err(|error| MergeError::new_err(error.to_string()))
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

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let filter = &slf.get().filter;
        let HashAlgorithm::Xxh3 { seed } = filter.hasher().algorithm() else {
            return Err(PyTypeError::new_err(
                "a filter with a secret key is not pickled, for the key would be in the pickle",
            ));
        };
        let data = PyBytes::new(slf.py(), &filter.to_bytes());
        let arguments = (filter.bits(), filter.probes(), seed, data);
        (slf.get_type().getattr("_of_bits")?, arguments).into_pyobject(slf.py())
    }

    /// The filter that was pickled.
    #[staticmethod]
    fn _of_bits(bits: u64, probes: u32, seed: u64, data: &[u8]) -> PyResult<Self> {
        let plan = BloomPlan::new(bits, probes).map_err(error::value)?;
        let hasher = coua::KeyHasher::xxh3(seed);
        Plain::from_bytes(plan, hasher, data).map(Self::of).map_err(error::value)
    }

    fn __repr__(&self) -> String {
        let (items, bytes) =
            (self.filter.count_estimate(), self.filter.memory_bytes() as f64 / 1e6);
        format!("BloomFilter(about {items:.0} items, {bytes:.1} MB)")
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
