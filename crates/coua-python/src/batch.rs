//! Many Python objects as keys.

use std::ops::Range;

use arrow_array::StructArray;
use coua::{BatchFull, KeyHash, KeyHasher};
use numpy::PyArray1;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::column::{self, Column};
use crate::signals::Signals;
use crate::{error, key};

/// Keys that are worked on before other threads are let in. Where a filter grows, as many take milliseconds.
const CHUNK: usize = 1 << 12;
/// Keys between two looks at the signals that have come.
const BETWEEN_SIGNALS: usize = 1 << 16;

/// An array with an answer for each key of a batch.
pub(crate) type Answers<'py, A> = PyResult<Bound<'py, PyArray1<A>>>;

/// How to treat missing keys: `None`, or null in Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// The batch is refused.
    Refuse,
    /// They are skipped, and their answer is `False`.
    Skip,
}

impl Nulls {
    /// From the argument `null`.
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        match name {
            "error" => Ok(Self::Refuse),
            "skip" => Ok(Self::Skip),
            _ => Err(PyValueError::new_err(format!(
                "null is {name:?}: expected \"error\" or \"skip\""
            ))),
        }
    }
}

/// The hashes of a batch. All of it was looked at before anything is done with it.
#[derive(Debug)]
pub(crate) struct Batch {
    hasher: KeyHasher,
    nulls: Nulls,
    hashes: Vec<KeyHash>,
    /// Where, among keys and nulls together, the nulls are.
    skipped: Vec<usize>,
}

impl Batch {
    /// A batch without keys.
    pub(crate) fn new(hasher: KeyHasher, nulls: Nulls) -> Self {
        Self { hasher, nulls, hashes: Vec::new(), skipped: Vec::new() }
    }

    /// Whatever can be iterated over, item by item.
    pub(crate) fn add_items(&mut self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        self.reserve(keys.len().unwrap_or(0))?;
        for item in keys.try_iter()? {
            self.add_item(&item?)?;
        }
        Ok(())
    }

    /// A Python object.
    pub(crate) fn add_item(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, place) = (item.py(), self.len());
        if item.is_none() {
            self.add_null()?;
        } else {
            let hash = key::hash(item, self.hasher);
            self.hashes.push(hash.inspect_err(|error| {
                error.add_note(py, format!("(key {place} of the batch)")).ok();
            })?);
        }
        if place.is_multiple_of(BETWEEN_SIGNALS) {
            py.check_signals()?;
            // A thread that waits for the interpreter gets it here.
            py.detach(|| ());
        }
        Ok(())
    }

    /// Keys of bytes.
    pub(crate) fn add_bytes<'a>(&mut self, keys: impl Iterator<Item = &'a [u8]>) {
        let hasher = self.hasher;
        self.hashes.extend(keys.map(|key| hasher.hash(key)));
    }

    /// A key that is missing.
    pub(crate) fn add_null(&mut self) -> PyResult<()> {
        let place = self.len();
        if self.nulls == Nulls::Refuse {
            return Err(PyTypeError::new_err(format!(
                "key {place} of the batch is null; drop it, or use null=\"skip\""
            )));
        }
        self.skipped.push(place);
        Ok(())
    }

    /// Keys and nulls.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len() + self.skipped.len()
    }

    /// The hashes of the keys, without the nulls.
    pub(crate) fn hashes(&self) -> &[KeyHash] {
        &self.hashes
    }

    /// Works through the keys without the interpreter, and looks at the signals on the way. `work` gets the numbers of
    /// some keys, and puts their answers after those that are there.
    pub(crate) fn in_chunks<A: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(Range<usize>, &mut Vec<A>) -> PyResult<Result<(), BatchFull>> + Sync,
    ) -> PyResult<Outcome<A>> {
        let (keys, signals) = (self.hashes.len(), Signals::new());
        let (mut answers, mut done) = (Vec::with_capacity(keys), 0);
        let stopped = py.detach(|| {
            while done < keys && !signals.end_it() {
                let end = keys.min(done + CHUNK);
                if let Err(mut stopped) = work(done..end, &mut answers)? {
                    stopped.done = self.place_of(done + stopped.done);
                    return Ok(Some(stopped));
                }
                done = end;
            }
            Ok::<_, PyErr>(None)
        })?;
        if let Some(signal) = signals.raised() {
            let done = self.place_of(done);
            signal.add_note(py, format!("(after {done} keys of the batch)")).ok();
            return Err(signal);
        }
        Ok(Outcome { answers, stopped })
    }

    /// One `bool` for each key and null, or `Full` with those that there are.
    pub(crate) fn answered<'py>(
        &self,
        py: Python<'py>,
        outcome: Outcome<bool>,
    ) -> Answers<'py, bool> {
        let mut answers = self.spread(outcome.answers, false);
        if let Some(stopped) = outcome.stopped {
            answers.truncate(stopped.done);
            return Err(error::full(py, stopped.done, stopped.full, Some(answers)));
        }
        Ok(PyArray1::from_vec(py, answers))
    }

    /// How many keys and nulls come before the key with this number.
    pub(crate) fn place_of(&self, key: usize) -> usize {
        let mut place = key;
        for &null in &self.skipped {
            if null > place {
                break;
            }
            place += 1;
        }
        place
    }

    /// One answer for each key and null, in order; `none` for a null.
    pub(crate) fn spread<A: Copy>(&self, answers: Vec<A>, none: A) -> Vec<A> {
        if self.skipped.is_empty() {
            return answers;
        }
        let (mut answers, mut nulls) = (answers.into_iter(), self.skipped.iter().peekable());
        let answer =
            |place| nulls.next_if_eq(&&place).map_or_else(|| answers.next(), |_| Some(none));
        (0..self.len()).map_while(answer).collect()
    }

    /// What belongs to the keys, of something that there is for keys and nulls.
    pub(crate) fn without_nulls<A: Copy>(&self, all: Vec<A>) -> Vec<A> {
        if self.skipped.is_empty() {
            return all;
        }
        let mut nulls = self.skipped.iter().copied().peekable();
        let of_keys =
            all.into_iter().enumerate().filter(|(place, _)| nulls.next_if_eq(place).is_none());
        of_keys.map(|(_, item)| item).collect()
    }
}

impl Column for Batch {
    type Value<'a> = KeyHash;

    fn reserve(&mut self, keys: usize) -> PyResult<()> {
        self.hashes.try_reserve(keys).map_err(|_| {
            PyMemoryError::new_err(format!("out of memory for the hashes of {keys} keys"))
        })
    }

    fn add_integers(&mut self, keys: impl Iterator<Item = u64>) {
        let hasher = self.hasher;
        self.hashes.extend(keys.map(|key| hasher.hash(key)));
    }

    fn value(&self, bytes: &[u8]) -> KeyHash {
        self.hasher.hash(bytes)
    }

    fn push(&mut self, hash: Option<KeyHash>) -> PyResult<()> {
        match hash {
            Some(hash) => self.hashes.push(hash),
            None => self.add_null()?,
        }
        Ok(())
    }

    fn add_rows(&mut self, rows: &StructArray) -> PyResult<()> {
        column::add_rows(self, rows)
    }
}

/// How far a batch came, and why not to its end.
pub(crate) struct Outcome<A> {
    pub(crate) answers: Vec<A>,
    pub(crate) stopped: Option<BatchFull>,
}
