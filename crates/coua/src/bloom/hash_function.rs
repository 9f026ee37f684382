//! Hash functions of the user's own, and the three that textbooks use.

use std::fmt;
use std::sync::Arc;

/// A function from key bytes to 64 bits, for a
/// [`ClassicBloomFilter`](crate::bloom::ClassicBloomFilter).
///
/// It must be pure: the same bytes give the same value, always. Values need not fill 64 bits; the
/// filter takes them modulo its number of bits.
///
/// ```
/// use coua::bloom::HashFunction;
///
/// let length = HashFunction::new(|key| key.len() as u64);
/// assert_eq!(length.hash(b"wren"), 4);
/// ```
#[derive(Clone)]
pub struct HashFunction(Arc<Function>);

type Function = dyn Fn(&[u8]) -> u64 + Send + Sync;

impl HashFunction {
    /// Wraps a function or closure.
    pub fn new(function: impl Fn(&[u8]) -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// FNV-1 with 64 bits.
    pub fn fnv1() -> Self {
        Self::new(fnv1)
    }

    /// FNV-1a with 64 bits.
    pub fn fnv1a() -> Self {
        Self::new(fnv1a)
    }

    /// `MurmurHash3_x86_32` with a seed: 32 bits, so for filters of far fewer than 2^32 bits.
    pub fn murmur3(seed: u32) -> Self {
        Self::new(move |key| u64::from(murmur3(key, seed)))
    }

    /// The value of `key`.
    pub fn hash(&self, key: &[u8]) -> u64 {
        (self.0)(key)
    }

    /// Whether two functions agree about a few keys. Code cannot be compared; functions that agree
    /// about these and differ elsewhere would have to be made so on purpose.
    pub(super) fn seems_equal(&self, other: &Self) -> bool {
        const KEYS: [&[u8]; 4] = [b"", b"a", b"coua", b"an insert-only set of thirty-eight bytes"];
        Arc::ptr_eq(&self.0, &other.0) || KEYS.iter().all(|key| self.hash(key) == other.hash(key))
    }
}

impl fmt::Debug for HashFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("HashFunction")
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Fowler, Noll, Vo, 64 bits (IETF draft-eastlake-fnv): multiply, then add the byte without carry.
fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| hash.wrapping_mul(FNV_PRIME) ^ u64::from(byte))
}

/// The same steps in the other order, which spreads the last byte.
fn fnv1a(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// Austin Appleby's `MurmurHash3_x86_32` (public domain). Crates that have it take a reader, or have
/// one owner; it is 15 lines and pinned by the published values.
fn murmur3(key: &[u8], seed: u32) -> u32 {
    let (chunks, rest) = key.as_chunks();
    let mut hash = seed;
    for chunk in chunks {
        hash ^= scrambled(u32::from_le_bytes(*chunk));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // One to three bytes are left, little endian; of zero bytes this changes nothing.
    hash ^= scrambled(rest.iter().rev().fold(0, |tail, &byte| (tail << 8) | u32::from(byte)));
    // The reference takes the length as an int; modulo 2^32 it is the same.
    hash ^= key.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn scrambled(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_its_published_values() {
        // The test vectors of the FNV reference code.
        for (key, one, one_a) in [
            ("", 0xcbf2_9ce4_8422_2325, 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_bd4c_8601_b7be, 0xaf63_dc4c_8601_ec8c),
            ("b", 0xaf63_bd4c_8601_b7bd, 0xaf63_df4c_8601_f1a5),
            ("foobar", 0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8),
        ] {
            assert_eq!((fnv1(key.as_bytes()), fnv1a(key.as_bytes())), (one, one_a), "{key}");
        }
    }

    #[test]
    fn murmur3_has_its_published_values() {
        for (key, seed, value) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("a", 0x9747_b28c, 0x7fa0_9ea6),
            ("aa", 0x9747_b28c, 0x5d21_1726),
            ("aaa", 0x9747_b28c, 0x283e_0130),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
            ("test", 0, 0xba6b_d213),
            ("Hello, world!", 0, 0xc036_3e43),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
            ("The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3(key.as_bytes(), seed), value, "{key} {seed:x}");
        }
    }

    #[test]
    fn functions_are_told_apart_by_their_values() {
        assert!(HashFunction::fnv1().seems_equal(&HashFunction::fnv1()));
        assert!(!HashFunction::fnv1().seems_equal(&HashFunction::fnv1a()));
        assert!(!HashFunction::murmur3(0).seems_equal(&HashFunction::murmur3(1)));
    }
}
