//! How the Bloom filters of a chain are sized and hashed.

use super::super::error::LoadError;
use super::super::hash::{murmur32, murmur64};

const NO_ROUND: u32 = 1;
const ENTRIES_ARE_BITS: u32 = 2;
const FORCE_64: u32 = 4;
const NO_SCALING: u32 = 8;
const KNOWN: u32 = NO_ROUND | ENTRIES_ARE_BITS | FORCE_64 | NO_SCALING;
/// Seeds of chains that say nothing of a seed.
const DEFAULT_SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
const DEFAULT_SEED_32: u64 = 0x9747_b28c;

/// The options of a chain: known bits, and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    bits: u32,
    seed: u64,
}

/// The two hashes of an item that all its bits follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub(super) first: u64,
    pub(super) step: u64,
}

/// What a new filter of the chain is sized by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizing {
    /// As many bits as the entries ask for.
    Exact,
    /// Rounded up to a power of two.
    PowerOfTwo,
    /// By the number of bits instead of entries; no command of the peer makes these.
    Bits,
}

impl Options {
    pub(super) fn new(bits: u64) -> Result<Self, LoadError> {
        let known = u32::try_from(bits).ok().filter(|bits| bits & !KNOWN == 0);
        let expected = "a sum of 1, 2, 4 and 8";
        let bits = known.ok_or(LoadError::Number { name: "options", found: bits, expected })?;
        let is_wide = bits & FORCE_64 != 0;
        Ok(Self { bits, seed: if is_wide { DEFAULT_SEED_64 } else { DEFAULT_SEED_32 } })
    }

    /// What the peer makes today.
    pub(super) fn of_today(expansion: Option<u32>) -> Self {
        let scaling = if expansion.is_some() { 0 } else { NO_SCALING };
        let bits = NO_ROUND | FORCE_64 | scaling;
        Self { bits, seed: DEFAULT_SEED_64 }
    }

    /// The options with a seed that the dump states.
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

    /// The seed, where it is not the usual one.
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
