//! [`Key`]: types that can be hashed. [`KeyPart`]: types that have bytes.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;
#[cfg(unix)]
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{KeyHash, KeyHasher};

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
keys!(|key, bytes| (*key as u64).with_bytes(bytes) => [] usize);
keys!(|key, bytes| (*key as i64).with_bytes(bytes) => [] isize);

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

impl KeyHasher {
    /// Hashes a key. O(bytes).
    #[inline]
    pub fn hash<K: Key>(self, key: K) -> KeyHash {
        key.hash_with(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_of_different_types_have_one_hash() {
        for hasher in [KeyHasher::xxh3(3), KeyHasher::siphash13([1; 16])] {
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
        for hasher in [KeyHasher::xxh3(3), KeyHasher::siphash13([1; 16])] {
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
