//! One Bloom filter of a chain.

use super::super::error::{LoadError, number};
use super::super::memory::{OutOfMemory, copied, zeroed};
use super::options::{Hashes, Sizing};
use super::sizing::{Numbers, hashes};

/// A Bloom filter, and how many items set a bit of it.
#[derive(Debug)]
pub(super) struct Link {
    numbers: Numbers,
    items: u64,
    array: Vec<u8>,
}

impl Link {
    /// An empty one with the numbers of a plan.
    pub(super) fn planned(numbers: Numbers) -> Result<Self, OutOfMemory> {
        Ok(Self { numbers, items: 0, array: zeroed(numbers.bytes)? })
    }

    /// One with the numbers that a dump states.
    pub(super) fn over(numbers: Numbers, items: u64, array: Vec<u8>) -> Self {
        debug_assert_eq!(numbers.bytes, array.len() as u64);
        Self { numbers, items, array }
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self { array: copied(&self.array)?, ..*self })
    }

    pub(super) fn numbers(&self) -> &Numbers {
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

/// Checks the numbers that a dump states of a filter with so many items.
pub(super) fn check(numbers: &Numbers, items: u64, sizing: Sizing) -> Result<(), LoadError> {
    let Numbers { entries, error, bits_per_entry, bits, log2_bits, .. } = *numbers;
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
