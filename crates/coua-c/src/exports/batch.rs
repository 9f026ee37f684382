//! Many keys at a time.

use std::mem::MaybeUninit;
use std::ops::Range;

use coua::window::When;
use coua::{Insertion, KeyHash};

use crate::failure::{Failure, Outcome};
use crate::filter::{coua_filter, with};
use crate::keys::{Keys, coua_keys};
use crate::pointer::{self, Extent};
use crate::state::Changed;
use crate::status::coua_status;
use crate::verbs::Answers;

/// Keys between which other threads may use the filter.
const CHUNK: usize = 1 << 16;

/// The answer for a key that a batch did not insert: there was no room, or the batch stopped before.
pub const COUA_REFUSED: u8 = 2;

/// Whether C must say where the answers go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Answers,
    Nothing,
}

/// The keys and answers of a batch.
struct Batch<A> {
    keys: *const coua_keys,
    answers: *mut A,
    name: &'static str,
    need: Need,
    /// The answer for keys after one that was refused.
    refused: A,
}

impl<A: Copy> Batch<A> {
    /// Works through the batch. `work` gets the hashes of some keys and their places.
    ///
    /// # Safety
    ///
    /// As [`with`], [`Keys::of`], and [`pointer::results`] for an answer for each key.
    unsafe fn run(
        self,
        filter: *const coua_filter,
        work: impl Fn(&coua_filter, &[KeyHash], Range<usize>) -> Outcome<Answers<A>>,
    ) -> coua_status {
        with(filter, |filter| {
            let keys = Keys::of(self.keys)?;
            let mut answers = self.results(&keys)?;
            let mut space = Vec::with_capacity(keys.len().min(CHUNK));
            for begin in (0..keys.len()).step_by(CHUNK) {
                let chunk = begin..keys.len().min(begin + CHUNK);
                let hashes = keys.hashes(chunk.clone(), filter.hasher, &mut space);
                let done = work(filter, hashes, chunk.clone())?;
                if let Some(answers) = &mut answers {
                    answers[chunk.clone()].write_copy_of_slice(&done.answers);
                }
                if let Some(full) = done.stopped {
                    if let Some(answers) = &mut answers {
                        answers[chunk.end..].fill(MaybeUninit::new(self.refused));
                    }
                    return Err(full.into());
                }
            }
            Ok(())
        })
    }

    /// Where the answers go, apart from the keys.
    ///
    /// # Safety
    ///
    /// As [`pointer::results`] for an answer for each key.
    unsafe fn results<'a>(&self, keys: &Keys<'_>) -> Outcome<Option<&'a mut [MaybeUninit<A>]>> {
        if self.answers.is_null() && self.need == Need::Nothing {
            return Ok(None);
        }
        keys.check_apart_from(&Extent::of(self.answers, keys.len(), self.name)?)?;
        pointer::results(self.answers, keys.len(), self.name).map(Some)
    }
}

fn whole<A>(answers: Vec<A>) -> Answers<A> {
    Answers { answers, stopped: None }
}

fn bytes(answers: Vec<bool>) -> Vec<u8> {
    answers.into_iter().map(u8::from).collect()
}

fn numbers(done: Answers<Insertion>) -> Answers<u8> {
    let number = |insertion| match insertion {
        Insertion::AlreadyPresent => 0,
        Insertion::Inserted => 1,
        Insertion::Refused => COUA_REFUSED,
    };
    Answers { answers: done.answers.into_iter().map(number).collect(), stopped: done.stopped }
}

/// coua_insert() for many keys. inserted gets 1 for each, or COUA_REFUSED; it may be NULL. COUA_FULL if any was refused:
/// the others are inserted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    inserted: *mut u8,
) -> coua_status {
    let need = Need::Nothing;
    let batch = Batch { keys, answers: inserted, name: "inserted", need, refused: COUA_REFUSED };
    batch.run(filter, |filter, hashes, _| {
        filter.change(|changed| changed.insert_batch(hashes)).map(numbers)
    })
}

/// coua_insert_unique() for many keys. is_new gets 1 for each that was absent, 0 for one that was there, or
/// COUA_REFUSED; it may be NULL. COUA_FULL if any was refused: the others are inserted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_unique_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    is_new: *mut u8,
) -> coua_status {
    let need = Need::Nothing;
    let batch = Batch { keys, answers: is_new, name: "is_new", need, refused: COUA_REFUSED };
    batch.run(filter, |filter, hashes, _| {
        filter.change(|changed| Ok(numbers(changed.insert_unique_batch(hashes, When::Now))))
    })
}

/// coua_contains() for many keys. found gets 1 for each that is there, and 0 for the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_contains_batch(
    filter: *const coua_filter,
    keys: *const coua_keys,
    found: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: found, name: "found", need: Need::Answers, refused: 0 };
    batch.run(filter, |filter, hashes, _| {
        filter.ask(hashes, |asked| Ok(whole(bytes(asked.contains_batch(hashes)))))
    })
}

/// coua_remove() for many keys. removed gets 1 for each of which a copy was removed, and 0 for the others; it may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_remove_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    removed: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: removed, name: "removed", need: Need::Nothing, refused: 0 };
    batch.run(filter, |filter, hashes, _| {
        filter.change(|changed| changed.remove_batch(hashes)).map(bytes).map(whole)
    })
}

/// coua_count() for many keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_count_batch(
    filter: *const coua_filter,
    keys: *const coua_keys,
    copies: *mut u64,
) -> coua_status {
    let batch = Batch { keys, answers: copies, name: "copies", need: Need::Answers, refused: 0 };
    batch.run(filter, |filter, hashes, _| {
        filter.ask(hashes, |asked| asked.count_batch(hashes)).map(whole)
    })
}

/// Tells a filter with COUA_CLOCK_GIVEN what time it is, in milliseconds. What its window has left is forgotten. An
/// earlier time than the last one changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_window_advance(filter: *mut coua_filter, time: u64) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.advance_to(time)))
}

/// coua_insert_unique_batch() for a filter with COUA_CLOCK_GIVEN and keys with times of their own: one for each key, in
/// milliseconds, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_window_insert_unique_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    times: *const u64,
    is_new: *mut u8,
) -> coua_status {
    let need = Need::Nothing;
    let batch = Batch { keys, answers: is_new, name: "is_new", need, refused: COUA_REFUSED };
    batch.run(filter, |filter, hashes, places| {
        let times = times_of(times, is_new, places)?;
        let insert = |changed: Changed<'_>| {
            changed.check_times()?;
            Ok(numbers(changed.insert_unique_batch(hashes, When::Each(times))))
        };
        filter.change(insert)
    })
}

/// The times of some keys, apart from the answers.
///
/// # Safety
///
/// As [`pointer::values`] for a time for each key.
unsafe fn times_of<'a>(
    times: *const u64,
    answers: *mut u8,
    keys: Range<usize>,
) -> Outcome<&'a [u64]> {
    let all = Extent::of(times, keys.end, "times")?;
    if !answers.is_null() {
        all.check_apart(&Extent::of(answers, keys.end, "is_new")?)?;
    }
    let times = pointer::values(times, keys.end, "times")?;
    times.get(keys).ok_or_else(|| Failure::invalid("times is null"))
}
