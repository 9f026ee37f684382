//! Options of a new filter.

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHasher, WhenFull};
use coua_store::Requirements;

/// As in the program.
const USUAL_GENERATIONS: f64 = 8.0;

/// Makes a filter from options of eight bytes each, in the order in which `../page/coua.js` writes them: the seed, and
/// floating-point numbers, of which NaN selects the default.
pub(crate) fn build(options: &[u8]) -> Result<Generations, String> {
    let mut options = options.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let seed = options.next().unwrap_or_default();
    let mut number = || options.next().map(f64::from_bits).filter(|number| !number.is_nan());
    let whole = |number: f64| number as u64;
    let wanted = Requirements {
        hasher: Some(KeyHasher::Xxh3 { seed }),
        capacity: number().map(whole),
        rate: number(),
        max_items: number().map(whole),
        hash_bits: number().map(|bits| bits as u32),
        when_full: number().map(|number| match number {
            1.0 => WhenFull::Refuse,
            2.0 => WhenFull::ExceedRate,
            _ => WhenFull::Grow,
        }),
        window: window(std::array::from_fn(|_| number()))?,
    };
    wanted.build().map_err(|error| error.to_string())
}

/// A window from its length, items, clock (1: given), generations, and age (1: last).
fn window(
    [length, items, clock, generations, by]: [Option<f64>; 5],
) -> Result<Option<Window>, String> {
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
