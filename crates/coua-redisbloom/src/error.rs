//! Why a dump of the peer is refused, and why an insert is.

use std::error::Error;
use std::fmt;

use super::memory::OutOfMemory;

/// A dump is refused; nothing was made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadError {
    /// An encoding that is not known, and is not guessed at.
    Encoding {
        /// The encoding of the dump.
        found: u32,
        /// The oldest one that is read.
        oldest: u32,
        /// The newest one that is read.
        newest: u32,
    },
    /// Something has another length than what was read before says.
    Length {
        /// What has it.
        what: &'static str,
        /// Its length in bytes.
        found: u64,
        /// The length it must have.
        expected: u64,
    },
    /// A number that no filter of the peer has.
    Number {
        /// Its name.
        name: &'static str,
        /// The number.
        found: u64,
        /// What it must be.
        expected: &'static str,
    },
    /// A number with a fraction that no filter of the peer has.
    Fraction {
        /// Its name.
        name: &'static str,
        /// The number.
        found: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// The filter is larger than a key may be.
    TooLarge(TooLarge),
    /// There is no memory for the filter.
    OutOfMemory(OutOfMemory),
    /// The dump ends too early, or holds something else than it should.
    Unreadable,
}

/// The dump ends too early, or holds something else than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A filter would take more bytes than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes of the filter; of more than 2^64 - 1, that many.
    pub bytes: u64,
    /// Bytes it may have.
    pub limit: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, limit } = self;
        write!(f, "the filter would take {bytes} bytes, and {limit} are allowed; raise the limit")
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding { found, oldest, newest } => write!(
                f,
                "encoding {found} of a RedisBloom filter is not known, {oldest} to {newest} are; \
                 dump it with a version that writes one of these"
            ),
            Self::Length { what, found, expected } => {
                write!(f, "{what} is {found} bytes long and should be {expected}: dump it again")
            }
            Self::Number { name, found, expected } => {
                write!(f, "{name} is {found} and should be {expected}: dump it again")
            }
            Self::Fraction { name, found, expected } => {
                write!(f, "{name} is {found} and should be {expected}: dump it again")
            }
            Self::TooLarge(large) => large.fmt(f),
            Self::OutOfMemory(refused) => refused.fmt(f),
            Self::Unreadable => {
                write!(f, "the dump of a RedisBloom filter is cut off or damaged: dump it again")
            }
        }
    }
}

impl Error for LoadError {}

impl From<TooLarge> for LoadError {
    fn from(large: TooLarge) -> Self {
        Self::TooLarge(large)
    }
}

impl From<OutOfMemory> for LoadError {
    fn from(refused: OutOfMemory) -> Self {
        Self::OutOfMemory(refused)
    }
}

impl From<Unreadable> for LoadError {
    fn from(_: Unreadable) -> Self {
        Self::Unreadable
    }
}

/// Refuses a number that no filter of the peer has.
pub(super) fn number(
    name: &'static str,
    found: impl Into<u64>,
    holds: impl FnOnce(u64) -> bool,
    expected: &'static str,
) -> Result<(), LoadError> {
    let found = found.into();
    if holds(found) { Ok(()) } else { Err(LoadError::Number { name, found, expected }) }
}

/// An insert is refused; not one answer of the filter changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// There is no room, and the filter was made not to grow.
    Full {
        /// Items in it.
        items: u64,
    },
    /// The filter has grown as often as it may.
    GrowthLimit {
        /// Sub-filters it has.
        sub_filters: u32,
        /// Sub-filters it may have.
        limit: u32,
    },
    /// The next sub-filter cannot be described in the peer's layout.
    CannotGrow {
        /// Sub-filters it has.
        sub_filters: u32,
    },
    /// The filter would be larger than a key may be.
    TooLarge(TooLarge),
    /// There is no memory for the next sub-filter.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { items } => write!(
                f,
                "the filter is full with {items} items and was made not to grow; make a larger one"
            ),
            Self::GrowthLimit { sub_filters, limit } => write!(
                f,
                "the filter has {sub_filters} sub-filters and may have {limit}; raise the limit, or \
                 make a larger filter"
            ),
            Self::CannotGrow { sub_filters } => write!(
                f,
                "sub-filter {} would be beyond RedisBloom's layout; make a new filter",
                sub_filters + 1
            ),
            Self::TooLarge(large) => large.fmt(f),
            Self::OutOfMemory(refused) => refused.fmt(f),
        }
    }
}

impl Error for InsertError {}

impl From<TooLarge> for InsertError {
    fn from(large: TooLarge) -> Self {
        Self::TooLarge(large)
    }
}

impl From<OutOfMemory> for InsertError {
    fn from(refused: OutOfMemory) -> Self {
        Self::OutOfMemory(refused)
    }
}
