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
//! So an item is remembered for at least the window, and for at most one generation more.
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

pub use change::{Change, ChangeLog, Logged, When};
pub use error::WindowError;
pub(crate) use file::{TEMPLATE, window_of};
pub use generations::{Generation, Generations};

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

/// How long items are remembered, and how exactly. Everything about it takes O(1).
///
/// ```
/// use coua::window::{Clock, Window};
/// let week = Window::new(Clock::Arrival, 7 * 24 * 3_600_000, 7)?;
/// assert_eq!(week.step(), 24 * 3_600_000);
/// # Ok::<(), coua::window::WindowError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    clock: Clock,
    step: u64,
    generations: u32,
}

impl Window {
    /// A window of `length` (milliseconds, or items), rounded up to a multiple of `generations`. Items
    /// are forgotten at an age between `length` and `length` + `length` / `generations`.
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
        Ok(Self { clock, step, generations })
    }

    /// What the time is.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// How long items are remembered at least.
    pub fn length(&self) -> u64 {
        self.step * u64::from(self.generations)
    }

    /// The length of a generation: items are remembered for at most this much longer.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Length of the window in generations. One more exists: the one that is being filled.
    pub fn generations(&self) -> u32 {
        self.generations
    }

    fn generation_of(&self, time: u64) -> u64 {
        time / self.step
    }
}
