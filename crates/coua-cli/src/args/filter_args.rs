//! Options that describe a filter to be made.

use super::value::{self, Word, word};
use super::window_args::{NowArgs, WindowArgs};
use crate::clock::Now;
use crate::filter::{FilterSpec, Secret};
use clap::Args;
use coua::{Layout, WhenFull};
use coua_store::Requirements;
use std::path::PathBuf;

/// How a new filter is to be. With a window, what is said of items is meant for all generations
/// together. For a filter file that exists, whatever is given here must agree with
/// it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct FilterArgs {
    /// False-positive rate at --max-items, such as 0.001 or 0.1%
    ///
    /// With fewer items the rate is lower. Without this option (and without --hash-bits) the filter remembers
    /// all 64 bits of every key's hash.
    #[arg(long, value_name = "RATE", value_parser = value::rate, conflicts_with = "hash_bits")]
    rate: Option<f64>,

    /// Items to make room for at once [default: few; the filter grows]
    ///
    /// With a window, each generation begins with its share of this room.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = value::count)]
    capacity: Option<u64>,

    /// Items up to which the rate must hold [default: no limit]
    ///
    /// With --rate the default is --capacity, if that is given. With a window this counts the items of all
    /// generations together; with --window-items the default is what they can hold.
    #[arg(long, value_name = "N", value_parser = value::count)]
    max_items: Option<u64>,

    /// Bits of every key's 64-bit hash to remember, 8 to 64: the rate is items / 2^BITS
    #[arg(long, hide_short_help = true, value_name = "BITS", value_parser = value::between(8_u32, 64))]
    hash_bits: Option<u32>,

    /// Slots per bucket: 1, 2, 4 or 8 [default: 4, overlapping 2]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = value::between(1_u32, 8))]
    slots_per_bucket: Option<u32>,

    /// Disjoint buckets (faster), or overlapping buckets of two slots (fewer wrong answers)
    #[arg(long, hide_short_help = true, value_name = "LAYOUT", value_parser = word(&LAYOUTS))]
    layout: Option<Layout>,

    /// What to do if there is no room for an item
    #[arg(long, hide_short_help = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    when_full: Option<WhenFull>,

    /// Seed of the hash (XXH3) [default: 0]
    #[arg(long, hide_short_help = true, value_name = "SEED", value_parser = value::seed, conflicts_with = "secret")]
    seed: Option<u64>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    pub(crate) window: WindowArgs,

    #[command(flatten)]
    now: NowArgs,
}

pub(crate) const LAYOUTS: [Word<Layout>; 2] = [
    (&["buckets"], Layout::Buckets, "Disjoint buckets"),
    (&["overlapping", "windows"], Layout::Overlapping, "Overlapping buckets of two slots"),
];

/// Slots per bucket if nothing is said about them.
pub(crate) fn usual_slots(layout: Layout) -> u32 {
    if layout == Layout::Overlapping { 2 } else { 4 }
}

const POLICIES: [Word<WhenFull>; 3] = [
    (&["grow"], WhenFull::Grow, "Take more memory, up to --max-items; then stop with exit code 3"),
    (&["error"], WhenFull::Refuse, "Never take more memory: stop with exit code 3"),
    (
        &["exceed"],
        WhenFull::ExceedRate,
        "Grow beyond --max-items too: the false-positive rate rises",
    ),
];

impl FilterArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> FilterSpec {
        let wanted = Requirements {
            rate: self.rate,
            capacity: self.capacity,
            max_items: self.max_items,
            hash_bits: self.hash_bits,
            slots_per_bucket: self.slots_per_bucket,
            layout: self.layout,
            when_full: self.when_full,
            hasher: None,
        };
        let (secret, window) = (self.secret.secret(), self.window.spec());
        FilterSpec { wanted, seed: self.seed, secret, window, now: Now(self.now.now) }
    }
}

/// What a filter that exists is opened with.
#[derive(Args, Debug)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,
}

impl OpenArgs {
    pub(crate) fn spec(&self) -> FilterSpec {
        let (secret, now) = (self.secret.secret(), Now(self.now.now));
        FilterSpec { secret, now, ..FilterSpec::default() }
    }
}

/// The secret key of a filter's hash.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct SecretArgs {
    /// Hash under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// With SipHash-1-3, for records that somebody hostile may choose. The filter file does not contain the
    /// key: every command on it needs this option.
    #[arg(long, hide_short_help = true, value_name = "FILE", alias = "key-file")]
    secret: Option<PathBuf>,
}

impl SecretArgs {
    pub(crate) fn secret(&self) -> Secret {
        Secret::in_file(self.secret.clone())
    }
}
