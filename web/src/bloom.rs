//! A Bloom filter.

use coua::bloom::BloomFilter;
use coua::{Insertion, KeyHash};
use serde::Serialize;

use crate::options::Options;
use crate::state::{Keys, number_of, with};

/// Makes a Bloom filter from the options in the input. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_new() -> i32 {
    with(|state| {
        let options = Options { input: &state.input };
        let hasher = options.hasher();
        let built = options.plan().and_then(|plan| {
            BloomFilter::from_plan(plan, hasher).map_err(|error| error.to_string())
        });
        let number = built.map(|bloom| state.blooms.add(bloom));
        state.settle(number)
    })
}

/// Loads a filter saved by [`bloom_save`] from the input. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_load() -> i32 {
    with(|state| {
        let loaded = BloomFilter::load(&state.input, None);
        let number = loaded.map(|bloom| state.blooms.add(bloom));
        state.settle(number)
    })
}

/// Writes the filter into the output, with its size and its hash.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_save(number: i32) -> i32 {
    with(|state| {
        state.output.clear();
        let written = state.blooms.get(number).write_to(&mut state.output);
        state.settle(written.map(|()| 0))
    })
}

/// Adds the key in the input; 1 if a bit was set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_insert_unique(number: i32) -> i32 {
    with(|state| i32::from(insert(state.blooms.get(number), &state.input)))
}

/// Whether all bits of the key in the input are set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_contains(number: i32) -> i32 {
    with(|state| i32::from(contains(state.blooms.get(number), &state.input)))
}

/// Adds the keys in the input. The output has a byte for each: 1 if a bit was set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_insert_unique_each(number: i32) -> i32 {
    each(number, insert)
}

/// The output has a byte for each key in the input: 1 if all its bits are set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_contains_each(number: i32) -> i32 {
    each(number, contains)
}

fn insert(bloom: &BloomFilter, key: &[u8]) -> bool {
    bloom.insert_unique(hash(bloom, key)) == Insertion::Inserted
}

fn contains(bloom: &BloomFilter, key: &[u8]) -> bool {
    bloom.contains(hash(bloom, key))
}

fn hash(bloom: &BloomFilter, key: &[u8]) -> KeyHash {
    bloom.hasher().hash(key)
}

fn each(number: i32, ask: fn(&BloomFilter, &[u8]) -> bool) -> i32 {
    with(|state| {
        let bloom = state.blooms.get(number);
        state.output.clear();
        state.output.extend(Keys(&state.input).map(|key| u8::from(ask(bloom, key))));
        number_of(state.output.len())
    })
}

/// Forgets all keys.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_clear(number: i32) {
    with(|state| state.blooms.get(number).clear());
}

/// Adds the keys of another Bloom filter.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_merge(number: i32, other: i32) -> i32 {
    with(|state| {
        if number == other {
            return 0;
        }
        let (into, from) = state.blooms.pair(number, other);
        let merged = into.merge(from);
        state.settle(merged.map(|()| 0))
    })
}

/// A Bloom filter in numbers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    /// None if all bits are set.
    count_estimate: f64,
    bits: u64,
    probes: u32,
    false_positive_rate: f64,
    memory_bytes: usize,
}

/// Describes the filter (JSON).
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_describe(number: i32) -> i32 {
    with(|state| {
        let bloom = state.blooms.get(number);
        let described = Described {
            count_estimate: bloom.count_estimate(),
            bits: bloom.bits(),
            probes: bloom.probes(),
            false_positive_rate: bloom.false_positive_rate(),
            memory_bytes: bloom.memory_bytes(),
        };
        state.answer(&described, 0)
    })
}

/// Writes the bits into the output, the least significant of each byte first.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_bits(number: i32) {
    with(|state| state.output = state.blooms.get(number).to_bytes());
}

/// Frees the Bloom filter.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_free(number: i32) {
    with(|state| state.blooms.remove(number));
}
