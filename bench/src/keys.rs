//! A sequence of distinct keys. They are generated for every block, so they take no memory beside the filter and no
//! measured time.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use coua::KeyHash;

/// Keys from this number on are never inserted.
pub const ABSENT: u64 = 1 << 40;

/// A kind of key.
pub trait Key: coua::Key + Copy + Hash + Eq + 'static {
    /// The n-th key; all are distinct.
    fn nth(n: u64) -> Self;
}

/// The finalizer of `SplitMix64`: a bijection of 64-bit values.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The keys with these numbers.
pub fn keys<K: Key>(numbers: Range<u64>) -> impl Iterator<Item = K> {
    numbers.map(K::nth)
}

impl Key for u64 {
    #[inline]
    fn nth(n: u64) -> Self {
        mix(n)
    }
}

impl Key for KeyHash {
    #[inline]
    fn nth(n: u64) -> Self {
        Self::from_u64(mix(n))
    }
}

/// A short string of 8 to 16 bytes, stored inline so that reading it costs no further cache miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    length: u8,
    bytes: [u8; 16],
}

impl Text {
    #[inline]
    fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl coua::Key for Text {
    #[inline]
    fn hash_with(&self, hasher: coua::KeyHasher) -> KeyHash {
        hasher.hash(self.text())
    }
}

impl Hash for Text {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl Key for Text {
    fn nth(n: u64) -> Self {
        let number = mix(n);
        let length = 8 + (n % 9) as u8;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&mix(number).to_le_bytes());
        bytes[usize::from(length)..].fill(0);
        Self { length, bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{ABSENT, Key, Text, keys};

    #[test]
    fn keys_differ_and_strings_have_8_to_16_bytes() {
        let all = [0..10_000, ABSENT..ABSENT + 10_000].map(keys);
        let texts: HashSet<Text> = all.into_iter().flatten().collect();
        assert_eq!(texts.len(), 20_000);
        let lengths: HashSet<usize> = (0..99).map(|n| Text::nth(n).text().len()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&8), Some(&16)));
    }
}
