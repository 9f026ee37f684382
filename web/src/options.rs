//! Options of a new filter: numbers of eight bytes each. NaN selects the default.

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHasher, WhenFull};
use coua_store::Requirements;

pub(crate) struct Options<'a> {
    pub(crate) input: &'a [u8],
}

// The position of each number. `../page/coua.js` writes them in this order.
/// The only one that is a whole number of 64 bits.
const SEED: usize = 0;
const CAPACITY: usize = 1;
const RATE: usize = 2;
const MAX_ITEMS: usize = 3;
const HASH_BITS: usize = 4;
/// 0: grow; 1: refuse; 2: exceed the rate.
const WHEN_FULL: usize = 5;
const WINDOW: usize = 6;
const WINDOW_ITEMS: usize = 7;
/// 0: arrival; 1: given.
const CLOCK: usize = 8;
const GENERATIONS: usize = 9;
/// 0: first; 1: last.
const WINDOW_BY: usize = 10;

/// As in the program.
const USUAL_GENERATIONS: f64 = 8.0;

impl Options<'_> {
    fn bits(&self, at: usize) -> u64 {
        let bytes = self.input.get(8 * at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number that was given.
    fn number(&self, at: usize) -> Option<f64> {
        Some(f64::from_bits(self.bits(at))).filter(|number| !number.is_nan())
    }

    fn whole(&self, at: usize) -> Option<u64> {
        self.number(at).map(|number| number as u64)
    }

    /// Makes the filter.
    pub(crate) fn build(&self) -> Result<Generations, String> {
        let wanted = Requirements {
            capacity: self.whole(CAPACITY),
            rate: self.number(RATE),
            max_items: self.whole(MAX_ITEMS),
            hash_bits: self.number(HASH_BITS).map(|bits| bits as u32),
            when_full: self.number(WHEN_FULL).map(|number| match number {
                1.0 => WhenFull::Refuse,
                2.0 => WhenFull::ExceedRate,
                _ => WhenFull::Grow,
            }),
            hasher: Some(KeyHasher::xxh3(self.bits(SEED))),
            window: self.window()?,
        };
        wanted.build().map_err(|error| error.to_string())
    }

    fn window(&self) -> Result<Option<Window>, String> {
        let [length, items, clock, generations, by] =
            [WINDOW, WINDOW_ITEMS, CLOCK, GENERATIONS, WINDOW_BY].map(|at| self.number(at));
        let (clock, length) = match (length, items, clock) {
            (Some(length), None, Some(1.0)) => (Clock::Given, length),
            (Some(length), None, _) => (Clock::Arrival, length),
            (None, Some(items), None) => (Clock::Count, items),
            (None, None, None) if generations.is_none() && by.is_none() => return Ok(None),
            (Some(_), Some(_), _) => {
                return Err("window and windowItems exclude each other; use one".into());
            }
            (None, Some(_), _) => return Err("a window of items has no clock".into()),
            _ => return Err("clock, generations and windowBy need a window".into()),
        };
        let generations = generations.unwrap_or(USUAL_GENERATIONS) as u32;
        let window = Window::new(clock, length as u64, generations);
        let by = if by == Some(1.0) { AgeFrom::LastSeen } else { AgeFrom::FirstSeen };
        window.map(|window| Some(window.counted_from(by))).map_err(|error| error.to_string())
    }
}
