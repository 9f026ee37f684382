//! The methods of `Filter`.

use coua::window::Generations;
use coua::{IfPresent, KeyHasher, Load};
use coua_store::{Access, Lock, Notes, Options, View, Wait};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::batch::Answers;
use crate::error;
use crate::file::File;
use crate::filter::{Filter, KEY_NOTE};
use crate::key;
use crate::signals::{Signals, aside};
use crate::state::State;
use crate::values::{FileName, Secret, Whole, buffer, converted};
use crate::whole;

#[pymethods]
impl Filter {
    /// Whether the key was added. Wrongly true for other keys, with probability `false_positive_rate`.
    ///
    /// >>> "kestrel" in CuckooFilter()
    /// False
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher)?;
        self.shared.ask(key.py(), |filter| filter.contains(hash))
    }

    /// Adds the key if it is absent. Returns whether it was new.
    ///
    /// If the filter has a rate and you `discard` keys later, use `insert`: `add` stores nothing for a key that looks
    /// like another one, so it is lost when that one is discarded.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("kestrel"), seen.add("kestrel")
    /// (True, False)
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.insert_one(key, IfPresent::Skip)
    }

    /// Adds a copy of the key, whether it is present or not. Each copy stays until it is discarded, even with a rate.
    ///
    /// >>> words = CuckooFilter()
    /// >>> for word in ["a", "b", "a"]: words.insert(word)
    /// >>> words.count("a")
    /// 2
    #[pyo3(signature = (key, /))]
    fn insert(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.insert_one(key, IfPresent::AddCopy).map(drop)
    }

    /// Removes a copy of the key. Returns whether there was one.
    ///
    /// Discard only what was added: a key that was never added may look like another one, which is then removed. In a
    /// filter with a rate, discard only keys that were added with `insert`: a key that looked present to `add` is lost
    /// with the other key. A warning says so once.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("kestrel"), seen.discard("kestrel"), seen.discard("kestrel")
    /// (True, True, False)
    #[pyo3(signature = (key, /))]
    fn discard(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher)?;
        self.loss.warn(key.py())?;
        self.shared.change(key.py(), |state| state.verbs().remove(hash))
    }

    /// The number of copies of the key.
    ///
    /// >>> CuckooFilter().count("kestrel")
    /// 0
    #[pyo3(signature = (key, /))]
    fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let hash = key::hash(key, self.hasher)?;
        self.shared.ask(key.py(), |filter| filter.count(hash))
    }

    /// `add` for many keys: `True` for each new key. Of equal keys, the first is new.
    ///
    /// With `null="skip"` the answer for nulls is `False`; otherwise they are refused. `times` are for windows with
    /// `clock="given"`: an array of `datetime64` or a column of times, `datetime` objects (UTC if they have no zone),
    /// or milliseconds since 1970.
    ///
    /// >>> CuckooFilter().add_many(["a", "b", "a"])
    /// array([ True,  True, False])
    #[pyo3(signature = (keys, /, *, null = "error", times = None))]
    fn add_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
        times: Option<&Bound<'py, PyAny>>,
    ) -> Answers<'py, bool> {
        let (batch, outcome) = self.insert_all(keys, null, times, IfPresent::Skip)?;
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
        let (_, outcome) = self.insert_all(keys, null, times, IfPresent::AddCopy)?;
        outcome
            .stopped
            .map_or(Ok(()), |stopped| Err(error::full(keys.py(), stopped.done, stopped.full, None)))
    }

    /// `add_many` without answers; `|=` if `keys` is a filter.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.update(["a", "b", "a"])
    /// >>> len(seen)
    /// 2
    #[pyo3(signature = (keys, /, *, null = "error", times = None))]
    fn update(
        slf: &Bound<'_, Self>,
        keys: &Bound<'_, PyAny>,
        null: &str,
        times: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        match keys.cast::<Self>() {
            Ok(other) => whole::combine_into(slf, other, whole::unite),
            Err(_) => slf.get().add_many(keys, null, times).map(drop),
        }
    }

    /// `in` for many keys.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("a")
    /// True
    /// >>> seen.contains_many(["a", "b"])
    /// array([ True, False])
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>, null: &str) -> Answers<'py, bool> {
        self.ask_for(keys, null, Generations::contains_batch)
    }

    /// `discard` for many keys.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen.add("a")
    /// True
    /// >>> seen.discard_many(["a", "a"])
    /// array([ True, False])
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn discard_many<'py>(&self, keys: &Bound<'py, PyAny>, null: &str) -> Answers<'py, bool> {
        self.loss.warn(keys.py())?;
        self.take_back(keys, null)
    }

    /// `discard_many` of keys that were just added, for the modules of this package.
    #[pyo3(name = "_take_back", signature = (keys, /, *, null = "error"))]
    fn take_back<'py>(&self, keys: &Bound<'py, PyAny>, null: &str) -> Answers<'py, bool> {
        let batch = self.batch(keys, null)?;
        let outcome = batch.in_chunks(keys.py(), |chunk, answers| {
            let hashes = &batch.hashes()[chunk];
            let remove = |state: &mut State| state.verbs().remove_batch(hashes);
            answers.append(&mut self.shared.change_detached(remove)?);
            Ok(Ok(()))
        })?;
        batch.answered(keys.py(), outcome)
    }

    /// `count` for many keys.
    ///
    /// >>> CuckooFilter().count_many(["a", "b"])
    /// array([0, 0], dtype=uint64)
    #[pyo3(signature = (keys, /, *, null = "error"))]
    fn count_many<'py>(&self, keys: &Bound<'py, PyAny>, null: &str) -> Answers<'py, u64> {
        self.ask_for(keys, null, Generations::count_batch)
    }

    /// The number of items, including copies.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.ask(py, |filter| usize::try_from(filter.len()).unwrap_or(usize::MAX))
    }

    /// Always true, even for an empty filter; use `len` to check for keys.
    #[expect(clippy::unused_self, reason = "Python asks an object")]
    fn __bool__(&self) -> bool {
        true
    }

    /// Whether both have the same parameters, and the same items in the same places. True for copies, and for filters
    /// that were saved and loaded; filters that were filled in another order may differ.
    ///
    /// >>> seen = CuckooFilter()
    /// >>> seen == seen.copy(), seen == CuckooFilter(seed=1)
    /// (True, False)
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
        if slf.is(other) {
            return Ok(true);
        }
        // Locked in one order, so that two threads do not wait for each other.
        let mut both = [&slf.get().shared, &other.get().shared];
        both.sort_by_key(|shared| std::ptr::from_ref(*shared).addr());
        slf.py().detach(|| {
            both[0].ask_detached(|one| both[1].ask_detached(|other| whole::same(one, other)))
        })?
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, shared, name) = (slf.py(), &slf.get().shared, slf.get_type().name()?);
        if shared.look(py, |state| matches!(state, State::Closed))? {
            return Ok(format!("<{name}: closed>").into_pyobject(py)?.into_any());
        }
        let (items, rate, bytes) =
            shared.ask(py, |it| (it.len(), it.false_positive_rate(), it.memory_bytes()))?;
        converted("described", &(name, items, rate, bytes).into_pyobject(py)?.into_any())
    }

    /// The probability of finding a key that was never added, with the present items.
    #[getter]
    fn false_positive_rate(&self, py: Python<'_>) -> PyResult<f64> {
        self.shared.ask(py, Generations::false_positive_rate)
    }

    /// Bytes of memory.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.ask(py, Generations::memory_bytes)
    }

    /// Bits of every key's hash that are remembered: the rate is items / 2**hash_bits.
    #[getter]
    fn hash_bits(&self, py: Python<'_>) -> PyResult<f64> {
        self.shared.ask(py, Generations::hash_bits)
    }

    /// Items that fit without growth.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.shared.ask(py, Generations::capacity)
    }

    /// Items up to which the stated rate holds; `None` if there is no limit.
    #[getter]
    fn max_items(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.shared.ask(py, |filter| Some(filter.max_items()).filter(|items| *items != u64::MAX))
    }

    /// The key options with which the program `coua` made this file: `find`, the options that selected keys, and
    /// `normalize`, such as `["ignore-case"]`. Look up keys made in the same way. `None` if the file has none.
    #[getter]
    fn key_options<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let notes = self.notes(py)?;
        let load = |note| py.import("json")?.call_method1("loads", (PyBytes::new(py, note),));
        notes.get(KEY_NOTE).map(load).transpose()
    }

    /// An independent copy in memory.
    fn copy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        whole::in_memory(py, self.copied(py)?, &self.notes(py)?)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.copy(memo.py())
    }

    /// Adds the keys of another filter that are absent here: the union of sets. Both must have
    /// the same capacity and rate, or hash bits, and the same seed or key (`MergeError`). Windows must be equal; their
    /// keys keep their times, and the copies of a key in both filters add up. Ctrl-C leaves this filter unchanged.
    ///
    /// >>> monday, tuesday = CuckooFilter(), CuckooFilter()
    /// >>> monday.add("a"), tuesday.add("a"), tuesday.add("b")
    /// (True, True, True)
    /// >>> monday |= tuesday
    /// >>> len(monday), "b" in monday
    /// (2, True)
    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        whole::combine_into(slf, other, whole::unite)
    }

    /// The union of two filters, as by `|=`.
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        whole::combined(slf.get(), other, whole::unite)
    }

    /// Removes the keys that are not in the other filter: the intersection of sets. Both need the same parameters, as
    /// for `|=`, and no window. Ctrl-C leaves this filter unchanged.
    ///
    /// >>> monday, tuesday = CuckooFilter(), CuckooFilter()
    /// >>> monday.update(["a", "b"]), tuesday.update(["b", "c"])
    /// (None, None)
    /// >>> monday &= tuesday
    /// >>> "a" in monday, "b" in monday
    /// (False, True)
    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        whole::combine_into(slf, other, whole::intersect)
    }

    /// The intersection of two filters, as by `&=`.
    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        whole::combined(slf.get(), other, whole::intersect)
    }

    /// Removes all keys. A window keeps its clock.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let clear =
            |filter: &mut Generations| filter.filters_mut().for_each(|(_, filter)| filter.clear());
        self.shared.change_long(py, |state| state.change(clear))
    }

    /// Frees memory after removals. Ctrl-C leaves the filter unchanged.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.remake(py, |filter| filter.compact().map_err(|lack| error::build(lack.into())))
    }

    /// Sets the present of a window with `clock="given"`, in milliseconds since 1970: keys older than its
    /// length are forgotten, and keys without a time get this time.
    #[pyo3(signature = (time, /))]
    fn advance(&self, py: Python<'_>, time: Whole<u64>) -> PyResult<()> {
        self.check_times(py)?;
        self.shared.change(py, |state| state.advance(time.0))
    }

    /// Loads the filter from a file of any coua program or package. Changes do not affect the file until you `save` it
    /// again; `coua.open` works on the file itself.
    #[classmethod]
    #[pyo3(signature = (path, *, key = None))]
    fn load(class: &Bound<'_, PyType>, path: FileName, key: Option<Secret>) -> PyResult<Py<PyAny>> {
        // Read, not mapped: what happens to the file later must not end this process.
        let options = Options::new().access(Access::Load).key(key.map(|key| key.0));
        let view = aside(class.py(), move || options.read(path.0))?;
        let View { filter, notes, .. } = view.map_err(|error| error::store(&error))?;
        whole::of_class(class, filter, &notes)
    }

    /// Loads a filter from the result of `bytes(filter)`, as `bytes`, a `memoryview` or an `mmap`.
    #[classmethod]
    #[pyo3(signature = (data, *, key = None))]
    fn from_bytes(
        class: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        key: Option<Secret>,
    ) -> PyResult<Py<PyAny>> {
        let bytes = buffer(data)?;
        let bytes = bytes.as_slice().map_err(error::value)?;
        let load = Load::new().key(key.map(|key| key.0));
        let filter = class.py().detach(|| load.bytes::<Generations>(bytes)).map_err(error::load)?;
        whole::of_class(class, filter, &Notes::default())
    }

    /// Writes the filter to a file in one step: a reader sees the old file or the new one. Ctrl-C keeps the old file.
    fn save(&self, py: Python<'_>, path: FileName) -> PyResult<()> {
        let (copy, notes) = (self.copied(py)?, self.notes(py)?);
        let signals = Signals::new();
        let saved = py.detach(|| {
            let (lock, watch) = (Lock::take(&path.0, Wait::No)?, signals.clone());
            Options::new().cancel_when(move || watch.end_it()).replace(lock, copy, notes)
        });
        saved.map_err(|error| signals.raised().unwrap_or_else(|| error::store(&error)))
    }

    /// The bytes that `save` writes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let copy = self.copied(py)?;
        let write = move || {
            let mut bytes = Vec::new();
            copy.write_to(&mut bytes).map(|()| bytes)
        };
        Ok(PyBytes::new(py, &aside(py, write)??))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        if matches!(slf.get().hasher, KeyHasher::SipHash13 { .. }) {
            return Err(PyTypeError::new_err(
                "a filter with a secret key cannot be pickled, because the pickle would contain the key; save it, and \
                 load it with key=",
            ));
        }
        if slf.is_instance_of::<File>() {
            return Err(PyTypeError::new_err(
                "an open file cannot be pickled; pickle its copy(), or its path",
            ));
        }
        let arguments = (slf.get().__bytes__(slf.py())?,);
        (slf.get_type().getattr("from_bytes")?, arguments).into_pyobject(slf.py())
    }
}
