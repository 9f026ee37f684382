//! Filters that forget by age.
//!
//! A [`Window`] is divided into *generations*: periods of equal length, numbered from time 0. Each has its
//! own filter. An item is in the generation of its time; a lookup searches all generations in
//! the window; a generation that the window has left is dropped as a whole.
//!
//! ```text
//!  forgotten | c - 3 | c - 2 | c - 1 |   c     c: the generation of the clock; here 3 in a window
//!            |<------- window ------>|
//! ```
//!
//! So an item is remembered for at least the window, and for at most one generation more. If ages count from when
//! an item was last seen, a repeat moves it into the generation of its time.
//! `docs/decisions/0010-windows.md` has the reasons.

mod ask;
mod change;
mod chunk;
mod describe;
mod file;
mod generations;
mod insert;
mod merge;

#[doc(hidden)]
pub use change::{Change, ChangeLog, LoggedGenerations};
pub(crate) use file::{TEMPLATE, window_of};
pub use generations::{Generation, Generations};

pub use crate::verbs::When;

use std::time::{Duration, SystemTime};

use thiserror::Error;

/// The most generations of a window: a lookup searches all of them.
const MOST_GENERATIONS: u32 = 1000;

/// The clock of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Milliseconds since 1970. An item's time is the clock at its arrival.
    Arrival,
    /// Milliseconds since 1970. Every item brings its own time, and the latest so far is the present.
    Given,
    /// The number of items inserted before.
    Count,
}

/// When the age of an item begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AgeFrom {
    /// When it was inserted: a repeat changes nothing.
    #[default]
    FirstSeen,
    /// When it was last inserted, or found by `insert_unique`: a repeat moves it to the generation of the repeat's
    /// time, if that is newer. If items are the clock, each move counts as an item.
    LastSeen,
}

/// A time of a filter's [`Clock`]: milliseconds since 1970, or a number of items. Converted from such a number, or from
/// a [`SystemTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl From<u64> for Moment {
    fn from(time: u64) -> Self {
        Self(time)
    }
}

impl From<SystemTime> for Moment {
    /// Times before 1970 count as 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Moment> for u64 {
    fn from(moment: Moment) -> Self {
        moment.0
    }
}

/// How long items are remembered, and how exactly. All methods take O(1).
///
/// Items are forgotten at an age between the length of the window and one generation more. The age counts from when
/// an item was first seen, unless set by [`counted_from`](Self::counted_from).
///
/// ```
/// use std::time::Duration;
/// use coua::window::Window;
///
/// let day = Duration::from_secs(24 * 3600);
/// let week = Window::arrival(7 * day, 7)?;
/// assert_eq!(week.step(), 24 * 3_600_000);
/// # Ok::<(), coua::window::WindowError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    clock: Clock,
    step: u64,
    generations: u32,
    age_from: AgeFrom,
}

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

impl Window {
    /// A window of time, with the time of arrival of each item ([`Clock::Arrival`]).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn arrival(length: Duration, generations: u32) -> Result<Self, WindowError> {
        Self::new(Clock::Arrival, milliseconds(length), generations)
    }

    /// A window of time, with a given time for each item ([`Clock::Given`]).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn given(length: Duration, generations: u32) -> Result<Self, WindowError> {
        Self::new(Clock::Given, milliseconds(length), generations)
    }

    /// A window of `length` milliseconds or items, depending on `clock`, rounded up to a multiple of `generations`.
    ///
    /// # Errors
    ///
    /// [`WindowError`] unless 1 <= `generations` <= 1000, `generations` <= `length`, and the rounded length
    /// is below 2^62.
    pub fn new(clock: Clock, length: u64, generations: u32) -> Result<Self, WindowError> {
        if !(1..=MOST_GENERATIONS).contains(&generations) {
            return Err(WindowError::Generations { found: generations, most: MOST_GENERATIONS });
        }
        let parts = u64::from(generations);
        let step = length.div_ceil(parts);
        if length < parts || step > ((1 << 62) - 1) / parts {
            return Err(WindowError::Length { found: length, generations });
        }
        Ok(Self { clock, step, generations, age_from: AgeFrom::FirstSeen })
    }

    /// This window with another beginning of ages.
    ///
    /// ```
    /// use std::time::Duration;
    /// use coua::Insertion::AlreadyPresent;
    /// use coua::window::{AgeFrom, Generations, Window};
    ///
    /// let minute = Window::given(Duration::from_secs(60), 6)?.counted_from(AgeFrom::LastSeen);
    /// let mut seen = Generations::new(minute);
    /// seen.insert_unique("a")?;
    /// for time in [50_000, 100_000, 150_000] {
    ///     seen.advance(time);
    ///     assert_eq!(seen.insert_unique("a")?, AlreadyPresent);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counted_from(self, age_from: AgeFrom) -> Self {
        Self { age_from, ..self }
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The shortest time for which items are remembered, in milliseconds or items.
    pub fn length(&self) -> u64 {
        self.step * u64::from(self.generations)
    }

    /// The length of a generation, in milliseconds or items: items are remembered for at most this much longer.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Length of the window in generations. One more exists: the one that is being filled.
    pub fn generations(&self) -> u32 {
        self.generations
    }

    /// When the age of an item begins.
    pub fn age_from(&self) -> AgeFrom {
        self.age_from
    }

    fn generation_of(&self, time: u64) -> u64 {
        time / self.step
    }
}

/// Rounded up.
fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
