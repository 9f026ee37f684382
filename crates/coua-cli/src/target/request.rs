//! How a new filter on a server is to be: the options of a filter file, in the words of CF.RESERVE.

use crate::clock::window_text;
use crate::terminal::message::Failure;
use crate::terminal::text::{counted, significant};
use coua::window::{Clock, Window};
use coua_remote::{Address, Description};
use coua_store::Difference;

/// Items that a shard has room for at first if nothing is said: it grows.
const FEW: u64 = 1024;
/// What a server takes.
const LEAST_CAPACITY: u64 = 4;
const MOST_CAPACITY: u64 = 1 << 30;
const FEWEST_BITS: f64 = 8.0;
const MOST_BITS: f64 = 64.0;

/// The filter that is wanted, if there is none yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(crate) capacity: Option<u64>,
    /// How exact: none remembers all 64 bits.
    pub(crate) precision: Option<Precision>,
    /// Whether it never grows; none if nothing is said.
    pub(crate) is_fixed: Option<bool>,
    /// What it forgets.
    pub(crate) window: Option<Window>,
}

/// How exact a filter on a server is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Precision {
    /// This rate when so many items are stored.
    Rate {
        rate: f64,
        items: u64,
    },
    HashBits(u32),
}

impl Request {
    /// The words after the key of CF.RESERVE, for each of so many shards.
    pub(super) fn words(&self, shards: u64) -> Result<Vec<String>, Failure> {
        let is_fixed = self.is_fixed == Some(true);
        let capacity = match self.capacity {
            None if is_fixed => {
                let reason = "needs --capacity for a new filter on a server";
                return Err(Failure::at("--when-full=error", reason));
            }
            None => FEW,
            Some(all) => self.share(all, shards),
        };
        if capacity > MOST_CAPACITY {
            let reason = "is more than 2^30 items in a shard: give the address more shards \
                          (?shards=N), or leave --capacity out";
            return Err(Failure::at("--capacity", reason));
        }
        let mut words = vec![capacity.max(LEAST_CAPACITY).to_string()];
        if is_fixed {
            words.extend(["EXPANSION".to_owned(), "0".to_owned()]);
        }
        let (name, value) = match self.precision {
            // Of a filter of fixed size the server knows best.
            Some(Precision::Rate { rate, .. }) if is_fixed => ("ERROR", rate.to_string()),
            Some(Precision::Rate { rate, items }) => {
                let bits = (items as f64 / shards as f64 / rate).log2().ceil();
                if bits > MOST_BITS {
                    let least = items as f64 / shards as f64 * (-MOST_BITS).exp2();
                    let least = significant(least);
                    let items = counted(items, "item");
                    let reason = format!("is less than 64-bit hashes allow: {least} for {items}");
                    return Err(Failure::at("--rate", reason));
                }
                ("HASHBITS", bits.max(FEWEST_BITS).to_string())
            }
            Some(Precision::HashBits(bits)) => ("HASHBITS", bits.to_string()),
            None => ("HASHBITS", MOST_BITS.to_string()),
        };
        words.extend([name.to_owned(), value]);
        words.extend(self.window.iter().flat_map(|window| window_words(share_of(*window, shards))));
        Ok(words)
    }

    /// The items of a shard. One that cannot grow has room for what chance may give it beyond its
    /// share: four standard deviations.
    fn share(&self, all: u64, shards: u64) -> u64 {
        let share = all.div_ceil(shards);
        if self.is_fixed == Some(true) && shards > 1 {
            share + (4.0 * (share as f64).sqrt()).ceil() as u64
        } else {
            share
        }
    }

    /// Complains if the filter, which exists already, does not forget as wanted.
    fn agree_with_window(&self, found: &Description, name: &Address) -> Result<(), Failure> {
        let wanted = self.window.map(|window| share_of(window, found.shards));
        if wanted.is_none() || wanted == found.window {
            return Ok(());
        }
        let found = found.window.map_or_else(
            || "never forgets".to_owned(),
            |window| format!("has the window {}", window_text(window)),
        );
        let reason = format!(
            "the filter exists, and {found}, not what the options say: leave them out, or name another \
             filter"
        );
        Err(Failure::at(name, reason))
    }

