//! `Filter`: the base of all filters that count and remove, in memory or in files.

use std::mem;
use std::sync::Arc;

use coua::window::{Clock, Generations, When};
use coua::{IfPresent, Insertion, KeyHash, KeyHasher};
use coua_store::Notes;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::batch::{Answers, Batch, Nulls, Outcome};
use crate::collect::batch_of;
use crate::error;
use crate::key;
use crate::loss::Loss;
use crate::shared::Shared;
use crate::signals::aside;
use crate::state::State;
use crate::values::converted;

/// The common base of `CuckooFilter`, `Window`, and `File`.
///
/// A key is a `str`, bytes, an `int`, or a tuple of these. Batches take a numpy array, any object that supports Arrow
/// (polars, pyarrow, pandas, DuckDB), or any iterable, and return one numpy array. A batch that contains an invalid
/// key is refused before anything changes.
///
/// All methods are thread-safe. Batches release the interpreter's lock. Ctrl-C ends a batch between two keys; earlier
/// keys stay in the filter.
#[pyclass(module = "coua", subclass, frozen, weakref)]
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) hasher: KeyHasher,
    /// The state behind its lock.
    pub(crate) shared: Shared,
    /// Whether removals may take other keys with them.
    pub(crate) loss: Loss,
    /// How the program made the keys of the file that this was loaded from, as the file has it.
    key_note: Option<Vec<u8>>,
}

/// The note of a file about how the program makes keys: JSON.
pub(crate) const KEY_NOTE: &str = "coua/keys";

impl Filter {
    pub(crate) fn new(state: State) -> Self {
        let filter = state.filter();
        let (hasher, loss, key_note) = (filter.hasher(), Loss::new(filter.hash_bits()), None);
        Self { hasher, shared: Shared::new(state), loss, key_note }
    }

    /// One in memory. If it was read from a file, the file has these notes.
    pub(crate) fn in_memory(filter: Generations, notes: &Notes) -> Self {
        let key_note = notes.get(KEY_NOTE).map(<[u8]>::to_vec);
        Self { key_note, ..Self::new(State::Memory(filter)) }
    }

    /// The notes for a file.
    pub(crate) fn notes(&self, py: Python<'_>) -> PyResult<Notes> {
        self.shared.look(py, |state| {
            let note = match state {
                State::Written(store) => store.notes().get(KEY_NOTE),
                State::Read(view) => view.notes.get(KEY_NOTE),
                _ => self.key_note.as_deref(),
            };
            let mut notes = Notes::default();
            // It was small enough for a file before.
            note.and_then(|note| notes.set(KEY_NOTE, note).ok());
            notes
        })
    }

    /// A copy as it is now.
    pub(crate) fn copied(&self, py: Python<'_>) -> PyResult<Generations> {
        self.copied_at(py).map(|(copy, _)| copy)
    }

    /// A copy, and the number of changes before it.
    fn copied_at(&self, py: Python<'_>) -> PyResult<(Generations, u64)> {
        let copy = |filter: &Generations| (filter.try_clone(), self.shared.changes());
        let (copy, changes) = py.detach(|| self.shared.ask_detached(copy))?;
        Ok((copy.map_err(|error| error::build(error.into()))?, changes))
    }

    /// Changes the filter as a whole. A signal or an error leaves it as it was.
    ///
    /// A copy is changed, while others use the filter. If they have changed it then, the filter itself is changed, and
    /// others wait.
    pub(crate) fn remake(
        &self,
        py: Python<'_>,
        change: impl Fn(&mut Generations) -> PyResult<()> + Send + Sync + 'static,
    ) -> PyResult<()> {
        let (mut copy, changes) = self.copied_at(py)?;
        let change = Arc::new(change);
        let remade = {
            let change = change.clone();
            aside(py, move || change(&mut copy).map(|()| copy))??
        };
        let replaced = self.shared.change_long(py, |state| {
            let clock = state.filter().clock();
            state.change(|filter| {
                if self.shared.changes() != changes || remade.clock() != clock {
                    return change(filter).map(|()| None);
                }
                Ok(Some(mem::replace(filter, remade)))
            })
        })??;
        py.detach(|| drop(replaced));
        Ok(())
    }

