//! What can be wrong in a journal.

use std::fmt;

/// What is wrong in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The file does not begin like a journal.
    NotAJournal,
    /// Written by a later version of the format.
    Version {
        /// The version found.
        found: u16,
    },
    /// A checksum does not fit.
    Checksum,
    /// A frame is missing, or there twice.
    Sequence {
        /// The number found.
        found: u64,
        /// The number that follows the frame before.
        expected: u64,
    },
    /// A frame belongs to another filter.
    Frame {
        /// The identity found.
        found: u64,
        /// The identity in the journal's header.
        expected: u64,
    },
    /// A field holds what no writer writes.
    Field {
        /// The field's name in `docs/journal.md`.
        name: &'static str,
        /// Its value.
        found: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAJournal => f.write_str("it does not begin like a journal"),
            Self::Version { found } => {
                write!(
                    f,
                    "version {found} is not known (1 and 2 are): it was written by a newer coua"
                )
            }
            Self::Checksum => f.write_str("a checksum does not fit"),
            Self::Sequence { found, expected } => {
                write!(f, "frame number {found} stands where number {expected} should")
            }
            Self::Frame { found, expected } => write!(
                f,
                "a frame of the filter {found:016x} stands in the journal of {expected:016x}"
            ),
            Self::Field { name, found } => {
                write!(f, "its {name} field holds {found}, which is impossible")
            }
        }
    }
}