    /// Complains if the filter, which exists already, is not as wanted.
    pub(super) fn agree_with(&self, found: &Description, name: &Address) -> Result<(), Failure> {
        let differs = |option: &'static str, found: String, wanted: String| {
            let difference = Difference { option, found, wanted };
            Err(Failure::at(name, difference.explain(option)))
        };
        if let Some(is_fixed) = self.is_fixed.filter(|is_fixed| *is_fixed != found.is_fixed) {
            let wanted = if is_fixed { "error" } else { "exceed" };
            return differs("--when-full", found.when_full().to_owned(), wanted.to_owned());
        }
        self.agree_with_window(found, name)?;
        let bits = found.hash_bits.unwrap_or_default();
        match self.precision {
            Some(Precision::HashBits(wanted)) if (f64::from(wanted) - bits).abs() >= 1.0 => {
                differs("--hash-bits", format!("{bits:.2}"), wanted.to_string())
            }
            Some(Precision::Rate { rate, items }) => {
                let holds = items as f64 / found.shards.max(1) as f64 / bits.exp2();
                // A shard of fixed size was made for a little more than its share.
                let is_enough = holds <= rate * 1.001;
                if is_enough {
                    Ok(())
                } else {
                    differs("--rate", significant(holds), rate.to_string())
                }
            }
            _ => Ok(()),
        }
    }
}

/// The window of a shard: of a number of items each remembers its share.
fn share_of(window: Window, shards: u64) -> Window {
    if window.clock() != Clock::Count {
        return window;
    }
    let share = window.length().div_ceil(shards.max(1)).max(window.generations().into());
    Window::new(Clock::Count, share, window.generations()).unwrap_or(window)
}

/// The words of CF.RESERVE for a window.
fn window_words(window: Window) -> [String; 4] {
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

    fn words(request: Request, shards: u64) -> String {
        request.words(shards).unwrap().join(" ")
    }

    #[test]
    fn words_for_the_server() {
        let all = Request::default();
        assert_eq!(words(all, 1), "1024 HASHBITS 64");
        let roomy = Request { capacity: Some(1_000_000), ..all };
        assert_eq!(words(roomy, 1), "1000000 HASHBITS 64");
        assert_eq!(words(roomy, 64), "15625 HASHBITS 64");
        let precision = Some(Precision::Rate { rate: 0.001, items: 1_000_000 });
        assert_eq!(words(Request { precision, ..roomy }, 1), "1000000 HASHBITS 30");
        assert_eq!(words(Request { precision, ..roomy }, 64), "15625 HASHBITS 24");
        let fixed = Request { precision, is_fixed: Some(true), ..roomy };
        assert_eq!(words(fixed, 1), "1000000 EXPANSION 0 ERROR 0.001");
        assert_eq!(words(fixed, 64), "16125 EXPANSION 0 ERROR 0.001");
        let precision = Some(Precision::HashBits(20));
        assert_eq!(words(Request { precision, ..all }, 4), "1024 HASHBITS 20");
        let window = |clock, length| Window::new(clock, length, 4).ok();
        let week = Request { window: window(Clock::Arrival, 604_800_000), ..all };
        assert_eq!(words(week, 2), "1024 HASHBITS 64 WINDOW 604800000ms GENERATIONS 4");
        let items = Request { window: window(Clock::Count, 1_000_000), ..all };
        assert_eq!(words(items, 16), "1024 HASHBITS 64 WINDOWITEMS 62500 GENERATIONS 4");
    }

    #[test]
    fn what_a_server_cannot_do_is_told() {
        let most = Request { capacity: Some(1 << 31), ..Request::default() };
        assert!(most.words(1).is_err() && most.words(2).is_ok());
        let precision = Some(Precision::Rate { rate: 1e-12, items: 1 << 40 });
        assert!(Request { precision, ..Request::default() }.words(1).is_err());
    }
}