    /// Inserts a key. Returns whether it was inserted.
    pub(crate) fn insert_one(
        &self,
        key: &Bound<'_, PyAny>,
        if_present: IfPresent,
    ) -> PyResult<bool> {
        let hash = key::hash(key, self.hasher)?;
        if if_present == IfPresent::Skip {
            self.loss.note_add();
        }
        let insert = |state: &mut State| state.verbs().insert_one(hash, if_present);
        let done = self.shared.change(key.py(), insert)?;
        done.map(Insertion::is_new).map_err(|full| error::full(key.py(), 0, full, None))
    }

    /// Inserts a batch. The answers tell whether each key was inserted.
    pub(crate) fn insert_all(
        &self,
        keys: &Bound<'_, PyAny>,
        null: &str,
        times: Option<&Bound<'_, PyAny>>,
        if_present: IfPresent,
    ) -> PyResult<(Batch, Outcome<bool>)> {
        let batch = self.batch(keys, null)?;
        let times = self.times(&batch, times)?;
        if if_present == IfPresent::Skip {
            self.loss.note_add();
        }
        let when = times.as_ref().map_or(When::Now, |times| When::Each(times));
        let outcome = batch.in_chunks(keys.py(), |chunk, answers| {
            self.shared.change_detached(|state| {
                let (hashes, when) = (&batch.hashes()[chunk.clone()], when.part(chunk));
                let mut outcomes = Vec::new();
                let result = state.verbs().insert_each(hashes, when, if_present, &mut outcomes);
                // Those of the keys before the one that was refused.
                outcomes.truncate(result.map_or_else(|stopped| stopped.done, |()| hashes.len()));
                answers.extend(outcomes.iter().map(|outcome| outcome.is_new()));
                result
            })
        })?;
        Ok((batch, outcome))
    }

    /// Asks for a batch. `work` answers for some of the keys.
    pub(crate) fn ask_for<'py, A: Element + Copy + Default>(
        &self,
        keys: &Bound<'py, PyAny>,
        null: &str,
        work: impl Fn(&Generations, &[KeyHash]) -> Vec<A> + Sync,
    ) -> Answers<'py, A> {
        let batch = self.batch(keys, null)?;
        let outcome = batch.in_chunks(keys.py(), |chunk, answers| {
            let hashes = &batch.hashes()[chunk];
            answers.append(&mut self.shared.ask_detached(|filter| work(filter, hashes))?);
            Ok(Ok(()))
        })?;
        Ok(PyArray1::from_vec(keys.py(), batch.spread(outcome.answers, A::default())))
    }

    pub(crate) fn batch(&self, keys: &Bound<'_, PyAny>, null: &str) -> PyResult<Batch> {
        batch_of(keys, self.hasher, Nulls::named(null)?)
    }

    /// Fails if keys have no times of their own.
    pub(crate) fn check_times(&self, py: Python<'_>) -> PyResult<()> {
        let window = self.shared.ask(py, Generations::window)?;
        if window.is_some_and(|window| window.clock() == Clock::Given) {
            return Ok(());
        }
        Err(error::value("this filter does not use times; create a window with clock=\"given\""))
    }

    /// The times of a batch, without those of its nulls.
    pub(crate) fn times(
        &self,
        batch: &Batch,
        times: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Vec<u64>>> {
        let Some(times) = times else { return Ok(None) };
        self.check_times(times.py())?;
        let times = converted("milliseconds", times)?.cast_into::<PyArray1<u64>>()?.to_vec()?;
        if times.len() != batch.len() {
            let (times, keys) = (times.len(), batch.len());
            return Err(error::value(format!("found {times} times for {keys} keys")));
        }
        Ok(Some(batch.without_nulls(times)))
    }
}
