//! A cuckoo filter in memory.

use std::io::Cursor;

use coua::inspect::{Contents, TableView};
use coua::{BuildError, CuckooFilter, Insertion, KeyHasher, Layout, Load, LoadError, WhenFull};

use crate::state::{number_of, with};
use crate::view::{Description, Located, TableShown};

/// How a filter is to be made, as numbers of eight bytes each.
struct Options<'a> {
    input: &'a [u8],
}

// Where each number stands in the options.
const SEED: usize = 0;
const CAPACITY: usize = 1;
const MAX_ITEMS: usize = 2;
const RATE: usize = 3;
const HASH_BITS: usize = 4;
const SLOTS_PER_BUCKET: usize = 5;
/// 1: buckets overlap.
const OVERLAPPING: usize = 6;
/// 0: grow; 1: refuse; 2: exceed the rate.
const WHEN_FULL: usize = 7;

impl Options<'_> {
    fn bits(&self, at: usize) -> u64 {
        let bytes = self.input.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number that was given: what is left to the library is NaN.
    fn number(&self, at: usize) -> Option<f64> {
        Some(f64::from_bits(self.bits(at))).filter(|number| !number.is_nan())
    }

    fn build(&self) -> Result<CuckooFilter, BuildError> {
        let mut builder = CuckooFilter::builder().hasher(KeyHasher::xxh3(self.bits(SEED)));
        if let Some(items) = self.number(CAPACITY) {
            builder = builder.capacity(items as u64);
        }
        if let Some(items) = self.number(MAX_ITEMS) {
            builder = builder.max_items(items as u64);
        }
        if let Some(rate) = self.number(RATE) {
            builder = builder.rate(rate);
        }
        if let Some(bits) = self.number(HASH_BITS) {
            builder = builder.hash_bits(bits as u32);
        }
        if let Some(slots) = self.number(SLOTS_PER_BUCKET) {
            builder = builder.slots_per_bucket(slots as u32);
        }
        if self.number(OVERLAPPING) == Some(1.0) {
            builder = builder.layout(Layout::Overlapping);
        }
        let when_full = match self.number(WHEN_FULL) {
            Some(1.0) => WhenFull::Refuse,
            Some(2.0) => WhenFull::ExceedRate,
            _ => WhenFull::Grow,
        };
        builder.when_full(when_full).build()
    }
}

/// Makes a filter from the options in the input. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_new() -> i32 {
    with(|state| {
        let built = Options { input: &state.input }.build();
        let number = built.map(|filter| state.filters.add(filter));
        state.settle(number)
    })
}

/// Reads a snapshot from the input. Returns the filter's number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_load() -> i32 {
    with(|state| {
        let loaded: Result<CuckooFilter, _> = Load::new().bytes(&state.input);
        let number = loaded.map(|filter| state.filters.add(filter));
        state.settle(number)
    })
}

/// Writes the snapshot into the output.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_save(number: i32) -> i32 {
    with(|state| {
        state.output.clear();
        let written = state.filters.get(number).write_to(&mut state.output);
        state.settle(written.map(|()| 0))
    })
}

/// Frees the filter.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_free(number: i32) {
    with(|state| state.filters.remove(number));
}

/// Adds a copy of the key in the input.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_insert(number: i32) -> i32 {
    with(|state| {
        let inserted = state.filters.get(number).insert(&state.input);
        state.settle(inserted.map(|()| 0))
    })
}

/// Adds the key in the input if it is absent; 1 if it was.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_insert_unique(number: i32) -> i32 {
    with(|state| {
        let inserted = state.filters.get(number).insert_unique(&state.input);
        state.settle(inserted.map(|done| i32::from(done == Insertion::Inserted)))
    })
}

/// Whether the key in the input is there.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_contains(number: i32) -> i32 {
    with(|state| i32::from(state.filters.get(number).contains(&state.input)))
}

/// Takes a copy of the key in the input away; 1 if there was one.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_remove(number: i32) -> i32 {
    with(|state| i32::from(state.filters.get(number).remove(&state.input)))
}

/// How many copies of the key in the input are there.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_count(number: i32) -> f64 {
    with(|state| state.filters.get(number).count(&state.input) as f64)
}

/// Adds the keys in the input that are absent, each with its length (4 bytes) before it. The output has a byte for
/// each key: 1 if it was absent. Returns how many were done; if fewer than there are, the output is a message.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_insert_unique_each(number: i32) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        state.output.clear();
        // The library's batches hide the time that memory takes, which is small here, and triple the code.
        for key in Keys(&state.input) {
            match filter.insert_unique(key) {
                Ok(done) => state.output.push(u8::from(done == Insertion::Inserted)),
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
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_contains_each(number: i32) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        state.output.clear();
        state.output.extend(Keys(&state.input).map(|key| u8::from(filter.contains(key))));
        number_of(state.output.len())
    })
}

/// Takes a copy of each key in the input away. The output has a byte for each: 1 if there was one.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_remove_each(number: i32) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        state.output.clear();
        state.output.extend(Keys(&state.input).map(|key| u8::from(filter.remove(key))));
        number_of(state.output.len())
    })
}

/// Forgets all items.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_clear(number: i32) {
    with(|state| state.filters.get(number).clear());
}

/// Adds the items of another filter that are absent.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_merge(number: i32, other: i32) -> i32 {
    with(|state| {
        if number == other {
            return 0;
        }
        let (into, from) = state.filters.pair(number, other);
        let merged = into.merge_unique(from);
        state.settle(merged.map(|()| 0))
    })
}

/// Describes the filter (JSON).
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_describe(number: i32) -> i32 {
    with(|state| {
        let description = Description::of(state.filters.get(number));
        state.answer(&description, 0)
    })
}

/// Where the key in the input lies, if it is there (JSON).
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn filter_locate(number: i32) -> i32 {
    with(|state| {
        let filter = state.filters.get(number);
        let hash = filter.hasher().hash(&state.input);
        match view_of(filter) {
            Ok((view, _)) => state.answer(&Located::of(&view, hash), 0),
            Err(error) => state.fail(error),
        }
    })
}

/// The whole table (JSON); without the slots if `with_slots` is 0.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
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

/// A look at the filter's snapshot: what a file would show.
fn view_of(filter: &CuckooFilter) -> Result<(TableView, Cursor<Vec<u8>>), LoadError> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes)?;
    let mut file = Cursor::new(bytes);
    let mut contents = Contents::read(&mut file)?;
    Ok((contents.tables.swap_remove(0), file))
}

/// Keys, each with its length before it.
struct Keys<'a>(&'a [u8]);

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (key, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some(key)
    }
}
