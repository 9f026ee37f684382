//! [`Key`]: what can be hashed.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::{KeyHash, KeyHasher};

/// What filters take as keys: bytes, integers, and hashes made elsewhere.
///
/// * Strings, byte slices, arrays and vectors are hashed as their bytes.
/// * Integers are hashed as eight bytes, little endian, whatever their type: `7_u8` and `7_i64` are one
///   key. Negative numbers are sign-extended first.
/// * A [`KeyHash`] is taken as it is.
///
/// The hash is part of what a filter stores, so it must be the same in every version and on every
/// platform. An implementation for another type hands bytes, or an integer, on to the hasher:
///
/// ```
/// use coua::{CuckooFilter, Key, KeyHash, KeyHasher};
///
/// struct Customer {
///     number: u64,
///     name: String,
/// }
///
/// impl Key for Customer {
///     fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
///         hasher.hash(self.number)
///     }
/// }
///
/// let mut seen = CuckooFilter::new();
/// seen.insert(Customer { number: 7, name: "Ada".into() })?;
/// assert!(seen.contains(7_u64));
/// # Ok::<(), coua::Full>(())
/// ```
pub trait Key {
    /// The hash of this key.
    fn hash_with(&self, hasher: KeyHasher) -> KeyHash;

    /// The hashes of many keys, in order. `space` may be used for them.
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

/// How keys of these types are hashed.
macro_rules! keys {
    (|$key:ident, $hasher:ident| $hash:expr => $([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> Key for $type {
            #[inline]
            fn hash_with(&self, $hasher: KeyHasher) -> KeyHash {
                let $key = self;
                $hash
            }
        }
    )*};
}

// As their bytes.
keys!(|key, hasher| hasher.hash_bytes(key.as_ref()) => [] [u8], [] str, [const N: usize] [u8; N]);

// As the key that they stand for.
keys!(|key, hasher| (**key).hash_with(hasher) =>
    [] String,
    [] Vec<u8>,
    [K: Key + ?Sized] &K,
    [K: Key + ?Sized] &mut K,
    [K: Key + ?Sized] Box<K>,
    [K: Key + ?Sized] Rc<K>,
    [K: Key + ?Sized] Arc<K>,
    [K: Key + ToOwned + ?Sized] Cow<'_, K>
);

// As eight bytes, and narrower ones as the wider integer of the same value.
keys!(|key, hasher| hasher.hash_bytes(&key.to_le_bytes()) => [] u64, [] i64);
keys!(|key, hasher| u64::from(*key).hash_with(hasher) => [] u8, [] u16, [] u32);
keys!(|key, hasher| i64::from(*key).hash_with(hasher) => [] i8, [] i16, [] i32);
keys!(|key, hasher| (*key as u64).hash_with(hasher) => [] usize);
keys!(|key, hasher| (*key as i64).hash_with(hasher) => [] isize);

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
            let seven = hasher.hash([7, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!([hasher.hash(7_u8), hasher.hash(7_i16), hasher.hash(7_u64)], [seven; 3]);
            let minus_one = hasher.hash([0xff; 8]);
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
}
