//! Options of a new filter: numbers of eight bytes each. NaN selects the default.

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};

pub(crate) struct Options<'a> {
    pub(crate) input: &'a [u8],
}

// The position of each number. `../page/coua.js` writes them in this order.
/// The only one that is a whole number of 64 bits.
const SEED: usize = 0;
const CAPACITY: usize = 1;
const RATE: usize = 2;
const MAX_ITEMS: usize = 3;
const HASH_BITS: usize = 4;
/// 0: grow; 1: refuse; 2: exceed the rate.
const WHEN_FULL: usize = 5;

impl Options<'_> {
    fn bits(&self, at: usize) -> u64 {
        let bytes = self.input.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number that was given.
    pub(crate) fn number(&self, at: usize) -> Option<f64> {
        Some(f64::from_bits(self.bits(at))).filter(|number| !number.is_nan())
    }

    pub(crate) fn builder(&self) -> CuckooFilterBuilder {
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
        builder.when_full(match self.number(WHEN_FULL) {
            Some(1.0) => WhenFull::Refuse,
            Some(2.0) => WhenFull::ExceedRate,
            _ => WhenFull::Grow,
        })
    }
}
