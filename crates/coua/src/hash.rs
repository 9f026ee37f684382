//! Hashes key bytes to 64 bits.
//!
//! The hash is part of every filter's meaning: it is specified outside this project, seeded, the
//! same on every platform and in every language, and written into snapshots. Two algorithms:
//!
//! * **XXH3-64** (Yann Collet's xxHash 0.8) with a 64-bit seed: the default, a few ns for a short
//!   key. Not safe where keys are chosen with knowledge of the seed.
//! * **SipHash-1-3** (Aumasson and Bernstein 2012, reduced rounds) with a 128-bit key: for filters
//!   that meet hostile keys.
//!
//! A [`Key`] is a type that can be hashed, a [`KeyPart`] one that has bytes.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;
#[cfg(unix)]
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

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
/// let keyed = KeyHasher::SipHash13 { key: *b"0123456789abcdef" };
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
        /// The 128-bit key, which should be random.
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
        Self::Xxh3 { seed: 0 }
    }
}

impl KeyHasher {
    /// Hashes a key. O(bytes).
    #[inline]
    pub fn hash<K: Key>(self, key: K) -> KeyHash {
        key.hash_with(self)
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

/// A key of a filter: bytes, a type with one stable form as bytes, or a hash computed elsewhere.
///
/// | type | hashed as |
/// |---|---|
/// | strings, slices, arrays and vectors of bytes | their bytes |
/// | integers of up to 64 bits, `bool` | eight bytes, little endian, whatever the type: `7_u8` and `7_i64` are one key; negative numbers are sign-extended |
/// | `u128`, `i128` | 16 bytes, little endian |
/// | arrays of other integers, such as `[u32; 4]` | their elements' bytes, little endian, each as wide as its type |
/// | `char` | its UTF-8 bytes, as the string of this one character |
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | 4 or 16 bytes in network order |
/// | `Path`, `OsStr` (Unix) | their bytes, not normalized |
/// | `Uuid` (feature `uuid`) | its 16 bytes |
/// | tuples of two to six of these | each part after its length, eight bytes, little endian: `("ab", "c")` is not `("a", "bc")` |
/// | [`KeyHash`] | used unchanged |
///
/// Filters store the hash, so it must be the same in every version and on every
/// platform. An implementation for another type passes bytes, an integer or a tuple to the hasher:
///
/// ```
/// use coua::{CuckooFilter, Key, KeyHash, KeyHasher};
///
/// struct Customer {
///     country: String,
///     number: u64,
///     name: String,
/// }
///
/// impl Key for Customer {
///     fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
///         hasher.hash((&self.country, self.number))
///     }
/// }
///
/// let mut seen = CuckooFilter::new();
/// seen.insert(Customer { country: "gb".into(), number: 7, name: "Ada".into() })?;
/// assert!(seen.contains(("gb", 7)));
/// # Ok::<(), coua::Full>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key of a filter",
    label = "has no bytes or hash that are the same everywhere",
    note = "keys are bytes and strings, integers, `bool`, `char`, addresses, tuples of these, and `KeyHash`",
    note = "for another type, use what identifies the value, such as `(&value.name, value.number)` or \
            `value.to_bits()`, or implement `coua::Key`"
)]
pub trait Key {
    /// The hash of this key.
    fn hash_with(&self, hasher: KeyHasher) -> KeyHash;

    /// The hashes of many keys, in order. `space` may hold them.
    #[inline]
    fn hash_all<'a>(
        keys: &'a [Self],
        hasher: KeyHasher,
        space: &'a mut Vec<KeyHash>,
    ) -> &'a [KeyHash]
    where
        Self: Sized,
    {
        space.clear();
        space.extend(keys.iter().map(|key| key.hash_with(hasher)));
        space
    }
}

/// A key that has bytes, so that it can be a part of a tuple: every [`Key`] of this crate except tuples and
/// [`KeyHash`]es.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a part of a key",
    label = "has no bytes that are the same everywhere",
    note = "implement `coua::KeyPart` for it, or use its bytes"
)]
pub trait KeyPart {
    /// Calls `use_bytes` with the bytes.
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

impl Key for KeyHash {
    #[inline]
    fn hash_with(&self, _hasher: KeyHasher) -> Self {
        *self
    }

