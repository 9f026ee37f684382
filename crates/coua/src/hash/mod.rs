//! Hashes key bytes to 64 bits.
//!
//! The hash is part of every filter's meaning: it is specified outside this project, seeded, the
//! same on every platform and in every language, and written into snapshots. Two algorithms:
//!
//! * **XXH3-64** (Yann Collet's xxHash 0.8) with a 64-bit seed: the default, a few ns for a short
//!   key. Not safe where keys are chosen with knowledge of the seed.
//! * **SipHash-1-3** (Aumasson and Bernstein 2012, reduced rounds) with a 128-bit key: for filters
//!   that meet hostile keys.

mod key;

use std::fmt;
use std::ops::RangeInclusive;

pub use key::{Key, KeyPart};
use siphasher::sip::SipHasher13;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The 64-bit hash of a key. A filter uses nothing else of the key.
///
/// Filters use the *most significant* bits for the place and the bits after them for the
/// fingerprint, so a `KeyHash` from another source must be uniform in all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Makes a hash from 64 uniform bits.
    #[inline]
    pub const fn from_u64(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The number (from 0) of the share of this key, if all keys are divided into `shares` equal shares, such as
    /// files, runs or machines.
    ///
    /// A filter places keys by the first bits of their hashes, which must differ within a share, so
    /// the last byte counts most here. The division is the same in every version and on every machine.
    ///
    /// ```
    /// use coua::KeyHasher;
    ///
    /// assert_eq!(KeyHasher::default().hash("kestrel").share(8), 3);
    /// ```
    #[inline]
    pub const fn share(self, shares: u32) -> u32 {
        let share = self.0.swap_bytes() as u128 * shares as u128;
        (share >> u64::BITS) as u32
    }
}

/// Hashes keys for a filter: an algorithm with its seed or key. Small and `Copy`. Equal hashers compute the same hash for
/// every key.
///
/// ```
/// use coua::KeyHasher;
///
/// assert_eq!(KeyHasher::default(), KeyHasher::Xxh3 { seed: 0 });
/// assert_eq!(KeyHasher::default().hash("").to_u64(), 0x2d06_8005_38d3_94c2);
/// let keyed = KeyHasher::siphash13(*b"0123456789abcdef");
/// assert_ne!(keyed.hash("a"), KeyHasher::default().hash("a"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyHasher {
    /// XXH3-64 with a seed.
    Xxh3 {
        /// The 64-bit seed.
        seed: u64,
    },
    /// SipHash-1-3 with a secret key.
    SipHash13 {
        /// The 128-bit key.
        key: [u8; 16],
    },
}

impl fmt::Debug for KeyHasher {
    /// Hides the secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xxh3 { seed } => f.debug_struct("Xxh3").field("seed", seed).finish(),
            Self::SipHash13 { .. } => f.debug_struct("SipHash13").finish_non_exhaustive(),
        }
    }
}

impl Default for KeyHasher {
    /// XXH3-64 with seed 0, so that filters built on different machines agree.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

impl KeyHasher {
    /// XXH3-64 with `seed`.
    pub const fn xxh3(seed: u64) -> Self {
        Self::Xxh3 { seed }
    }

    /// SipHash-1-3 with a 128-bit `key`, which should be random and secret.
    pub const fn siphash13(key: [u8; 16]) -> Self {
        Self::SipHash13 { key }
    }

    /// Hashes short keys inline, so that the hash of the next key overlaps with the memory accesses of this one.
    #[inline(always)]
    fn hash_bytes(self, key: &[u8]) -> KeyHash {
        match self {
            Self::Xxh3 { seed } if SHORT.contains(&key.len()) => KeyHash(xxh3_short(key, seed)),
            _ => self.hash_any(key),
        }
    }

