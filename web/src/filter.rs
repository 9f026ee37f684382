//! A cuckoo filter in memory.

#![expect(unsafe_code, reason = "the names of exported functions")]

use std::io::Cursor;

use coua::inspect::{Contents, TableView};
use coua::window::{Clock, Generations, When};
use coua::{Filter, IfPresent, KeyHash, Load, LoadError};

use crate::options::Options;
use crate::state::{Keys, number_of, with};
use crate::view::{Description, Located, TableShown};

/// Makes a filter from the options in the input. Returns its number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_new() -> i32 {
    with(|state| {
        let built = Options { input: &state.input }.build();
        let number = built.map(|filter| state.filters.add(filter));
        state.settle(number)
    })
}

/// Reads a snapshot from the input. Returns the filter's number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_load() -> i32 {
    with(|state| {
        // The memory of the input is free again after this call.
        let bytes = std::mem::take(&mut state.input);
        let loaded: Result<Generations, _> = Load::new().bytes(&bytes);
        let number = loaded.map(|filter| state.filters.add(filter));
        state.settle(number)
    })
}

/// Writes the snapshot into the output.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_save(number: i32) -> i32 {
    with(|state| {
        let length = state.filters.get(number).writer().map_or(u64::MAX, |it| it.length());
        let reserved = state.empty_output(usize::try_from(length).unwrap_or(usize::MAX));
        if let Err(refused) = reserved {
            return state.fail(refused);
        }
        let written = state.filters.get(number).write_to(&mut state.output);
        state.settle(written.map(|()| 0))
    })
}

/// Frees the filter.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_free(number: i32) {
    with(|state| state.filters.remove(number));
}

/// Adds a copy of the key in the input, of this time if it is a number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_insert(number: i32, time: f64) -> i32 {
    insert(number, time, IfPresent::AddCopy)
}

/// Adds the key in the input, of this time if it is a number, if the key is absent; 1 if it was.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_insert_unique(number: i32, time: f64) -> i32 {
    insert(number, time, IfPresent::Skip)
}

fn insert(number: i32, time: f64, if_present: IfPresent) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        let hash = hash(filter, &state.input);
        let done = if time.is_nan() {
            filter.insert_one(hash, if_present)
        } else {
            let (times, mut outcomes) = ([time as u64], Vec::new());
            let done = filter.insert_each(&[hash], When::Each(&times), if_present, &mut outcomes);
            done.map(|()| outcomes[0]).map_err(|stopped| stopped.full)
        };
        state.settle(done.map(|outcome| i32::from(outcome.is_new())))
    })
}

/// A call with a key whose answer is a number.
type Call = fn(&mut Generations, KeyHash) -> u64;

// Not inlined: single calls and batches share the code.
#[inline(never)]
fn contains(filter: &mut Generations, hash: KeyHash) -> u64 {
    filter.contains(hash).into()
}

#[inline(never)]
fn remove(filter: &mut Generations, hash: KeyHash) -> u64 {
    filter.remove(hash).into()
}

#[inline(never)]
fn count(filter: &mut Generations, hash: KeyHash) -> u64 {
    filter.count(hash)
}

/// Whether the key in the input is there.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_contains(number: i32) -> f64 {
    one(number, contains)
}

/// Takes a copy of the key in the input away; 1 if there was one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_remove(number: i32) -> f64 {
    one(number, remove)
}

/// How many copies of the key in the input are there.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_count(number: i32) -> f64 {
    one(number, count)
}

fn one(number: i32, call: Call) -> f64 {
    with(|state| {
        let filter = state.filters.get(number);
        let hash = hash(filter, &state.input);
        call(filter, hash) as f64
    })
}

/// Adds the keys in the input that are absent, each with its length (4 bytes) before it. The output has a byte for
/// each key: 1 if it was absent. Returns how many were done; if fewer than there are, the output is a message.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_insert_unique_each(number: i32) -> i32 {
    insert_each(number, IfPresent::Skip)
}

/// Adds a copy of each key in the input. Otherwise as [`filter_insert_unique_each`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_insert_each(number: i32) -> i32 {
    insert_each(number, IfPresent::AddCopy)
}

