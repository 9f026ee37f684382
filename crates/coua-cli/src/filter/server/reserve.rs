//! The options of a new filter on a server: those of a filter file, as arguments of CF.RESERVE.

use super::operations::Description;
use crate::clock::window_text;
use crate::filter::Address;
use crate::filter::spec::{FilterSpec, OnFull, differs, rate_without_items};
use crate::terminal::{Failure, Result, counted, significant};
use coua::window::{AgeFrom, Clock, Window};

/// The initial capacity of a shard if none is given; it grows.
const FEW: u64 = 1024;
/// The lowest capacity that a server accepts.
const LEAST_CAPACITY: u64 = 4;
const MOST_CAPACITY: u64 = 1 << 30;
/// With fewer, a growing filter would be full early: a server divides its segments, and never moves all items at once.
const FEWEST_BITS: f64 = 31.0;
const MOST_BITS: f64 = 64.0;

/// The options of the filter, if it does not exist yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReserveOptions {
    capacity: Option<u64>,
    rate: Option<f64>,
    on_full: Option<OnFull>,
    window: Option<Window>,
}

impl ReserveOptions {
    /// Returns an error for options that a server does not support.
    pub(super) fn of(spec: &FilterSpec) -> Result<Self> {
        let FilterSpec { capacity, rate, on_full, .. } = *spec;
        if rate.is_some() && capacity.is_none() {
            return Err(rate_without_items());
        }
        if spec.window.age_from == Some(AgeFrom::LastSeen) {
            let reason = "is not available on a server: there a record's age counts from when it was first seen";
            return Err(Failure::at("--window-by=last", reason));
        }
        let window = spec.window.window()?;
        if window.is_some() && on_full == Some(OnFull::Stop) {
            let reason =
                "is not available with a window on a server, where such a filter always grows";
            return Err(Failure::at("--when-full=stop", reason));
        }
        Ok(Self { capacity, rate, on_full, window })
    }

    /// Whether the filter never grows.
    fn is_fixed(&self) -> bool {
        self.on_full == Some(OnFull::Stop)
    }

    /// The number of items up to which a rate must hold.
    fn items(&self) -> u64 {
        self.capacity.unwrap_or(0)
    }

    /// The arguments of CF.RESERVE after the key, for each of `shards` shards.
    pub(super) fn arguments(&self, shards: u64) -> Result<Vec<String>> {
        let is_fixed = self.is_fixed();
        let capacity = match self.capacity {
            None if is_fixed => return Err(Failure::at("--when-full=stop", "needs --capacity")),
            None => FEW,
            Some(all) => self.share(all, shards),
        };
        if capacity > MOST_CAPACITY {
            let reason = "is more than 2^30 items in a shard; use more shards \
                          (?shards=N), or drop --capacity";
            return Err(Failure::at("--capacity", reason));
        }
        let mut arguments = vec![capacity.max(LEAST_CAPACITY).to_string()];
        if is_fixed {
            arguments.extend(["EXPANSION".to_owned(), "0".to_owned()]);
        }
        let (name, value) = match self.rate {
            // For a filter of fixed size, the server chooses the bits.
            Some(rate) if is_fixed => ("ERROR", rate.to_string()),
            Some(rate) => ("HASHBITS", self.bits_for(rate, shards)?.to_string()),
            None => ("HASHBITS", MOST_BITS.to_string()),
        };
        arguments.extend([name.to_owned(), value]);
        arguments.extend(
            self.window.iter().flat_map(|window| window_arguments(share_of(*window, shards))),
        );
        Ok(arguments)
    }

    /// The hash bits that a rate needs.
    fn bits_for(&self, rate: f64, shards: u64) -> Result<f64> {
        let share = self.items() as f64 / shards as f64;
        let bits = (share / rate).log2().ceil();
        if bits > MOST_BITS {
            let least = significant(share * (-MOST_BITS).exp2());
            let items = counted(self.items(), "item");
            let reason = format!("is less than 64-bit hashes allow: {least} for {items}");
            return Err(Failure::at("--rate", reason));
        }
        Ok(bits.max(FEWEST_BITS))
    }

    /// The items of a shard. If it cannot grow, four standard deviations are added to its share.
    fn share(&self, all: u64, shards: u64) -> u64 {
        let share = all.div_ceil(shards);
        if self.is_fixed() && shards > 1 {
            share + (4.0 * (share as f64).sqrt()).ceil() as u64
        } else {
            share
        }
    }

