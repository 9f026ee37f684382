//! Why a snapshot cannot be loaded.

use std::error::Error;
use std::fmt;
use std::io;

use crate::error::OutOfMemory;
use crate::snapshot::version::{GENERATIONS_VERSION, VERSION};

/// A snapshot cannot be loaded. Nothing of it was used.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// Reading failed.
    Io(io::Error),
    /// The bytes do not begin like a filter.
    NotAFilter,
    /// Written by a later version of the format.
    Version {
        /// The version found.
        found: u16,
    },
    /// The bytes end too early, or continue after the end.
    Length {
        /// Bytes that the header announces, at least.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A checksum does not match: the bytes were damaged.
    Checksum {
        /// The damaged part.
        part: Part,
    },
    /// A field has a value that no filter has.
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// Its value.
        found: u64,
    },
    /// The filter uses a secret hash key: read it with that key.
    KeyNeeded,
    /// The secret hash key is not the one that the filter was built with.
    WrongKey,
    /// There is not enough memory for the filter.
    OutOfMemory(OutOfMemory),
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

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotAFilter => f.write_str("not a Coua filter"),
            Self::Version { found: GENERATIONS_VERSION } => write!(
                f,
                "filter has a window (format version {GENERATIONS_VERSION}): only generations can be \
                 read from it, and only if it is a regular file"
            ),
            Self::Version { found } => write!(
                f,
                "filter format version {found} is not known (versions {VERSION} and \
                 {GENERATIONS_VERSION} are): it was written by a newer coua, or is damaged"
            ),
            Self::Length { expected, found } if found > expected => write!(
                f,
                "filter ends at byte {expected} of {found}: what follows is the log of a filter in use, \
                 which coua-store reads (or `coua compact` takes into the filter), or was appended"
            ),
            Self::Length { expected, found } => {
                write!(f, "filter is {found} bytes long but must be {expected}: it was truncated")
            }
            Self::Checksum { part } => {
                write!(f, "filter is damaged: the checksum of its {part} does not match")
            }
            Self::Field { name, found } => {
                write!(f, "filter is damaged: its {name} field holds {found}, which is impossible")
            }
            Self::KeyNeeded => f.write_str("filter needs its secret hash key to be read"),
            Self::WrongKey => f.write_str("the secret hash key is not the one of this filter"),
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::OutOfMemory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<OutOfMemory> for LoadError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}
