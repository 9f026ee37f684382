//! Why a snapshot cannot be loaded.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::error::OutOfMemory;

/// The version of the format of one filter: the only one.
pub(super) const VERSION: u16 = 1;
/// The version of files of generations, whose parts are of [`VERSION`].
pub(crate) const GENERATIONS_VERSION: u16 = 2;

/// A snapshot cannot be loaded. Nothing of it was used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin like a filter.
    #[error("not a Coua filter")]
    NotAFilter,
    /// Written by a later version of the format.
    #[error("{}", unknown(*found))]
    Version {
        /// The version found.
        found: u16,
    },
    /// The bytes end too early, or continue after the end.
    #[error("{}", wrong_length(*expected, *found))]
    Length {
        /// Bytes that the header announces, at least.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A checksum does not match: the bytes were damaged.
    #[error("filter is damaged: the checksum of its {part} does not match")]
    Checksum {
        /// The damaged part.
        part: Part,
    },
    /// A field has a value that no filter has.
    #[error("filter is damaged: its {name} field holds {found}, which is impossible")]
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// Its value.
        found: u64,
    },
    /// The filter uses a secret hash key: read it with that key.
    #[error("filter needs its secret hash key to be read")]
    KeyNeeded,
    /// The secret hash key is not the one that the filter was built with.
    #[error("the secret hash key is not the one of this filter")]
    WrongKey,
    /// There is not enough memory for the filter.
    #[error("{0}")]
    OutOfMemory(#[from] OutOfMemory),
}

/// A part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The fixed fields at the beginning.
    Header,
    /// The list of segments.
    SegmentTable,
    /// The segment with this number, in hash order.
    Segment(u64),
    /// The exact counts.
    OverflowTable,
    /// The last bytes.
    Trailer,
    /// Bytes between the parts, which are zero.
    Padding,
    /// The filter of a generation with this number.
    Generation(u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::SegmentTable => f.write_str("segment table"),
            Self::Segment(number) => write!(f, "segment {number}"),
            Self::OverflowTable => f.write_str("overflow table"),
            Self::Trailer => f.write_str("trailer"),
            Self::Padding => f.write_str("padding"),
            Self::Generation(number) => write!(f, "generation {number}"),
        }
    }
}

fn unknown(version: u16) -> String {
    if version == GENERATIONS_VERSION {
        return format!(
            "filter has a window (format version {version}): only generations can be read from it, and only if \
             it is a regular file"
        );
    }
    format!(
        "filter format version {version} is not known (versions {VERSION} and {GENERATIONS_VERSION} are): it was \
         written by a newer coua, or is damaged"
    )
}

fn wrong_length(expected: u64, found: u64) -> String {
    if found > expected {
        return format!(
            "filter ends at byte {expected} of {found}: what follows is the log of a filter in use, which \
             coua-store reads (or `coua compact` takes into the filter), or was appended"
        );
    }
    format!("filter is {found} bytes long but must be {expected}: it was truncated")
}