    /// Returns an error if the existing filter does not have the requested window.
    fn agree_with_window(&self, found: &Description, name: &Address) -> Result<()> {
        let wanted = self.window.map(|window| share_of(window, found.shards));
        if wanted.is_none() || wanted == found.window {
            return Ok(());
        }
        let found = found.window.map_or_else(
            || "has no window".to_owned(),
            |window| format!("has the window {}", window_text(window)),
        );
        let reason = format!(
            "the existing filter {found}, unlike the options; drop them, or use another filter"
        );
        Err(Failure::at(name, reason))
    }

    /// Returns an error if the existing filter does not have the requested options.
    pub(super) fn agree_with(&self, found: &Description, name: &Address) -> Result<()> {
        let on_full = found.on_full();
        if let Some(wanted) = self.on_full.filter(|wanted| *wanted != on_full) {
            return Err(differs(name, "--when-full", on_full.name(), wanted.name()));
        }
        self.agree_with_window(found, name)?;
        let Some(rate) = self.rate else { return Ok(()) };
        let share = self.items() as f64 / found.shards.max(1) as f64;
        let holds = share / found.hash_bits.unwrap_or_default().exp2();
        // A shard of fixed size was created for a little more than its share.
        if holds > rate * 1.001 {
            return Err(differs(name, "--rate", significant(holds), rate));
        }
        Ok(())
    }
}

/// The window of a shard: its share, if the window counts items.
fn share_of(window: Window, shards: u64) -> Window {
    if window.clock() != Clock::Count {
        return window;
    }
    let share = window.length().div_ceil(shards.max(1)).max(window.generations().into());
    Window::new(Clock::Count, share, window.generations()).unwrap_or(window)
}

/// The arguments of CF.RESERVE for a window.
fn window_arguments(window: Window) -> [String; 4] {
    let length = window.length();
    let [option, length] = match window.clock() {
        Clock::Count => ["WINDOWITEMS".to_owned(), length.to_string()],
        Clock::Arrival | Clock::Given => ["WINDOW".to_owned(), format!("{length}ms")],
    };
    [option, length, "GENERATIONS".to_owned(), window.generations().to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ReserveOptions =
        ReserveOptions { capacity: None, rate: None, on_full: None, window: None };

    fn arguments(options: ReserveOptions, shards: u64) -> String {
        options.arguments(shards).unwrap().join(" ")
    }

    #[test]
    fn words_for_the_server() {
        assert_eq!(arguments(ALL, 1), "1024 HASHBITS 64");
        let roomy = ReserveOptions { capacity: Some(1_000_000), ..ALL };
        assert_eq!(arguments(roomy, 1), "1000000 HASHBITS 64");
        assert_eq!(arguments(roomy, 64), "15625 HASHBITS 64");
        let exact = ReserveOptions { rate: Some(0.001), ..roomy };
        assert_eq!(arguments(exact, 1), "1000000 HASHBITS 31");
        assert_eq!(arguments(exact, 64), "15625 HASHBITS 31");
        let finer = ReserveOptions { rate: Some(1e-6), ..roomy };
        assert_eq!(arguments(finer, 1), "1000000 HASHBITS 40");
        let fixed = ReserveOptions { on_full: Some(OnFull::Stop), ..exact };
        assert_eq!(arguments(fixed, 1), "1000000 EXPANSION 0 ERROR 0.001");
        assert_eq!(arguments(fixed, 64), "16125 EXPANSION 0 ERROR 0.001");
        let forgetful = |clock, length, shards| {
            let window = Window::new(clock, length, 4).ok();
            arguments(ReserveOptions { window, ..ALL }, shards)
        };
        let week = forgetful(Clock::Arrival, 604_800_000, 2);
        assert_eq!(week, "1024 HASHBITS 64 WINDOW 604800000ms GENERATIONS 4");
        let items = forgetful(Clock::Count, 1_000_000, 16);
        assert_eq!(items, "1024 HASHBITS 64 WINDOWITEMS 62500 GENERATIONS 4");
    }

    #[test]
    fn what_a_server_cannot_do_is_told() {
        let most = ReserveOptions { capacity: Some(1 << 31), ..ALL };
        assert!(most.arguments(1).is_err() && most.arguments(2).is_ok());
        let most = ReserveOptions { capacity: Some(1 << 30), rate: Some(1e-12), ..ALL };
        assert!(most.arguments(1).is_err());
    }
}
