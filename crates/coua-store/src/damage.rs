//! What can be wrong in a log.

use thiserror::Error;

/// What is wrong in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// A frame of a kind that is not known.
    #[error(
        "frame kind {found} is not known (1 to 3 are): a newer coua wrote it, or it is damaged"
    )]
    Kind {
        /// The kind found.
        found: u32,
    },
    /// A checksum does not match.
    #[error("a checksum does not fit")]
    Checksum,
    /// A frame is missing, or exists twice.
    #[error("frame number {found} stands where number {expected} should")]
    Sequence {
        /// The number found.
        found: u64,
        /// The number after that of the previous frame.
        expected: u64,
    },
    /// A frame belongs to another filter.
    #[error("it belongs to snapshot {found:016x}, but this one is {expected:016x}")]
    Frame {
        /// The checksum of that filter's snapshot.
        found: u64,
        /// The checksum of this filter's snapshot.
        expected: u64,
    },
    /// A field has a value that no writer writes.
    #[error("its {name} field holds {found}, which is impossible")]
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// Its value.
        found: u64,
    },
}
