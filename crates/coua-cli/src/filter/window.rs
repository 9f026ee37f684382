//! What a new filter forgets, and when that is.

use crate::clock::{duration_text, window_text};
use crate::terminal::{Failure, Result};
use coua::window::{Clock, Generations, Window, WindowError};

/// Generations of a window if nothing is said: an item's age is told to 12.5 %.
const GENERATIONS: u32 = 8;
/// What is said of a filter's window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowSpec {
    /// In milliseconds.
    pub(crate) length: Option<u64>,
    pub(crate) items: Option<u64>,
    pub(crate) generations: Option<u32>,
    /// Records have times of their own, by which the filter goes; else by those of their arrival.
    pub(crate) has_times: bool,
}

impl WindowSpec {
    /// The window of a new filter.
    pub(crate) fn window(&self) -> Result<Option<Window>> {
        if self.items.is_some() && self.has_times {
            let reason = "cannot be used with --window-items, which counts records";
            return Err(Failure::at("--time-field", reason));
        }
        let (option, clock, length) = match (self.length, self.items) {
            (Some(millis), _) if self.has_times => ("--window", Clock::Given, millis),
            (Some(millis), _) => ("--window", Clock::Arrival, millis),
            (None, Some(items)) => ("--window-items", Clock::Count, items),
            (None, None) => return self.no_window().map(|()| None),
        };
        let window = Window::new(clock, length, self.generations.unwrap_or(GENERATIONS));
        window.map(Some).map_err(|error| match error {
            WindowError::Length { found, generations } if clock != Clock::Count => {
                let reason = format!(
                    "{} cannot be divided into {generations} generations: give a longer one, or fewer --generations",
                    duration_text(found)
                );
                Failure::at(option, reason)
            }
            error => Failure::at(option, error),
        })
    }

    /// Returns an error for options that need a window.
    fn no_window(&self) -> Result<()> {
        match (self.has_times, self.generations) {
            (true, _) => Err(Failure::at("--time-field", "needs --window")),
            (_, Some(_)) => Err(Failure::at("--generations", "needs --window or --window-items")),
            _ => Ok(()),
        }
    }

    /// Returns an error if `filter`, which exists already, does not forget as described.
    pub(super) fn agree_with(&self, filter: &Generations, name: &str) -> Result<()> {
        let Some(window) = filter.window() else {
            if self.length.is_none() && self.items.is_none() {
                return self.no_window();
            }
            let reason = "the filter exists, and never forgets: leave the window out, or name another \
                          file";
            return Err(Failure::at(name, reason));
        };
        let has_times = window.clock() == Clock::Given;
        if has_times != self.has_times {
            let reason = if has_times {
                "the filter goes by the times of the records: say by --time-field where they are"
            } else {
                "the filter does not go by the times of the records: leave --time-field out"
            };
            return Err(Failure::at(name, reason));
        }
        let is_counted = window.clock() == Clock::Count;
        let wanted = if is_counted { self.items } else { self.length };
        let other = if is_counted { self.length } else { self.items };
        let generations = self.generations.unwrap_or(window.generations());
        let wanted = Window::new(window.clock(), wanted.unwrap_or(window.length()), generations);
        if other.is_some() || wanted.ok() != Some(window) {
            let found = window_text(window);
            let reason = format!(
                "the filter exists, and its window is {found}, not what the options say: leave them \
                 out, or name another file"
            );
            return Err(Failure::at(name, reason));
        }
        Ok(())
    }
}
