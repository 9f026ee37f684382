//! One Bloom filter of a RedisBloom chain ("the peer"), hashed and sized with the same steps in the same
//! order.

use super::bytes::{copied, zeroed};
use super::errors::{LoadError, OutOfMemory, number};
use super::murmur::{murmur32, murmur64};

const NO_ROUND: u32 = 1;
const ENTRIES_ARE_BITS: u32 = 2;
const FORCE_64: u32 = 4;
const NO_SCALING: u32 = 8;
const KNOWN: u32 = NO_ROUND | ENTRIES_ARE_BITS | FORCE_64 | NO_SCALING;
/// The seeds of chains without a stored seed.
const DEFAULT_SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
const DEFAULT_SEED_32: u64 = 0x9747_b28c;

/// The options of a chain: known bits, and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BloomOptions {
    bits: u32,
    seed: u64,
}

/// The two hashes of an item, which determine all its bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub(super) first: u64,
    pub(super) step: u64,
}

/// How a new filter of the chain is sized.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizing {
    /// The bits that the entries need.
    Exact,
    /// Rounded up to a power of two.
    PowerOfTwo,
    /// By the number of bits instead of entries; no command of the peer makes these.
    Bits,
}

impl BloomOptions {
    pub(super) fn new(bits: u64) -> Result<Self, LoadError> {
        let known = u32::try_from(bits).ok().filter(|bits| bits & !KNOWN == 0);
        let expected = "a sum of 1, 2, 4 and 8";
        let bits = known.ok_or(LoadError::Number { name: "options", found: bits, expected })?;
        let is_wide = bits & FORCE_64 != 0;
        Ok(Self { bits, seed: if is_wide { DEFAULT_SEED_64 } else { DEFAULT_SEED_32 } })
    }

    /// The options with the seed of a dump.
    pub(super) fn with_seed(self, seed: u64) -> Result<Self, LoadError> {
        if self.is_wide() || seed == DEFAULT_SEED_32 {
            return Ok(Self { seed, ..self });
        }
        let expected = "2538058380, the only one known for 32-bit hashes";
        Err(LoadError::Number { name: "seed", found: seed, expected })
    }

    pub(super) fn bits(self) -> u32 {
        self.bits
    }

    /// The seed, unless it is the default.
    pub(super) fn seed(self) -> Option<u64> {
        (self.is_wide() && self.seed != DEFAULT_SEED_64).then_some(self.seed)
    }

    pub(super) fn scales(self) -> bool {
        self.bits & NO_SCALING == 0
    }

    pub(super) fn sizing(self) -> Sizing {
        if self.bits & ENTRIES_ARE_BITS != 0 {
            Sizing::Bits
        } else if self.bits & NO_ROUND != 0 {
            Sizing::Exact
        } else {
            Sizing::PowerOfTwo
        }
    }

    /// The hashes of an item.
    pub(super) fn hashes(self, item: &[u8]) -> Hashes {
        if self.is_wide() {
            let first = murmur64(item, self.seed);
            return Hashes { first, step: murmur64(item, first) };
        }
        let first = murmur32(item, self.seed as u32);
        Hashes { first: u64::from(first), step: u64::from(murmur32(item, first)) }
    }

    fn is_wide(self) -> bool {
        self.bits & FORCE_64 != 0
    }
}

#[cfg(any(test, feature = "fuzz"))]
impl BloomOptions {
    /// The options of current RedisBloom filters.
    pub(super) fn of_today(expansion: Option<u32>) -> Self {
        let scaling = if expansion.is_some() { 0 } else { NO_SCALING };
        let bits = NO_ROUND | FORCE_64 | scaling;
        Self { bits, seed: DEFAULT_SEED_64 }
    }
}

/// ln 2 and its square, with the peer's digits.
#[expect(clippy::approx_constant, reason = "ln 2 itself would now and then ask for another hash")]
const LN_2: f64 = 0.693_147_180_559_945;
const LN_2_SQUARED: f64 = 0.480_453_013_918_201;
/// The smallest error rate there is, 5e-324, takes 1075.
pub(super) const MAX_HASHES: u32 = 1100;

/// The numbers of a Bloom filter of the chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkNumbers {
    /// Items until the chain grows.
    pub(super) entries: u64,
    pub(super) error: f64,
    pub(super) bits_per_entry: f64,
    pub(super) hashes: u32,
    /// Bits of the array; 0 in old dumps with `log2_bits`.
    pub(super) bits: u64,
    /// Set if the number of bits is a power of two; otherwise 0.
    pub(super) log2_bits: u8,
    pub(super) bytes: u64,
}

impl LinkNumbers {
    /// A filter for `entries` entries with the rate `error`; `None` where the peer fails too.
    pub(super) fn plan(entries: u64, error: f64, sizing: Sizing) -> Option<Self> {
        let has_rate = error > 0.0 && error < 1.0;
        let bits_per_entry = (error.ln() / LN_2_SQUARED).abs();
        let wanted = entries as f64 * bits_per_entry;
        if entries == 0 || !has_rate || wanted >= 2_f64.powi(63) {
            return None;
        }
        let (bits, log2_bits) = match sizing {
            Sizing::Exact => ((wanted as u64).max(1), 0),
            Sizing::PowerOfTwo => power_above(wanted)?,
            Sizing::Bits => return None,
        };
        let spare = if log2_bits == 0 { 0.0 } else { bits as f64 - wanted };
        let more = (spare as u64 as f64 / bits_per_entry) as u64;
        let bytes = bits.div_ceil(64) * 8;
        let hashes = hashes(bits_per_entry)?;
        let entries = entries.checked_add(more)?;
        Some(Self { entries, error, bits_per_entry, hashes, bits: bytes * 8, log2_bits, bytes })
    }

