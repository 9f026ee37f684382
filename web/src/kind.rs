//! What a filter is: one that may forget, with the feature `windows`, which the npm package has. The page does without
//! it, and is a tenth smaller.

#[cfg(feature = "windows")]
pub(crate) use forgetful::{Filter, build, clear, clock, insert, insert_unique, merge, window};
#[cfg(not(feature = "windows"))]
pub(crate) use lasting::{Filter, build, clear, clock, insert, insert_unique, merge, window};
use serde::Serialize;

/// A window, as JavaScript names its options.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WindowShown {
    /// In milliseconds, or items.
    length: u64,
    clock: &'static str,
    generations: u32,
    window_by: &'static str,
    forgotten: u64,
}

#[cfg(not(feature = "windows"))]
mod lasting {
    use coua::{CuckooFilter, Full, Insertion, KeyHash, MergeError};

    use super::WindowShown;
    use crate::options::Options;

    pub(crate) type Filter = CuckooFilter;

    pub(crate) fn build(options: &Options<'_>) -> Result<Filter, String> {
        options.builder().build().map_err(|error| error.to_string())
    }

    pub(crate) fn insert(filter: &mut Filter, hash: KeyHash, _time: f64) -> Result<(), Full> {
        filter.insert(hash)
    }

    pub(crate) fn insert_unique(
        filter: &mut Filter,
        hash: KeyHash,
        _time: f64,
    ) -> Result<Insertion, Full> {
        filter.insert_unique(hash)
    }

    pub(crate) fn merge(into: &mut Filter, from: &Filter) -> Result<(), MergeError> {
        into.merge_unique(from)
    }

    pub(crate) fn clear(filter: &mut Filter) {
        filter.clear();
    }

    pub(crate) fn window(_filter: &Filter) -> Option<WindowShown> {
        None
    }

    pub(crate) fn clock(_filter: &Filter) -> i32 {
        0
    }
}

#[cfg(feature = "windows")]
mod forgetful {
    use coua::window::{AgeFrom, Clock, Generations, When, Window};
    use coua::{Full, Insertion, KeyHash, MergeError};

    use super::WindowShown;
    use crate::options::Options;

    pub(crate) type Filter = Generations;

    // Where the numbers of a window stand among the options.
    const WINDOW: usize = 6;
    const WINDOW_ITEMS: usize = 7;
    /// 0: arrival; 1: given.
    const CLOCK: usize = 8;
    const GENERATIONS: usize = 9;
    /// 0: first; 1: last.
    const WINDOW_BY: usize = 10;

    /// As in the program.
    const USUAL_GENERATIONS: f64 = 8.0;

    pub(crate) fn build(options: &Options<'_>) -> Result<Filter, String> {
        let built = match window_of(options)? {
            None => options.builder().build().map(Generations::from),
            Some(window) => options.builder().build_window(window),
        };
        built.map_err(|error| error.to_string())
    }

    fn window_of(options: &Options<'_>) -> Result<Option<Window>, String> {
        let [length, items, clock, generations, by] =
            [WINDOW, WINDOW_ITEMS, CLOCK, GENERATIONS, WINDOW_BY].map(|at| options.number(at));
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

    pub(crate) fn insert(filter: &mut Filter, hash: KeyHash, time: f64) -> Result<(), Full> {
        if time.is_nan() {
            return filter.insert(hash);
        }
        let times = [time as u64];
        filter.insert_batch_at(&[hash], When::Each(&times)).map_err(|stopped| stopped.full)
    }

    pub(crate) fn insert_unique(
        filter: &mut Filter,
        hash: KeyHash,
        time: f64,
    ) -> Result<Insertion, Full> {
        if time.is_nan() {
            return filter.insert_unique(hash);
        }
        filter.insert_unique_at(hash, time as u64)
    }

    /// For filters without a window, the union as sets; for windows, every item with its time.
    pub(crate) fn merge(into: &mut Filter, from: &Filter) -> Result<(), MergeError> {
        match (into.unbounded_mut(), from.unbounded()) {
            (Some(into), Some(from)) => into.merge_unique(from),
            _ => into.merge(from),
        }
    }

    /// A window keeps its clock.
    pub(crate) fn clear(filter: &mut Filter) {
        filter.filters_mut().for_each(|(_, filter)| filter.clear());
    }

    pub(crate) fn window(filter: &Filter) -> Option<WindowShown> {
        let window = filter.window()?;
        let clock = match window.clock() {
            Clock::Arrival => "arrival",
            Clock::Given => "given",
            Clock::Count => "count",
        };
        let is_last = window.age_from() == AgeFrom::LastSeen;
        Some(WindowShown {
            length: window.length(),
            clock,
            generations: window.generations(),
            window_by: if is_last { "last" } else { "first" },
            forgotten: filter.forgotten(),
        })
    }

    pub(crate) fn clock(filter: &Filter) -> i32 {
        filter.window().map_or(0, |window| match window.clock() {
            Clock::Count => 0,
            Clock::Arrival => 1,
            Clock::Given => 2,
        })
    }
}
