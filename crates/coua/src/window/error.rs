//! The error of an impossible window.

use thiserror::Error;

/// A window is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// No generation, or too many.
    #[error("a window of {found} generations is not possible; use 1 to {most}")]
    Generations {
        /// The requested number.
        found: u32,
        /// The most that are possible.
        most: u32,
    },
    /// Too short to be divided into generations, or too long.
    #[error(
        "a window of length {found} cannot be divided into {generations} generations; its length must be at least \
         the number of generations, and below 2^62"
    )]
    Length {
        /// The requested length.
        found: u64,
        /// The requested generations.
        generations: u32,
    },
}
