//! Serde support: filters are serialized as the bytes of their snapshots.

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{self, Serialize, Serializer};
use serde_bytes::ByteBuf;

use crate::filter::CuckooFilter;
use crate::snapshot::load::Load;
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
                let bytes = ByteBuf::deserialize(deserializer)?;
                Load::new().bytes(&bytes).map_err(de::Error::custom)
            }
        }
    };
}

as_snapshot!(CuckooFilter);
as_snapshot!(Generations);
