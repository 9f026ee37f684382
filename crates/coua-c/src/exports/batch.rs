//! Many keys at a time.

use std::mem::MaybeUninit;
use std::ops::Range;

use coua::window::When;
use coua::{Full, IfPresent, Insertion, KeyHash};

use crate::failure::{Outcome, out_of_memory};
use crate::filter::{coua_filter, with};
use crate::keys::{Keys, coua_keys};
use crate::pointer::{self, Extent};
use crate::status::coua_status;

/// Keys between which other threads may use the filter.
const CHUNK: usize = 1 << 16;

/// Words of memory that a key of a chunk may take while it is inserted or asked for: its answer, its place, its turn.
const WORDS: usize = 8;

/// The answer for a key that a batch did not insert, because there was no room, or the batch had stopped before.
pub const COUA_REFUSED: u8 = 2;

/// Whether C must say where the answers go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Answers,
    Nothing,
}

/// One answer for each key of a batch, and why it stopped if it did.
struct Answers<A> {
    answers: Vec<A>,
    stopped: Option<Full>,
}

/// The keys and answers of a batch.
struct Batch<A> {
    keys: *const coua_keys,
    answers: *mut A,
    name: &'static str,
    need: Need,
}

impl<A: Copy + From<u8>> Batch<A> {
    /// Works through the batch. `work` gets the hashes of some keys and their places.
    ///
    /// # Safety
    ///
    /// As [`with`], [`Keys::of`], and [`pointer::results`] for an answer for each key.
    unsafe fn run(
        self,
        filter: *const coua_filter,
        work: impl Fn(&coua_filter, &[KeyHash]) -> Outcome<Answers<A>>,
    ) -> coua_status {
        let nothing = |_: &coua_filter, _| Ok(());
        self.run_checked(filter, nothing, |filter, hashes, (), _| work(filter, hashes))
    }

