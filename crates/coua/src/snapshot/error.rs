//! Errors of loading snapshots.

use std::io;

use thiserror::Error;

use crate::error::OutOfMemory;

/// The version of the format: the only one.
pub(crate) const VERSION: u16 = 1;

/// A snapshot cannot be loaded. No part of it was used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin with a filter.
    #[error("not a Coua filter")]
    NotAFilter,
    /// Written by a later version of the format.
    #[error(
        "unknown filter format version {found} (expected {VERSION}): written by a newer coua, or \
         damaged"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// The filter uses features of the format that this version does not know.
    #[error("unknown filter format features {found:#x}: written by a newer coua")]
    Features {
        /// The features found, a bit each.
        found: u32,
    },
    /// The filter has a window: read it as [`Generations`](crate::window::Generations).
    #[error("filter has a window, and must be read as generations")]
    Window,
    /// The bytes end too early, or continue after the end.
    #[error("{}", wrong_length(*expected, *found))]
    Length {
        /// The fewest bytes, according to the header.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A checksum does not match: the bytes were damaged.
    #[error("filter is damaged: the checksum of its {part} does not match")]
    Checksum {
        /// The damaged part.
        part: String,
    },
    /// A field has a value that no filter has.
    #[error("filter is damaged: its {name} field holds {found}, which is impossible")]
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// The field's value.
        found: u64,
    },
    /// The filter uses a secret hash key: read it with that key.
    #[error("filter cannot be read without its secret hash key")]
    KeyNeeded,
    /// The filter was built with another secret hash key.
    #[error("wrong secret hash key for this filter")]
    WrongKey,
    /// There is not enough memory for the filter.
    #[error("{0}")]
    OutOfMemory(#[from] OutOfMemory),
}

fn wrong_length(expected: u64, found: u64) -> String {
    if found > expected {
        return format!("filter ends at byte {expected} of {found}; other bytes follow");
    }
    format!("filter is {found} bytes long but must be {expected}: it was truncated")
}
