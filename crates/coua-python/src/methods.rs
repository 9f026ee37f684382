//! The methods of `Filter`.

use std::path::PathBuf;

use coua::window::{Clock, Generations, When};
use coua::{HashAlgorithm, Insertion};
use coua_store::{Lock, Options, Runs, Wait};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::cuckoo::CuckooFilter;
use crate::error::{self, MergeError};
use crate::filter::Filter;
use crate::key;
use crate::state::{Access, Keys, State};
use crate::window::Window;

fn when(times: Option<&Vec<u64>>) -> When<'_> {
    times.map_or(When::Now, |times| When::Each(times))
}

#[pymethods]
impl Filter {
    /// Whether the key was added. Another key may be taken for it, with probability
    /// `false_positive_rate`.
    ///
    /// >>> "kestrel" in CuckooFilter()
    /// False
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher())?;
        Ok(self.lock_for(key.py(), Access::Ask)?.contains(hash))
    }

    /// Adds the key if it is not there, and says whether it was new.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("kestrel"), seen.add("kestrel")
    /// (True, False)
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher())?;
        let outcome = self.lock_for(key.py(), Access::Change)?.insert_unique(hash);
        match outcome {
            Ok(outcome) => Ok(outcome == Insertion::Inserted),
            Err(full) => Err(error::refused_key(key.py(), full)),
        }
    }

    /// Adds a copy of the key, whether it is there or not.
    ///
    /// >>> words = CuckooFilter()
    /// >>> for word in ["a", "b", "a"]: words.insert(word)
    /// >>> words.count("a")
    /// 2
    #[pyo3(signature = (key, /))]
    fn insert(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let hash = key::hash(key, self.hasher())?;
        let done = self.lock_for(key.py(), Access::Change)?.insert_batch(Keys::now(&[hash]));
        done.map_err(|stopped| error::refused_key(key.py(), stopped.full))
    }

    /// Takes a copy of the key away, and says whether there was one.
    ///
    /// Discard only what was added: another key, which never was, may be taken for one that was.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("kestrel"), seen.discard("kestrel"), seen.discard("kestrel")
    /// (True, True, False)
    #[pyo3(signature = (key, /))]
    fn discard(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher())?;
        Ok(self.lock_for(key.py(), Access::Change)?.remove(hash))
    }

    /// How many copies of the key there are.
    ///
    /// >>> CuckooFilter().count("kestrel")
    /// 0
    #[pyo3(signature = (key, /))]
    fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let hash = key::hash(key, self.hasher())?;
        let counts = self.lock_for(key.py(), Access::Ask)?.count_batch(&[hash]);
        Ok(counts[0])
    }

    /// `add` for many keys: `True` where a key is new. Of equal keys the first is.
    ///
    /// `null="skip"` answers `False` for nulls, which are refused otherwise. `times` are for windows that go
    /// by them (`clock="given"`): an array of `datetime64`, or of milliseconds since 1970.
    ///
    /// >>> CuckooFilter().add_many(["a", "b", "a"])
    /// array([ True,  True, False])
    #[pyo3(signature = (keys, /, *, null = "error", times = None))]
    fn add_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
        times: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let batch = self.batch(keys, null)?;
        let times = self.times(&batch, times)?;
        let all = Keys { hashes: batch.hashes(), when: when(times.as_ref()) };
        let outcome =
            self.in_chunks(keys.py(), Access::Change, &batch, |state, chunk, answers| {
                let mut outcomes = Vec::new();
                let result = state.insert_unique_batch(all.part(chunk), &mut outcomes);
                answers.extend(outcomes.iter().map(|outcome| *outcome == Insertion::Inserted));
                result
            })?;
        batch.answered(keys.py(), outcome)
    }

    /// `insert` for many keys.
    ///
    /// >>> words = CuckooFilter()
    /// >>> words.insert_many(["a", "b", "a"])
    /// >>> words.count_many(["a", "b", "c"])
    /// array([2, 1, 0], dtype=uint64)
    #[pyo3(signature = (keys, /, *, null = "error", times = None))]
    fn insert_many(
        &self,
        keys: &Bound<'_, PyAny>,
        null: &str,
        times: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let batch = self.batch(keys, null)?;
        let times = self.times(&batch, times)?;
        let all = Keys { hashes: batch.hashes(), when: when(times.as_ref()) };
        let insert =
            |state: &mut State, chunk, _: &mut Vec<()>| state.insert_batch(all.part(chunk));
        let outcome = self.in_chunks(keys.py(), Access::Change, &batch, insert)?;
        outcome
            .stopped
            .map_or(Ok(()), |stopped| Err(error::full(keys.py(), stopped.done, stopped.full, None)))
    }

    /// `in` for many keys.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("a")
    /// True
    /// >>> seen.contains_many(["a", "b"])
    /// array([ True, False])
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let batch = self.batch(keys, null)?;
        let outcome = self.in_chunks(keys.py(), Access::Ask, &batch, |state, chunk, answers| {
            let mut present = state.contains_batch(&batch.hashes()[chunk]);
            answers.append(&mut present);
            Ok(())
        })?;
        batch.answered(keys.py(), outcome)
    }

    /// `discard` for many keys.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("a")
    /// True
    /// >>> seen.discard_many(["a", "a"])
    /// array([ True, False])
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn discard_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let batch = self.batch(keys, null)?;
        let outcome =
            self.in_chunks(keys.py(), Access::Change, &batch, |state, chunk, answers| {
                let mut removed = state.remove_batch(&batch.hashes()[chunk]);
                answers.append(&mut removed);
                Ok(())
            })?;
        batch.answered(keys.py(), outcome)
    }

    /// `count` for many keys.
    ///
    /// >>> CuckooFilter().count_many(["a", "b"])
    /// array([0, 0], dtype=uint64)
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn count_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let batch = self.batch(keys, null)?;
        let outcome = self.in_chunks(keys.py(), Access::Ask, &batch, |state, chunk, answers| {
            let mut counts = state.count_batch(&batch.hashes()[chunk]);
            answers.append(&mut counts);
            Ok(())
        })?;
        Ok(PyArray1::from_vec(keys.py(), batch.spread(outcome.answers, 0)))
    }

    /// Items, copies included.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.described(py, |filter| usize::try_from(filter.len()).unwrap_or(usize::MAX))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        let state = slf.get().lock(slf.py())?;
        if state.check(Access::Ask).is_err() {
            return Ok(format!("{name}(closed)"));
        }
        let filter = state.filter();
        let (items, rate) = (filter.len(), filter.false_positive_rate());
        let megabytes = filter.memory_bytes() as f64 / 1e6;
        Ok(format!("{name}({items} items, false positive rate {rate:.1e}, {megabytes:.1} MB)"))
    }

    /// The probability that a key which was never added is found, with the items of now.
    #[getter]
    fn false_positive_rate(&self, py: Python<'_>) -> PyResult<f64> {
        self.described(py, Generations::false_positive_rate)
    }

    /// Bytes of memory that the filter takes.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.described(py, Generations::memory_bytes)
    }

    /// Bits of every key's hash that are remembered: the rate is items / 2**hash_bits.
    #[getter]
    fn hash_bits(&self, py: Python<'_>) -> PyResult<f64> {
        self.described(py, Generations::hash_bits)
    }

    /// Items for which there is room without growth.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.described(py, Generations::capacity)
    }

    /// Items up to which the stated rate holds; `None` if there is no limit.
    #[getter]
    fn max_items(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.described(py, |filter| Some(filter.max_items()).filter(|items| *items != u64::MAX))
    }

    /// A copy in memory, which does not change with this one.
    fn copy(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        in_memory(slf.py(), slf.get().copied(slf.py())?)
    }

    fn __copy__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__(slf: &Bound<'_, Self>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::copy(slf)
    }

    /// Adds the keys of another filter that are absent here: the union of sets. Both must have been made with
    /// the same capacity and rate, or hash bits, and the same seed or key (`MergeError`). Windows must be alike; their
    /// keys keep their times, and the copies of a key that both have are added up.
    ///
    /// >>> monday, tuesday = CuckooFilter(), CuckooFilter()
    /// >>> monday.add("a"), tuesday.add("a"), tuesday.add("b")
    /// (True, True, True)
    /// >>> monday |= tuesday
    /// >>> len(monday), "b" in monday
    /// (2, True)
    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if slf.is(other) {
            return Ok(());
        }
        let other = other.get().copied(other.py())?;
        slf.get().change(slf.py(), |filter| unite(filter, &other))?
    }

    /// The union of two filters, as `|=` makes it.
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let mut union = slf.get().copied(slf.py())?;
        let other = other.get().copied(other.py())?;
        slf.py().detach(|| unite(&mut union, &other))?;
        in_memory(slf.py(), union)
    }

    /// Gives back memory that is not needed any more after removals.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, Generations::compact)
    }

    /// Tells a window with `clock="given"` the present, in milliseconds since 1970: what is older than its
    /// length is forgotten, and keys without a time are of this one.
    #[pyo3(signature = (time, /))]
    fn advance(&self, py: Python<'_>, time: u64) -> PyResult<()> {
        let mut state = self.lock_for(py, Access::Change)?;
        if state.filter().window().is_none_or(|window| window.clock() != Clock::Given) {
            return Err(PyValueError::new_err(
                "only a window with clock=\"given\" is told the time",
            ));
        }
        state.advance(time);
        Ok(())
    }

    /// Writes the filter to a file, in one step: whoever reads it meanwhile finds what was there before, or this.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let copy = self.copied(py)?;
        let saved = py.detach(|| {
            let lock = Lock::take(&path, Wait::No)?;
            Options::new().replace(lock, copy, Runs::default())
        });
        saved.map_err(|error| error::store(&error))
    }

    /// What `save` would write.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let copy = self.copied(py)?;
        let mut bytes = Vec::new();
        py.detach(|| copy.write_to(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        if matches!(slf.get().hasher().algorithm(), HashAlgorithm::SipHash13 { .. }) {
            return Err(PyTypeError::new_err(
                "a filter with a secret key is not pickled, for the key would be in the pickle: save it, and load \
                 it with key=",
            ));
        }
        // A file has none.
        let Ok(from_bytes) = slf.get_type().getattr("from_bytes") else {
            return Err(PyTypeError::new_err(
                "an open file is not pickled: pickle its copy(), or its path",
            ));
        };
        let arguments = (slf.get().__bytes__(slf.py())?,);
        (from_bytes, arguments).into_pyobject(slf.py())
    }
}

/// As a `CuckooFilter` or a `Window`.
fn in_memory(py: Python<'_>, filter: Generations) -> PyResult<Py<PyAny>> {
    Ok(match filter.window() {
        Some(_) => Py::new(py, Window::of(filter))?.into_any(),
        None => Py::new(py, CuckooFilter::of(filter))?.into_any(),
    })
}

fn unite(filter: &mut Generations, other: &Generations) -> PyResult<()> {
    match (filter.unbounded_mut(), other.unbounded()) {
        (Some(into), Some(from)) => into.merge_unique(from).map_err(|error| error.to_string()),
        _ => filter.merge(other).map_err(|error| error.to_string()),
    }
    .map_err(MergeError::new_err)
}