    /// Works through the batch after `check`, which gets the number of keys, and gives what `work` needs besides them.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    unsafe fn run_checked<C: Copy>(
        self,
        filter: *const coua_filter,
        check: impl FnOnce(&coua_filter, usize) -> Outcome<C>,
        work: impl Fn(&coua_filter, &[KeyHash], C, Range<usize>) -> Outcome<Answers<A>>,
    ) -> coua_status {
        with(filter, |filter| {
            let keys = Keys::of(self.keys)?;
            let mut answers = self.results(&keys)?;
            let checked = check(filter, keys.len())?;
            let mut space = memory_for(keys.len().min(CHUNK))?;
            for begin in (0..keys.len()).step_by(CHUNK) {
                let chunk = begin..keys.len().min(begin + CHUNK);
                let hashes = keys.hashes(chunk.clone(), filter.hasher, &mut space);
                let done = work(filter, hashes, checked, chunk.clone())?;
                if let Some(answers) = &mut answers {
                    answers[chunk.clone()].write_copy_of_slice(&done.answers);
                }
                if let Some(full) = done.stopped {
                    if let Some(answers) = &mut answers {
                        answers[chunk.end..].fill(MaybeUninit::new(COUA_REFUSED.into()));
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

/// Memory for the hashes of a chunk, if there is enough for its answers too.
fn memory_for(keys: usize) -> Outcome<Vec<KeyHash>> {
    let (mut hashes, mut rest) = (Vec::new(), Vec::<[u64; WORDS]>::new());
    let reserved = hashes.try_reserve_exact(keys).and_then(|()| rest.try_reserve_exact(keys));
    reserved.map_err(|_| out_of_memory(format_args!("{keys} keys at a time")))?;
    Ok(hashes)
}

fn whole<A>(answers: Vec<A>) -> Answers<A> {
    Answers { answers, stopped: None }
}

fn bytes(answers: Vec<bool>) -> Vec<u8> {
    answers.into_iter().map(u8::from).collect()
}

fn insert_each(
    filter: &coua_filter,
    hashes: &[KeyHash],
    when: When<'_>,
    if_present: IfPresent,
) -> Outcome<Answers<u8>> {
    let number = |insertion| match insertion {
        Insertion::AlreadyPresent => 0,
        Insertion::Inserted => 1,
        Insertion::Refused => COUA_REFUSED,
    };
    filter.change(|mut changed| {
        let mut outcomes = Vec::new();
        let done = changed.verbs().insert_each(hashes, when, if_present, &mut outcomes);
        let answers = outcomes.into_iter().map(number).collect();
        Ok(Answers { answers, stopped: done.err().map(|stopped| stopped.full) })
    })
}

/// coua_insert() for many keys. inserted receives 1 for each, or COUA_REFUSED; it may be NULL. COUA_FULL if any was
/// refused; the others are inserted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    inserted: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: inserted, name: "inserted", need: Need::Nothing };
    batch.run(filter, |filter, hashes| insert_each(filter, hashes, When::Now, IfPresent::AddCopy))
}

/// coua_insert_unique() for many keys. is_new receives 1 for each that was absent, 0 for each that was present, or
/// COUA_REFUSED; it may be NULL. COUA_FULL if any was refused; the others are inserted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_unique_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    is_new: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: is_new, name: "is_new", need: Need::Nothing };
    batch.run(filter, |filter, hashes| insert_each(filter, hashes, When::Now, IfPresent::Skip))
}

/// coua_contains() for many keys. found receives 1 for each that is present, and 0 for the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_contains_batch(
    filter: *const coua_filter,
    keys: *const coua_keys,
    found: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: found, name: "found", need: Need::Answers };
    batch.run(filter, |filter, hashes| {
        filter.ask(|asked| Ok(whole(bytes(asked.verbs().contains_batch(hashes)))))
    })
}

/// coua_remove() for many keys. removed receives 1 for each of which a copy was removed, and 0 for the others; it may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_remove_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    removed: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: removed, name: "removed", need: Need::Nothing };
    batch.run(filter, |filter, hashes| {
        filter.change(|mut changed| Ok(whole(bytes(changed.verbs().remove_batch(hashes)))))
    })
}

/// coua_count() for many keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_count_batch(
    filter: *const coua_filter,
    keys: *const coua_keys,
    copies: *mut u64,
) -> coua_status {
    let batch = Batch { keys, answers: copies, name: "copies", need: Need::Answers };
    batch.run(filter, |filter, hashes| {
        filter.ask(|asked| Ok(whole(asked.verbs().count_batch(hashes))))
    })
}

/// Sets the time of a filter with COUA_CLOCK_GIVEN, in milliseconds. Keys that leave its window are forgotten. A time
/// before the last one changes nothing, so after a time in the far future all later keys count as inserted then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_window_advance(filter: *mut coua_filter, time: u64) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.advance_to(time)))
}

/// coua_insert_unique_batch() for a filter with COUA_CLOCK_GIVEN, with a time for each key, in milliseconds, in any
/// order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_window_insert_unique_batch(
    filter: *mut coua_filter,
    keys: *const coua_keys,
    times: *const u64,
    is_new: *mut u8,
) -> coua_status {
    let batch = Batch { keys, answers: is_new, name: "is_new", need: Need::Nothing };
    let check = |filter: &coua_filter, keys| {
        filter.change(|changed| changed.check_times())?;
        times_of(times, is_new, keys)
    };
    batch.run_checked(filter, check, |filter, hashes, times: &[u64], places| {
        insert_each(filter, hashes, When::Each(&times[places]), IfPresent::Skip)
    })
}

/// The times of some keys, apart from the answers.
///
/// # Safety
///
/// As [`pointer::values`] for a time for each key.
unsafe fn times_of<'a>(times: *const u64, answers: *mut u8, keys: usize) -> Outcome<&'a [u64]> {
    let all = Extent::of(times, keys, "times")?;
    if !answers.is_null() {
        all.check_apart(&Extent::of(answers, keys, "is_new")?)?;
    }
    pointer::values(times, keys, "times")
}
