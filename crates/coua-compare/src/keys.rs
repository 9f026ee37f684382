//! The keys all contestants get: the n-th of a row of distinct ones, made anew for every block, so
//! that they take no memory beside the filter and no time within the measurement.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHash, KeyHasher};
use hashbrown::Equivalent;

use crate::generate::mix;

/// Keys of the other half of the row: never inserted.
const ABSENT: u64 = 1 << 40;

/// A kind of key.
pub(crate) trait Key:
    Copy + Hash + Eq + Send + Sync + Equivalent<Self::Exact> + 'static
{
    /// What an exact set has to keep.
    type Exact: Hash + Eq + Send + Sync;
    /// What tables call it.
    const NAME: &'static str;
    /// What files are named after.
    const SHORT_NAME: &'static str;
    /// Keys in one block: few enough for the caches, many enough for a batch.
    const BLOCK: usize;

    /// The n-th key; all differ.
    fn nth(n: u64) -> Self;
    /// The key as an exact set keeps it.
    fn exact(&self) -> Self::Exact;
    /// The key's hash, computed as the library computes it.
    fn hashed(&self, hasher: KeyHasher) -> KeyHash;
    /// The key taken for its own hash: keys of type u64 are uniform already.
    fn ready(&self) -> KeyHash;
    /// Coua's filter of these keys, built from all at once.
    fn built(builder: CuckooFilterBuilder, keys: &[Self]) -> Result<CuckooFilter, BuildError>;
}

impl Key for u64 {
    type Exact = Self;
    const NAME: &'static str = "u64";
    const SHORT_NAME: &'static str = "u64";
    const BLOCK: usize = 4096;

    #[inline]
    fn nth(n: u64) -> Self {
        mix(n)
    }

    #[inline]
    fn exact(&self) -> Self {
        *self
    }

    #[inline]
    fn hashed(&self, hasher: KeyHasher) -> KeyHash {
        hasher.hash(*self)
    }

    #[inline]
    fn ready(&self) -> KeyHash {
        KeyHash::from_u64(*self)
    }

    fn built(builder: CuckooFilterBuilder, keys: &[Self]) -> Result<CuckooFilter, BuildError> {
        builder.build_from(keys)
    }
}

const LONGEST: usize = 80;

/// A string of 30 to 80 bytes, kept in place so that reading it costs no further cache miss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    length: u8,
    bytes: [u8; LONGEST],
}

impl AsRef<[u8]> for Text {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl coua::Key for Text {
    #[inline]
    fn hash_with(&self, hasher: KeyHasher) -> KeyHash {
        hasher.hash(self.as_ref())
    }
}

impl Hash for Text {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Text {}

impl Equivalent<Box<[u8]>> for Text {
    fn equivalent(&self, kept: &Box<[u8]>) -> bool {
        self.as_ref() == &**kept
    }
}

impl Key for Text {
    type Exact = Box<[u8]>;
    const NAME: &'static str = "strings of 30 to 80 bytes";
    const SHORT_NAME: &'static str = "strings";
    const BLOCK: usize = 1024;

    fn nth(n: u64) -> Self {
        let mut bytes = [0; LONGEST];
        let first = mix(n);
        let mut word = first;
        for eight in bytes.chunks_exact_mut(8) {
            for (place, byte) in eight.iter_mut().enumerate() {
                *byte = (word >> (8 * place)) as u8;
            }
            word = mix(word ^ n);
        }
        Self { length: 30 + (first.rotate_left(20) % 51) as u8, bytes }
    }

    fn exact(&self) -> Box<[u8]> {
        self.as_ref().into()
    }

    #[inline]
    fn hashed(&self, hasher: KeyHasher) -> KeyHash {
        hasher.hash(self.as_ref())
    }

    fn ready(&self) -> KeyHash {
        self.hashed(KeyHasher::default())
    }

    fn built(builder: CuckooFilterBuilder, keys: &[Self]) -> Result<CuckooFilter, BuildError> {
        builder.build_from(keys)
    }
}

/// Which keys of the row are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Those that were inserted.
    Present,
    /// Those that never were.
    Absent,
    /// One or the other, at random.
    Half,
}

impl Row {
    /// The n-th key of this row.
    #[inline]
    pub(crate) fn key<K: Key>(self, n: u64) -> K {
        let absent = match self {
            Self::Present => false,
            Self::Absent => true,
            Self::Half => mix(!n) & 1 == 1,
        };
        K::nth(if absent { n + ABSENT } else { n })
    }

    /// The keys of these numbers.
    pub(crate) fn keys<K: Key>(self, numbers: Range<u64>) -> impl Iterator<Item = K> {
        numbers.map(move |n| self.key(n))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Key, Row, Text};

    #[test]
    fn keys_differ_and_strings_have_30_to_80_bytes() {
        let texts: HashSet<Text> = (0..10_000).map(Text::nth).collect();
        assert_eq!(texts.len(), 10_000);
        let lengths: HashSet<usize> = texts.iter().map(|text| text.as_ref().len()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&30), Some(&80)));
    }

    #[test]
    fn half_of_the_half_row_is_present() {
        let present = (0..10_000).filter(|&n| Row::Half.key::<u64>(n) == u64::nth(n)).count();
        assert!((4_800..5_200).contains(&present), "{present}");
        assert!((0..10_000).all(|n| Row::Absent.key::<u64>(n) != u64::nth(n)));
    }
}
