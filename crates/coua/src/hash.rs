//! From key bytes to 64 hash bits.
//!
//! The hash is part of every filter's meaning: it is specified outside this project, seeded, the
//! same on every platform and in every language, and written into snapshots. Two algorithms:
//!
//! * **XXH3-64** (Yann Collet's xxHash 0.8) with a 64-bit seed: the default, a few ns for a short
//!   key. Not safe against somebody who chooses keys and knows the seed.
//! * **SipHash-1-3** (Aumasson and Bernstein 2012, reduced rounds) with a 128-bit key: for filters
//!   that meet hostile keys.

use std::fmt;

use siphasher::sip::SipHasher13;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The 64-bit hash of a key: all that a filter ever sees of it.
///
/// Filters take the *most significant* bits as the place and the bits after them as the
/// fingerprint, so a `KeyHash` made by hand must be uniform in all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Takes 64 bits that are already a uniform hash of the key.
    ///
    /// ```
    /// # use coua::KeyHash;
    /// assert_eq!(KeyHash::from_u64(7).to_u64(), 7);
    /// ```
    #[inline]
    pub const fn from_u64(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    ///
    /// ```
    /// assert_eq!(coua::KeyHash::from_u64(7).to_u64(), 7);
    /// ```
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

/// A hash algorithm together with its seed or key.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashAlgorithm {
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

impl fmt::Debug for HashAlgorithm {
    /// Keeps the secret key to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xxh3 { seed } => f.debug_struct("Xxh3").field("seed", seed).finish(),
            Self::SipHash13 { .. } => f.debug_struct("SipHash13").finish_non_exhaustive(),
        }
    }
}

/// Hashes keys for a filter. Small and `Copy`; filters with equal hashers agree about every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    algorithm: HashAlgorithm,
}

impl Default for KeyHasher {
    /// XXH3-64 with seed 0, so that filters built on different machines agree.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

impl KeyHasher {
    /// XXH3-64 with `seed`.
    ///
    /// ```
    /// # use coua::KeyHasher;
    /// assert_eq!(KeyHasher::xxh3(0).hash(b"").to_u64(), 0x2d06_8005_38d3_94c2);
    /// ```
    pub const fn xxh3(seed: u64) -> Self {
        Self { algorithm: HashAlgorithm::Xxh3 { seed } }
    }

    /// SipHash-1-3 with a 128-bit `key`, which should be random and secret.
    ///
    /// ```
    /// # use coua::KeyHasher;
    /// let keyed = KeyHasher::siphash13(*b"0123456789abcdef");
    /// assert_ne!(keyed.hash(b"a"), KeyHasher::default().hash(b"a"));
    /// ```
    pub const fn siphash13(key: [u8; 16]) -> Self {
        Self { algorithm: HashAlgorithm::SipHash13 { key } }
    }

    /// The algorithm and its seed or key.
    ///
    /// ```
    /// use coua::{HashAlgorithm, KeyHasher};
    /// assert_eq!(KeyHasher::xxh3(3).algorithm(), HashAlgorithm::Xxh3 { seed: 3 });
    /// ```
    pub const fn algorithm(self) -> HashAlgorithm {
        self.algorithm
    }

    /// Hashes the bytes of a key. O(bytes), never fails.
    ///
    /// ```
    /// # use coua::KeyHasher;
    /// let hasher = KeyHasher::default();
    /// assert_eq!(hasher.hash(b"kestrel"), hasher.hash("kestrel".as_bytes()));
    /// ```
    #[inline]
    pub fn hash(self, key: &[u8]) -> KeyHash {
        KeyHash(match self.algorithm {
            HashAlgorithm::Xxh3 { seed } => xxh3_64_with_seed(key, seed),
            HashAlgorithm::SipHash13 { key: secret } => {
                SipHasher13::new_with_key(&secret).hash(key)
            }
        })
    }

    /// Hashes an integer as its eight bytes, little endian.
    ///
    /// ```
    /// # use coua::KeyHasher;
    /// let hasher = KeyHasher::default();
    /// assert_eq!(hasher.hash_u64(1), hasher.hash(&[1, 0, 0, 0, 0, 0, 0, 0]));
    /// ```
    #[inline]
    pub fn hash_u64(self, key: u64) -> KeyHash {
        self.hash(&key.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_text_does_not_tell_the_secret_key() {
        let text = format!("{:?}", KeyHasher::siphash13([77; 16]));
        assert!(text.contains("SipHash13") && !text.contains("77"), "{text}");
    }
}
