//! What can be wrong in a log.

use std::fmt;

/// What is wrong in a log, or in the journal of the two-file form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// A journal of a version that is not known.
    Version {
        /// The version found.
        found: u16,
    },
    /// A frame of a kind that is not known.
    Kind {
        /// The kind found.
        found: u32,
    },
    /// A checksum does not match.
    Checksum,
    /// A frame is missing, or exists twice.
    Sequence {
        /// The number found.
        found: u64,
        /// The number after that of the previous frame.
        expected: u64,
    },
    /// A frame belongs to another filter.
    Frame {
        /// The checksum of that filter's snapshot.
        found: u64,
        /// The checksum of this filter's snapshot.
        expected: u64,
    },
    /// A field has a value that no writer writes.
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// Its value.
        found: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { found } => {
                write!(f, "journal version {found} is not known (1 and 2 are)")
            }
            Self::Kind { found } => write!(
                f,
                "frame kind {found} is not known (1 to 5 are): a newer coua wrote it, or it is damaged"
            ),
            Self::Checksum => f.write_str("a checksum does not fit"),
            Self::Sequence { found, expected } => {
                write!(f, "frame number {found} stands where number {expected} should")
            }
            Self::Frame { found, expected } => {
                write!(f, "it belongs to snapshot {found:016x}, but this one is {expected:016x}")
            }
            Self::Field { name, found } => {
                write!(f, "its {name} field holds {found}, which is impossible")
            }
        }
    }
}
