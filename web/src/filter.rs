//! A cuckoo filter in memory.

#![expect(unsafe_code, reason = "the names of exported functions")]

use coua::window::{Generations, When};
use coua::{Filter, Full, IfPresent, KeyHash, Load};

use crate::options;
use crate::state::{Keys, number_of, with};
use crate::view::described;

/// Makes a filter from the options in the input. Returns its number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_new() -> i32 {
    with(|state| {
        let built = options::build(&state.input);
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
pub(crate) extern "C" fn filter_save(number: usize) -> i32 {
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
pub(crate) extern "C" fn filter_free(number: usize) {
    with(|state| state.filters.remove(number));
}

/// What is done with a key: a number of `../page/coua.js`.
type Verb = u32;

const INSERT: Verb = 0;
const INSERT_UNIQUE: Verb = 1;
const CONTAINS: Verb = 2;
const REMOVE: Verb = 3;
const COUNT: Verb = 4;

/// Does this with a key, and answers with a number. An item that is inserted is of this time, or of the present if the
/// time is NaN.
// Not inlined: single calls and batches share the code.
#[inline(never)]
fn call(filter: &mut Generations, verb: Verb, key: &[u8], time: f64) -> Result<u64, Full> {
    let hash = filter.hasher().hash(key);
    match verb {
        INSERT => insert(filter, hash, IfPresent::AddCopy, time),
        INSERT_UNIQUE => insert(filter, hash, IfPresent::Skip, time),
        CONTAINS => Ok(filter.contains(hash).into()),
        REMOVE => Ok(filter.remove(hash).into()),
        COUNT => Ok(filter.count(hash)),
        _ => unreachable!("the number of a verb"),
    }
}

fn insert(
    filter: &mut Generations,
    hash: KeyHash,
    if_present: IfPresent,
    time: f64,
) -> Result<u64, Full> {
    let outcome = if time.is_nan() {
        filter.insert_one(hash, if_present)?
    } else {
        let (times, mut outcomes) = ([time as u64], Vec::new());
        let done = filter.insert_each(&[hash], When::Each(&times), if_present, &mut outcomes);
        done.map_err(|stopped| stopped.full)?;
        outcomes[0]
    };
    Ok(outcome.is_new().into())
}

/// Does this with the key in the input. Returns the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_one(number: usize, verb: Verb, time: f64) -> f64 {
    with(|state| {
        let answer = call(state.filters.get(number), verb, &state.input, time);
        answer.map_or_else(|full| state.fail(full).into(), |answer| answer as f64)
    })
}

/// Does this with each key in the input, which has its length (4 bytes) before it. The output has an answer for each
/// key, of one byte, or of eight for a count. Returns how many were done; if fewer than there are, the output is a
/// message.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_each(number: usize, verb: Verb) -> i32 {
    with(|state| {
        let width = if verb == COUNT { 8 } else { 1 };
        if let Err(refused) = state.empty_output(width * Keys(&state.input).count()) {
            return state.fail(refused);
        }
        let filter = state.filters.get(number);
        // The library's batches hide the time that memory takes, which is small here, and triple the code.
        for key in Keys(&state.input) {
            match call(filter, verb, key, f64::NAN) {
                Ok(answer) => state.output.extend_from_slice(&answer.to_le_bytes()[..width]),
                Err(full) => {
                    let done = number_of(state.output.len());
                    state.fail(full);
                    return done;
                }
            }
        }
        number_of(state.output.len() / width)
    })
}

/// Forgets all items. A window keeps its clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_clear(number: usize) {
    with(|state| {
        let filters = state.filters.get(number).filters_mut();
        filters.for_each(|(_, filter)| filter.clear());
    });
}

/// Adds the items of another filter that are absent; of a window, every item with its time.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_merge(number: usize, other: usize) -> i32 {
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

/// Tells a window the time, in milliseconds since 1970.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_advance(number: usize, time: f64) {
    with(|state| state.filters.get(number).advance(time as u64));
}

/// Describes the filter (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn filter_describe(number: usize) -> i32 {
    with(|state| {
        let description = described(state.filters.get(number));
        state.answer::<String>(Ok(description))
    })
}
