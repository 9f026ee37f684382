//! What can go wrong with windows.

use std::error::Error;
use std::fmt;

use crate::error::MergeError;

/// A window cannot be as described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowError {
    /// No generation, or too many.
    Generations {
        /// The number asked for.
        found: u32,
        /// The most that are possible.
        most: u32,
    },
    /// Too short to be divided into generations, or too long.
    Length {
        /// The length asked for.
        found: u64,
        /// The generations asked for.
        generations: u32,
    },
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generations { found, most } => {
                write!(f, "a window of {found} generations is not possible: 1 to {most} are")
            }
            Self::Length { found, generations } => write!(
                f,
                "a window of length {found} cannot be divided into {generations} generations: it must be \
                 at least as long as there are generations, and shorter than 2^62"
            ),
        }
    }
}

impl Error for WindowError {}

/// Filters cannot be merged; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum WindowMergeError {
    /// Their windows differ, or one has none.
    Window,
    /// Their time is the count of their own items, so they have no common time.
    Count,
    /// Generations of the same time cannot be merged.
    Filter(MergeError),
}

impl fmt::Display for WindowMergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window => f.write_str(
                "the filters forget differently: only filters with the same window, the same \
                 generations and the same kind of time can be merged",
            ),
            Self::Count => f.write_str(
                "the window counts the items of one filter alone: such filters cannot be merged",
            ),
            Self::Filter(error) => error.fmt(f),
        }
    }
}

impl Error for WindowMergeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Filter(error) => Some(error),
            Self::Window | Self::Count => None,
        }
    }
}

impl From<MergeError> for WindowMergeError {
    fn from(error: MergeError) -> Self {
        Self::Filter(error)
    }
}
