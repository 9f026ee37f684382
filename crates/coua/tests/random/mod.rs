//! Seeded random numbers: every test run draws the same ones, on every machine.

#![allow(dead_code, reason = "each test binary uses its own part of it")]

use coua::KeyHash;

/// The odd number next to 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The n-th number that `SplitMix64` draws with the seed 0: distinct uniform ones.
pub(crate) fn nth(n: u64) -> u64 {
    mixed(n.wrapping_add(1).wrapping_mul(STEP))
}

/// The n-th of a row of distinct uniform hashes.
pub(crate) fn nth_hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// Uniform in 0..bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in 0..1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// From 1 to `most`, each order of magnitude as likely as the others.
    pub(crate) fn magnitude(&mut self, most: u64) -> u64 {
        ((most as f64).powf(self.fraction()) as u64).clamp(1, most)
    }

    pub(crate) fn hash(&mut self) -> KeyHash {
        KeyHash::from_u64(self.next())
    }

    pub(crate) fn hashes(&mut self, count: usize) -> Vec<KeyHash> {
        (0..count).map(|_| self.hash()).collect()
    }
}