    #[inline(never)]
    fn hash_any(self, key: &[u8]) -> KeyHash {
        KeyHash(match self {
            Self::Xxh3 { seed } => xxh3_64_with_seed(key, seed),
            Self::SipHash13 { key: secret } => SipHasher13::new_with_key(&secret).hash(key),
        })
    }
}

/// The lengths that [`xxh3_short`] hashes.
const SHORT: RangeInclusive<usize> = 4..=16;

// Words of the secret of XXH3, combined as its functions combine them.
const FLIP: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;
const FLIP_FIRST: u64 = 0x1f67_b3b7_a4a4_4072 ^ 0x78e5_c0cc_4ee6_79cb;
const FLIP_LAST: u64 = 0x2172_ffcc_7dd0_5a82 ^ 0x8e24_43f7_7446_08b8;
const SHORT_FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
const FACTOR: u64 = 0x1656_6791_9e37_79f9;

/// XXH3-64 of a key whose length is one of [`SHORT`]: integers, and short strings. Yann Collet's xxHash 0.8.1,
/// `XXH3_len_4to8_64b` and `XXH3_len_9to16_64b`, small enough to be inlined.
#[inline(always)]
fn xxh3_short(key: &[u8], seed: u64) -> u64 {
    if key.len() > 8
        && let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk())
    {
        return longer(*first, *last, key.len(), seed);
    }
    let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) else {
        unreachable!("a key of 4 bytes and more")
    };
    up_to_8_bytes(*first, *last, key.len(), seed)
}

#[inline(always)]
fn up_to_8_bytes(first: [u8; 4], last: [u8; 4], length: usize, seed: u64) -> u64 {
    let seed = seed ^ (u64::from((seed as u32).swap_bytes()) << 32);
    let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(four)));
    let mut hash = (last.wrapping_add(first << 32)) ^ FLIP.wrapping_sub(seed);
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(SHORT_FACTOR);
    hash ^= (hash >> 35).wrapping_add(length as u64);
    hash = hash.wrapping_mul(SHORT_FACTOR);
    hash ^ (hash >> 28)
}

#[inline(always)]
fn longer(first: [u8; 8], last: [u8; 8], length: usize, seed: u64) -> u64 {
    let first = u64::from_le_bytes(first) ^ FLIP_FIRST.wrapping_add(seed);
    let last = u64::from_le_bytes(last) ^ FLIP_LAST.wrapping_sub(seed);
    let product = u128::from(first) * u128::from(last);
    let folded = (product >> 64) as u64 ^ product as u64;
    let sum = (length as u64).wrapping_add(first.swap_bytes()).wrapping_add(last);
    let mut hash = sum.wrapping_add(folded);
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_same_on_every_machine() {
        let hashes = [0, 0x33, 0x34, 0x9999_9999_9999_9999, 0x1234_5678_9abc_deff, u64::MAX];
        assert_eq!(hashes.map(|hash| KeyHash::from_u64(hash).share(5)), [0, 0, 1, 2, 4, 4]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn each_share_has_its_part_of_the_keys() {
        for shares in [1, 2, 3, 8, 1000] {
            let mut keys = vec![0; shares as usize];
            for number in 0..100_000 {
                keys[KeyHasher::default().hash(number).share(shares) as usize] += 1;
            }
            let mean = 100_000.0 / f64::from(shares);
            let far = |keys: &i32| (f64::from(*keys) - mean).abs() > 6.0 * mean.sqrt();
            assert!(!keys.iter().any(far), "{shares}: {keys:?}");
        }
    }

    #[test]
    fn debug_text_does_not_tell_the_secret_key() {
        let text = format!("{:?}", KeyHasher::siphash13([77; 16]));
        assert!(text.contains("SipHash13") && !text.contains("77"), "{text}");
    }

    #[test]
    fn short_keys_are_hashed_as_the_crate_hashes_them() {
        let bytes: [u8; 16] = std::array::from_fn(|place| (place as u8).wrapping_mul(157) ^ 0x5a);
        for seed in [0, 1, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
            for length in SHORT {
                let keys = [&bytes[..length], &bytes[16 - length..], &[0xff; 16][..length]];
                for key in keys {
                    assert_eq!(xxh3_short(key, seed), xxh3_64_with_seed(key, seed));
                }
            }
        }
    }
}
