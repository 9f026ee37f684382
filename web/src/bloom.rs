//! A Bloom filter, to be compared with.

use coua::bloom::BloomFilter;
use coua::sizing::bloom::BloomPlan;
use coua::{Insertion, KeyHasher};

use crate::state::with;

/// Makes a Bloom filter of `bits` bits. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_new(bits: u32, probes: u32) -> i32 {
    with(|state| {
        let built = BloomPlan::new(u64::from(bits), probes)
            .and_then(|plan| BloomFilter::from_plan(plan, KeyHasher::default()));
        let number = built.map(|bloom| state.blooms.add(bloom));
        state.settle(number)
    })
}

/// Adds the key in the input; 1 if a bit was set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_insert(number: i32) -> i32 {
    with(|state| {
        let inserted = state.blooms.get(number).insert_unique(&state.input);
        i32::from(inserted == Insertion::Inserted)
    })
}

/// Whether all bits of the key in the input are set.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn bloom_contains(number: i32) -> i32 {
    with(|state| i32::from(state.blooms.get(number).contains(&state.input)))
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