    /// The filter after this one in a chain with this growth factor.
    pub(super) fn next(&self, growth: u32, sizing: Sizing) -> Option<Self> {
        Self::plan(self.entries.checked_mul(u64::from(growth))?, self.error * 0.5, sizing)
    }

    /// The number of bits that hashes can select.
    pub(super) fn modulus(&self) -> u64 {
        if self.log2_bits > 0 { 1 << self.log2_bits } else { self.bits }
    }
}

/// The number of hash functions for these bits per entry; `None` if no error rate leads to it.
pub(super) fn hashes(bits_per_entry: f64) -> Option<u32> {
    let hashes = (LN_2 * bits_per_entry).ceil();
    (hashes >= 1.0 && hashes <= f64::from(MAX_HASHES)).then_some(hashes as u32)
}

/// The power of two above `wanted`, which is at least 1, and its logarithm.
fn power_above(wanted: f64) -> Option<(u64, u8)> {
    let floor = (wanted.to_bits() >> 52).checked_sub(1023)?;
    let log2 = u8::try_from(floor + 1).ok().filter(|log2| *log2 < 64)?;
    Some((1 << log2, log2))
}

/// A Bloom filter, and the number of items that set a bit in it.
#[derive(Debug)]
pub(super) struct PeerLink {
    numbers: LinkNumbers,
    items: u64,
    array: Vec<u8>,
}

impl PeerLink {
    /// An empty filter with the numbers of a plan.
    pub(super) fn planned(numbers: LinkNumbers) -> Result<Self, OutOfMemory> {
        Ok(Self { numbers, items: 0, array: zeroed(numbers.bytes)? })
    }

    /// A filter with the numbers of a dump.
    pub(super) fn over(numbers: LinkNumbers, items: u64, array: Vec<u8>) -> Self {
        debug_assert_eq!(numbers.bytes, array.len() as u64);
        Self { numbers, items, array }
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self { array: copied(&self.array)?, ..*self })
    }

    pub(super) fn numbers(&self) -> &LinkNumbers {
        &self.numbers
    }

    pub(super) fn items(&self) -> u64 {
        self.items
    }

    pub(super) fn array(&self) -> &[u8] {
        &self.array
    }

    pub(super) fn array_mut(&mut self) -> &mut [u8] {
        &mut self.array
    }

    pub(super) fn is_full(&self) -> bool {
        self.items >= self.numbers.entries
    }

    pub(super) fn contains(&self, hashes: Hashes) -> bool {
        self.places(hashes).all(|(byte, bit)| self.array[byte] & bit != 0)
    }

    /// Adds an item that was found to be absent.
    pub(super) fn insert(&mut self, hashes: Hashes) {
        for (byte, bit) in self.places(hashes) {
            self.array[byte] |= bit;
        }
        self.items += 1;
    }

    /// The byte and the bit in it of each hash.
    fn places(&self, hashes: Hashes) -> impl Iterator<Item = (usize, u8)> + use<> {
        let modulus = self.numbers.modulus();
        (0..u64::from(self.numbers.hashes)).map(move |number| {
            let place = hashes.first.wrapping_add(number.wrapping_mul(hashes.step)) % modulus;
            ((place / 8) as usize, 1 << (place % 8))
        })
    }
}

/// Checks the numbers of a filter with `items` items from a dump.
pub(super) fn check(numbers: &LinkNumbers, items: u64, sizing: Sizing) -> Result<(), LoadError> {
    let LinkNumbers { entries, error, bits_per_entry, bits, log2_bits, .. } = *numbers;
    let found = error;
    if !(error > 0.0 && error < 1.0) {
        let expected = "more than 0 and less than 1";
        return Err(LoadError::Fraction { name: "error rate", found, expected });
    }
    if hashes(bits_per_entry) != Some(numbers.hashes) {
        let expected = "such that its ln 2 rounded up is the number of hashes";
        let found = bits_per_entry;
        return Err(LoadError::Fraction { name: "bits per entry", found, expected });
    }
    let (least, expected) = match sizing {
        Sizing::Exact => (0, "at most 63"),
        Sizing::PowerOfTwo | Sizing::Bits => (1, "1 to 63, as the bits are rounded"),
    };
    number("logarithm of the bits", log2_bits, |n| (least..64).contains(&n), expected)?;
    let array_bits = numbers.bytes.saturating_mul(8);
    let modulus = numbers.modulus();
    let fills = modulus > 0 && modulus <= array_bits && array_bits - modulus < 64;
    let is_stated = |n| n == modulus || n == array_bits || n == 0 && log2_bits > 0;
    number("number of bits", bits, |n| fills && is_stated(n), "that of the array")?;
    number("items of a filter", items, |n| n <= entries, "at most its entries")
}
