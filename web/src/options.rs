//! Options of a new filter: numbers of eight bytes each. NaN selects the default.

use coua::sizing::bloom::BloomPlan;
use coua::{CuckooFilter, CuckooFilterBuilder, KeyHasher, Layout, WhenFull};

pub(crate) struct Options<'a> {
    pub(crate) input: &'a [u8],
}

// The position of each number. `../page/coua.js` writes them in this order.
/// The only one that is a whole number of 64 bits.
const SEED: usize = 0;
const CAPACITY: usize = 1;
const RATE: usize = 2;
// Of cuckoo filters.
const MAX_ITEMS: usize = 3;
const HASH_BITS: usize = 4;
const SLOTS_PER_BUCKET: usize = 5;
/// 1: buckets overlap.
const OVERLAPPING: usize = 6;
/// 0: grow; 1: refuse; 2: exceed the rate.
const WHEN_FULL: usize = 7;
// Of Bloom filters.
const BITS: usize = 3;
const PROBES: usize = 4;

impl Options<'_> {
    fn bits(&self, at: usize) -> u64 {
        let bytes = self.input.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number that was given.
    pub(crate) fn number(&self, at: usize) -> Option<f64> {
        Some(f64::from_bits(self.bits(at))).filter(|number| !number.is_nan())
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        KeyHasher::xxh3(self.bits(SEED))
    }

    pub(crate) fn builder(&self) -> CuckooFilterBuilder {
        let mut builder = CuckooFilter::builder().hasher(self.hasher());
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
        builder.when_full(match self.number(WHEN_FULL) {
            Some(1.0) => WhenFull::Refuse,
            Some(2.0) => WhenFull::ExceedRate,
            _ => WhenFull::Grow,
        })
    }

    /// Options of a Bloom filter: bits and probes, or a capacity and a rate.
    pub(crate) fn plan(&self) -> Result<BloomPlan, String> {
        let [capacity, rate, bits, probes] =
            [CAPACITY, RATE, BITS, PROBES].map(|at| self.number(at));
        let plan = match (capacity, rate, bits, probes) {
            (Some(items), Some(rate), None, None) => BloomPlan::for_rate(items as u64, rate),
            (None, None, Some(bits), Some(probes)) => BloomPlan::new(bits as u64, probes as u32),
            _ => return Err("a Bloom filter has a capacity and a rate, or bits and probes".into()),
        };
        plan.map_err(|error| error.to_string())
    }
}
