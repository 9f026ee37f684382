//! The options of a new filter on a server: those of a filter file, as arguments of CF.RESERVE.

use super::description::Description;
use crate::filter::spec::{differs, rate_without_items};
use crate::filter::{Address, FilterSpec, OnFull, WindowLength};
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

/// Returns an error for options that a server does not support.
pub(super) fn check(spec: &FilterSpec) -> Result<()> {
    if spec.rate.is_some() && spec.capacity.is_none() {
        return Err(rate_without_items());
    }
    if spec.window.age_from == Some(AgeFrom::LastSeen) {
        let reason =
            "is not available on a server: there a record's age counts from when it was first seen";
        return Err(Failure::at("--window-by=last", reason));
    }
    if spec.window.window()?.is_some() && is_fixed(spec) {
        let reason = "is not available with a window on a server, where such a filter always grows";
        return Err(Failure::at("--when-full=stop", reason));
    }
    Ok(())
}

/// Whether the filter never grows.
fn is_fixed(spec: &FilterSpec) -> bool {
    spec.on_full == Some(OnFull::Stop)
}

/// The arguments of CF.RESERVE after the key, for each of `shards` shards.
pub(super) fn arguments(spec: &FilterSpec, shards: u64) -> Result<String> {
    let capacity = match spec.capacity.map(|all| all.div_ceil(shards)) {
        None if is_fixed(spec) => return Err(Failure::at("--when-full=stop", "needs --capacity")),
        None => FEW,
        // A shard that cannot grow gets four standard deviations more than its share.
        Some(share) if is_fixed(spec) && shards > 1 => {
            share + (4.0 * (share as f64).sqrt()).ceil() as u64
        }
        Some(share) => share,
    };
    if capacity > MOST_CAPACITY {
        let reason = "is more than 2^30 items in a shard; use more shards \
                      (?shards=N), or drop --capacity";
        return Err(Failure::at("--capacity", reason));
    }
    let capacity = capacity.max(LEAST_CAPACITY);
    let accuracy = match spec.rate {
        // For a filter of fixed size, the server chooses the bits.
        Some(rate) if is_fixed(spec) => format!("ERROR {rate}"),
        Some(rate) => format!("HASHBITS {}", bits_for(rate, spec.capacity.unwrap_or(0), shards)?),
        None => format!("HASHBITS {MOST_BITS}"),
    };
    let growth = if is_fixed(spec) { " EXPANSION 0" } else { "" };
    let window = match spec.window.window()? {
        Some(window) => window_arguments(window, shards),
        None => String::new(),
    };
    Ok(format!("{capacity}{growth} {accuracy}{window}"))
}

/// The hash bits that a rate needs.
fn bits_for(rate: f64, items: u64, shards: u64) -> Result<f64> {
    let share = items as f64 / shards as f64;
    let bits = (share / rate).log2().ceil();
    if bits > MOST_BITS {
        let least = significant(share * (-MOST_BITS).exp2());
        let items = counted(items, "item");
        let reason = format!("is less than 64-bit hashes allow: {least} for {items}");
        return Err(Failure::at("--rate", reason));
    }
    Ok(bits.max(FEWEST_BITS))
}

/// The arguments for a window, of which a shard has its share, if the window counts items.
fn window_arguments(window: Window, shards: u64) -> String {
    let (length, generations) = (window.length(), window.generations());
    let length = match window.clock() {
        Clock::Count => format!("ITEMS {}", length.div_ceil(shards).max(generations.into())),
        Clock::Arrival | Clock::Given => format!(" {length}ms"),
    };
    format!(" WINDOW{length} GENERATIONS {generations}")
}

/// Returns an error if the existing filter does not have the requested options.
pub(super) fn agree(spec: &FilterSpec, found: &Description, name: &Address) -> Result<()> {
    if let Some(wanted) = spec.on_full.filter(|wanted| *wanted != found.on_full) {
        return Err(differs(name, "--when-full", found.on_full.name(), wanted.name()));
    }
    let (mut window, shards) = (spec.window, found.items.len() as u64);
    if let Some(WindowLength::Items(items)) = &mut window.length {
        *items = items.div_ceil(shards);
    }
    window.agree_with(found.window, &name.to_string())?;
    let Some(rate) = spec.rate else { return Ok(()) };
    let share = spec.capacity.unwrap_or(0) as f64 / shards as f64;
    let holds = share / found.figures.hash_bits.unwrap_or_default().exp2();
    // A shard of fixed size was created for a little more than its share.
    if holds > rate * 1.001 {
        return Err(differs(name, "--rate", significant(holds), rate));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::WindowSpec;

    fn text(spec: &FilterSpec, shards: u64) -> String {
        arguments(spec, shards).unwrap()
    }

    #[test]
    fn words_for_the_server() {
        let all = FilterSpec::default();
        assert_eq!(text(&all, 1), "1024 HASHBITS 64");
        let roomy = FilterSpec { capacity: Some(1_000_000), ..all };
        assert_eq!(text(&roomy, 1), "1000000 HASHBITS 64");
        assert_eq!(text(&roomy, 64), "15625 HASHBITS 64");
        let exact = FilterSpec { rate: Some(0.001), ..roomy.clone() };
        assert_eq!(text(&exact, 1), "1000000 HASHBITS 31");
        assert_eq!(text(&exact, 64), "15625 HASHBITS 31");
        let finer = FilterSpec { rate: Some(1e-6), ..roomy };
        assert_eq!(text(&finer, 1), "1000000 HASHBITS 40");
        let fixed = FilterSpec { on_full: Some(OnFull::Stop), ..exact };
        assert_eq!(text(&fixed, 1), "1000000 EXPANSION 0 ERROR 0.001");
        assert_eq!(text(&fixed, 64), "16125 EXPANSION 0 ERROR 0.001");
        let forgetful = |length, shards| {
            let window = WindowSpec { length: Some(length), ..WindowSpec::default() };
            text(&FilterSpec { window, ..FilterSpec::default() }, shards)
        };
        let week = forgetful(WindowLength::Time(604_800_000), 2);
        assert_eq!(week, "1024 HASHBITS 64 WINDOW 604800000ms GENERATIONS 8");
        let items = forgetful(WindowLength::Items(1_000_000), 16);
        assert_eq!(items, "1024 HASHBITS 64 WINDOWITEMS 62500 GENERATIONS 8");
    }

    #[test]
    fn what_a_server_cannot_do_is_told() {
        let most = FilterSpec { capacity: Some(1 << 31), ..FilterSpec::default() };
        assert!(arguments(&most, 1).is_err() && arguments(&most, 2).is_ok());
        let most = FilterSpec { capacity: Some(1 << 30), rate: Some(1e-12), ..most };
        assert!(arguments(&most, 1).is_err());
    }
}
