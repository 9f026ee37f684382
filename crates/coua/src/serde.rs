//! Filters as values of serde's data model: the bytes of their snapshots.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{self, Serialize, Serializer};

use crate::cuckoo::CuckooFilter;
use crate::snapshot::{Load, Snapshot};
use crate::window::Generations;

/// Filters with a secret key cannot be deserialized, because the snapshot does not contain the key: read
/// their bytes with [`Load`].
macro_rules! as_snapshot {
    ($filter:ty) => {
        impl Serialize for $filter {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut bytes = Vec::new();
                self.write_to(&mut bytes).map_err(ser::Error::custom)?;
                serializer.serialize_bytes(&bytes)
            }
        }

        impl<'de> Deserialize<'de> for $filter {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_byte_buf(Bytes(PhantomData))
            }
        }
    };
}

as_snapshot!(CuckooFilter);
as_snapshot!(Generations);

struct Bytes<F>(PhantomData<F>);

impl<'de, F: Snapshot> Visitor<'de> for Bytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a filter's snapshot")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<F, E> {
        Load::new().bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<F, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