fn insert_each(number: i32, if_present: IfPresent) -> i32 {
    with(|state| {
        if let Err(refused) = state.empty_output(Keys(&state.input).count()) {
            return state.fail(refused);
        }
        let filter = state.filters.get(number);
        // The library's batches hide the time that memory takes, which is small here, and triple the code.
        for key in Keys(&state.input) {
            match filter.insert_one(hash(filter, key), if_present) {
                Ok(outcome) => state.output.push(u8::from(outcome.is_new())),
                Err(full) => {
                    let done = number_of(state.output.len());
                    state.fail(full);
                    return done;
                }
            }
        }
        number_of(state.output.len())
    })
}

/// The output has a byte for each key in the input: 1 if it is there.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_contains_each(number: i32) -> i32 {
    each(number, 1, contains)
}

/// Takes a copy of each key in the input away. The output has a byte for each: 1 if there was one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_remove_each(number: i32) -> i32 {
    each(number, 1, remove)
}

/// The output has the number of copies of each key in the input, in eight bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_count_each(number: i32) -> i32 {
    each(number, 8, count)
}

/// Writes the answer of a call for each key, in `width` bytes.
fn each(number: i32, width: usize, call: Call) -> i32 {
    with(|state| {
        if let Err(refused) = state.empty_output(width * Keys(&state.input).count()) {
            return state.fail(refused);
        }
        let filter = state.filters.get(number);
        for key in Keys(&state.input) {
            let answer = call(filter, hash(filter, key)).to_le_bytes();
            state.output.extend_from_slice(&answer[..width]);
        }
        0
    })
}

/// Forgets all items. A window keeps its clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_clear(number: i32) {
    with(|state| {
        let filters = state.filters.get(number).filters_mut();
        filters.for_each(|(_, filter)| filter.clear());
    });
}

/// Adds the items of another filter that are absent; of a window, every item with its time.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_merge(number: i32, other: i32) -> i32 {
    with(|state| {
        if number == other {
            return 0;
        }
        let (into, from) = state.filters.pair(number, other);
        let merged = match (into.unbounded_mut(), from.unbounded()) {
            (Some(into), Some(from)) => into.merge_unique(from),
            _ => into.merge(from),
        };
        state.settle(merged.map(|()| 0))
    })
}

/// 1: the filter needs the current time; 2: its items have times; 0: neither.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_clock(number: i32) -> i32 {
    with(|state| match state.filters.get(number).window().map(|window| window.clock()) {
        None | Some(Clock::Count) => 0,
        Some(Clock::Arrival) => 1,
        Some(Clock::Given) => 2,
    })
}

/// Tells a window the time, in milliseconds since 1970.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_advance(number: i32, time: f64) {
    with(|state| state.filters.get(number).advance(time as u64));
}

/// Describes the filter (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_describe(number: i32) -> i32 {
    with(|state| {
        let description = Description::of(state.filters.get(number));
        state.answer(&description, 0)
    })
}

/// The place of the key in the input, if present (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_locate(number: i32) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        let hash = hash(filter, &state.input);
        match view_of(filter) {
            Ok((view, _)) => state.answer(&Located::of(&view, hash), 0),
            Err(error) => state.fail(error),
        }
    })
}

/// The whole table (JSON); without the slots if `with_slots` is 0.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_table(number: i32, with_slots: i32) -> i32 {
    with(|state| {
        let shown = view_of(state.filters.get(number)).and_then(|(view, mut file)| {
            let mut shown = TableShown::of(&view);
            if with_slots != 0 {
                shown.add_slots(&view, &mut file)?;
            }
            Ok(shown)
        });
        match shown {
            Ok(shown) => state.answer(&shown, 0),
            Err(error) => state.fail(error),
        }
    })
}

fn hash(filter: &Generations, key: &[u8]) -> KeyHash {
    filter.hasher().hash(key)
}

/// The filter's snapshot, as a file would show it.
fn view_of(filter: &Generations) -> Result<(TableView, Cursor<Vec<u8>>), LoadError> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes)?;
    let mut file = Cursor::new(bytes);
    let mut contents = Contents::read(&mut file)?;
    Ok((contents.tables.swap_remove(0), file))
}