    #[inline]
    fn hash_all<'a>(keys: &'a [Self], _: KeyHasher, _: &'a mut Vec<Self>) -> &'a [Self] {
        keys
    }
}

/// The bytes of keys of these types.
macro_rules! keys {
    (|$key:ident, $use_bytes:ident| $used:expr => $([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> KeyPart for $type {
            #[inline]
            fn with_bytes<R>(&self, $use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                let $key = self;
                $used
            }
        }

        impl<$($generics)*> Key for $type {
            #[inline]
            fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
                self.with_bytes(|bytes| hasher.hash_bytes(bytes))
            }
        }
    )*};
}

keys!(|key, bytes| bytes(key) => [] [u8], [] Vec<u8>, [const N: usize] [u8; N]);
keys!(|key, bytes| bytes(key.as_bytes()) => [] str, [] String);

// Narrower integers hash like wider ones of the same value.
keys!(|key, bytes| bytes(&key.to_le_bytes()) => [] u64, [] i64, [] u128, [] i128);
keys!(|key, bytes| u64::from(*key).with_bytes(bytes) => [] u8, [] u16, [] u32, [] bool);
keys!(|key, bytes| i64::from(*key).with_bytes(bytes) => [] i8, [] i16, [] i32);
keys!(|key, bytes| (*key as u64).with_bytes(bytes) => [] usize, [] isize);

macro_rules! integer_keys {
    ($($integer:ident),*) => {
        $(keys!(|key, bytes| bytes(key.map($integer::to_le_bytes).as_flattened()) => [const N: usize] [$integer; N]);)*
    };
}

// Not `usize`, whose width depends on the machine.
integer_keys!(u16, u32, u64, u128, i8, i16, i32, i64, i128);

keys!(|key, bytes| bytes(key.encode_utf8(&mut [0; 4]).as_bytes()) => [] char);
keys!(|key, bytes| bytes(&key.octets()) => [] Ipv4Addr, [] Ipv6Addr);
keys!(|key, bytes| match key {
    IpAddr::V4(key) => key.with_bytes(bytes),
    IpAddr::V6(key) => key.with_bytes(bytes),
} => [] IpAddr);

#[cfg(unix)]
keys!(|key, bytes| bytes(key.as_bytes()) => [] OsStr, [] OsString);
#[cfg(unix)]
keys!(|key, bytes| bytes(key.as_os_str().as_bytes()) => [] Path, [] PathBuf);

#[cfg(feature = "uuid")]
keys!(|key, bytes| bytes(key.as_bytes()) => [] uuid::Uuid);

/// As the key that they point to.
macro_rules! pointers {
    ($($type:ty: [$($bound:tt)*]),*) => {$(
        impl<K: Key + ?Sized $($bound)*> Key for $type {
            #[inline]
            fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
                (**self).hash_with(hasher)
            }
        }

        impl<K: KeyPart + ?Sized $($bound)*> KeyPart for $type {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(use_bytes)
            }
        }
    )*};
}

pointers!(&K: [], &mut K: [], Box<K>: [], Rc<K>: [], Arc<K>: [], Cow<'_, K>: [+ ToOwned]);

/// As their parts, each after its length.
macro_rules! tuples {
    ($(($($part:ident $place:tt),*)),*) => {$(
        impl<$($part: KeyPart),*> Key for ($($part,)*) {
            #[inline]
            fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
                let mut joined = Vec::with_capacity(TUPLE_BYTES);
                $(append(&self.$place, &mut joined);)*
                hasher.hash_bytes(&joined)
            }
        }
    )*};
}

/// Enough for most.
const TUPLE_BYTES: usize = 128;

tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3), (A 0, B 1, C 2, D 3, E 4), (A 0, B 1, C 2, D 3, E 4, F 5));

