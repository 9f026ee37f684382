//! Filters that forget by age.
//!
//! A [`Window`] is divided into *generations*: periods of equal length, numbered from time 0. Each has a
//! filter of its own. An item lies in the generation of its own time; a lookup asks all generations that
//! the window still reaches; a generation that the window has left is dropped whole.
//!
//! ```text
//!  forgotten | c - 3 | c - 2 | c - 1 |   c     c: the generation of the clock; here 3 in a window
//!            |<------- window ------>|
//! ```
//!
//! So an item is remembered for at least the window, and for at most one generation more. Where ages count from when
//! an item was last seen, a repeat moves it into the generation of its time.
//! `docs/decisions/0010-windows.md` has the reasons.

mod ask;
mod change;
mod chunk;
mod describe;
mod error;
mod file;
mod generations;
mod insert;
mod merge;

#[doc(hidden)]
pub use change::{Change, ChangeLog, LoggedGenerations};
pub use error::WindowError;
pub(crate) use file::{TEMPLATE, window_of};
pub use generations::{Generation, Generations};

use std::ops::Range;
use std::time::{Duration, SystemTime};

/// Generations of a window at most: a lookup asks them all.
const MOST_GENERATIONS: u32 = 1000;

/// What a filter takes as the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Milliseconds since 1970. An item's time is the clock's at its arrival.
    Arrival,
    /// Milliseconds since 1970. Every item brings its own time, and the latest so far is the present.
    Given,
    /// The number of items inserted before.
    Count,
}

/// From when the age of an item counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AgeFrom {
    /// From its insertion: a repeat changes nothing.
    #[default]
    FirstSeen,
    /// From when it was last inserted, or found by `insert_unique`: a repeat that is found in an older generation than
    /// that of its own time is moved there. Where items are the clock, each move counts as an item.
    LastSeen,
}

/// A time, as a filter's [`Clock`] counts it: milliseconds since 1970, or items. Made from such a number, or from
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

/// The times of a batch's items.
#[derive(Clone, Copy, Debug)]
pub enum When<'a> {
    /// At present.
    Now,
    /// A time for each item, as a [`Moment`] counts. With a clock other than [`Clock::Given`] this is the same as `Now`.
    Each(&'a [u64]),
}

impl When<'_> {
    /// The times of some of the items.
    ///
    /// # Panics
    ///
    /// If there are fewer times.
    pub fn part(self, items: Range<usize>) -> Self {
        match self {
            Self::Now => Self::Now,
            Self::Each(times) => Self::Each(&times[items]),
        }
    }
}

/// How long items are remembered, and how exactly. Everything about it takes O(1).
///
/// Items are forgotten at an age between the length of the window and one generation more. The age counts from when
/// an item was first seen, unless [`counted_from`](Self::counted_from) says otherwise.
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

impl Window {
    /// A window of time, where an item's time is that of its arrival ([`Clock::Arrival`]).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn arrival(length: Duration, generations: u32) -> Result<Self, WindowError> {
        Self::new(Clock::Arrival, milliseconds(length), generations)
    }

    /// A window of time, where every item brings its own time ([`Clock::Given`]).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn given(length: Duration, generations: u32) -> Result<Self, WindowError> {
        Self::new(Clock::Given, milliseconds(length), generations)
    }

    /// A window of the last `items` that were inserted ([`Clock::Count`]).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn count(items: u64, generations: u32) -> Result<Self, WindowError> {
        Self::new(Clock::Count, items, generations)
    }

    /// A window of `length` milliseconds or items, as `clock` counts, rounded up to a multiple of `generations`.
    ///
    /// # Errors
    ///
    /// [`WindowError`] unless 1 <= `generations` <= 1000 and `generations` <= `length`, and rounded up it
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

    /// The same window, in which ages count from another time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use coua::Insertion::AlreadyPresent;
    /// use coua::window::{AgeFrom, Generations, Window};
    ///
    /// let minute = Window::given(Duration::from_secs(60), 6)?.counted_from(AgeFrom::LastSeen);
    /// let mut seen = Generations::new(minute);
    /// seen.insert_unique_at("a", 5_000)?;
    /// for time in [50_000, 100_000, 150_000] {
    ///     assert_eq!(seen.insert_unique_at("a", time)?, AlreadyPresent);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counted_from(self, age_from: AgeFrom) -> Self {
        Self { age_from, ..self }
    }

    /// What the time is.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// How long items are remembered at least, in milliseconds or items.
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

    /// From when the age of an item counts.
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