#[inline]
fn append(part: &impl KeyPart, joined: &mut Vec<u8>) {
    part.with_bytes(|bytes| {
        joined.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        joined.extend_from_slice(bytes);
    });
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
        let text = format!("{:?}", KeyHasher::SipHash13 { key: [77; 16] });
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

    #[test]
    fn equal_keys_of_different_types_have_one_hash() {
        for hasher in [KeyHasher::Xxh3 { seed: 3 }, KeyHasher::SipHash13 { key: [1; 16] }] {
            let text = hasher.hash(b"wren");
            let owned = [hasher.hash("wren".to_owned()), hasher.hash(b"wren".to_vec())];
            assert_eq!(owned, [text; 2]);
            let shared: [Box<str>; 1] = ["wren".into()];
            assert_eq!([hasher.hash(&shared[0]), hasher.hash(Cow::from("wren"))], [text; 2]);
            assert_eq!([hasher.hash(Rc::new("wren")), hasher.hash(Arc::new("wren"))], [text; 2]);
            let seven = hasher.hash([7_u8, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!([hasher.hash(7_u8), hasher.hash(7_i16), hasher.hash(7_u64)], [seven; 3]);
            let minus_one = hasher.hash([0xff_u8; 8]);
            assert_eq!(
                [hasher.hash(-1_i8), hasher.hash(-1_i64), hasher.hash(u64::MAX)],
                [minus_one; 3]
            );
            assert_eq!(hasher.hash(seven), seven);
        }
    }

    #[test]
    fn hashes_are_not_copied() {
        let (hashes, mut space) = ([1, 2].map(KeyHash::from_u64), Vec::new());
        let same = KeyHash::hash_all(&hashes, KeyHasher::default(), &mut space);
        assert!(std::ptr::eq(same, &hashes) && space.is_empty());
    }

    /// The bytes of keys, hashed by another implementation of XXH3 (seed 0).
    #[test]
    fn hashes_of_all_types_are_a_promise() {
        let hasher = KeyHasher::default();
        let [v4, v6] = ["192.0.2.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().unwrap());
        let mut goldens = vec![
            (hasher.hash(7_u64), 0x8167_1e58_d6b5_96af),
            (hasher.hash(-1_i8), 0x5111_c7e4_7d78_4413),
            (hasher.hash(true), 0x2fbc_5935_64db_792e),
            (hasher.hash(false), 0xc77b_3abb_6f87_acd9),
            (hasher.hash(1_u128 << 100), 0xad32_feb5_5d7e_624d),
            (hasher.hash(-2_i128), 0xfccd_a5e5_0c11_3104),
            (hasher.hash('a'), 0xe6c6_32b6_1e96_4e1f),
            (hasher.hash('\u{e9}'), 0xf794_0a00_6cf1_0cb3),
            (hasher.hash([1, u32::MAX]), 0x621a_ff70_cfb2_92e2),
            (hasher.hash([-1_i16, 2, 3]), 0x857d_e926_229e_5a97),
            (hasher.hash([1_u64, 2]), 0x07ee_86c2_8144_6bef),
            (hasher.hash(v4), 0x2c1c_901e_ed9a_dc4a),
            (hasher.hash(v6), 0x275c_8fa5_8c2d_19a0),
            (hasher.hash(("ab", "c")), 0x642d_4deb_febf_33ae),
            (hasher.hash(("user", 7_u64, Ipv4Addr::LOCALHOST)), 0x0bc4_900f_d323_e0a7),
        ];
        #[cfg(unix)]
        goldens.push((hasher.hash(std::path::Path::new("/etc/hosts")), 0x4b99_7af5_2093_6073));
        #[cfg(feature = "uuid")]
        goldens.push((
            hasher.hash(uuid::uuid!("67e55044-10b1-426f-9247-bb680e5fe0c8")),
            0xd72a_412b_133e_cb93,
        ));
        for (number, (hash, golden)) in goldens.into_iter().enumerate() {
            assert_eq!(hash.to_u64(), golden, "{number}");
        }
    }

    #[test]
    fn every_type_is_its_stated_bytes() {
        for hasher in [KeyHasher::Xxh3 { seed: 3 }, KeyHasher::SipHash13 { key: [1; 16] }] {
            let is = |hash, bytes: &[u8]| assert_eq!(hash, hasher.hash(bytes), "{bytes:?}");
            is(hasher.hash([1_u16, 2]), &[1, 0, 2, 0]);
            is(hasher.hash([-1_i8, 2]), &[255, 2]);
            is(hasher.hash([1_i32, -1]), &[1, 0, 0, 0, 255, 255, 255, 255]);
            is(hasher.hash([1_u128]), &[&[1][..], &[0; 15]].concat());
            is(hasher.hash([3_i64; 2]), b"\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0");
            is(hasher.hash([3_i128]), &[&[3][..], &[0; 15]].concat());
            is(hasher.hash('\u{20ac}'), "\u{20ac}".as_bytes());
            is(hasher.hash(Box::new(("ab", 'c'))), b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c");
            let parts = [["a"; 6], ["bb"; 6]].map(|[a, b, c, d, e, f]| {
                [
                    hasher.hash((a, b)),
                    hasher.hash((a, b, c)),
                    hasher.hash((a, b, c, d)),
                    hasher.hash((a, b, c, d, e)),
                    hasher.hash((a, b, c, d, e, f)),
                ]
            });
            for (text, hashes) in ["a", "bb"].into_iter().zip(parts) {
                let part = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
                for (count, hash) in (2..).zip(hashes) {
                    is(hash, &part.repeat(count));
                }
            }
            #[cfg(unix)]
            is(hasher.hash(std::ffi::OsString::from("a/b")), b"a/b");
        }
    }
}
