//! Options that describe a new filter and its window.

use super::key_args::TimeSource;
use super::value::{self, Word, word};
use crate::clock::{self, TimeFormat, TimeSyntax, zone_name};
use crate::filter::spec::age_name;
use crate::filter::{FilterSpec, Secret, WindowLength, WindowSpec};
use crate::runs::JobSpec;
use clap::Args;
use coua::WhenFull;
use coua::window::AgeFrom;
use coua_store::Requirements;
use jiff::tz::TimeZone;
use std::path::PathBuf;

/// Where the help of commands that create filters mentions rarely used options.
pub(crate) const HIDDEN: &str = "A new filter also takes --hash-bits, which `coua help convert` describes, and \
    --seed, a number for its hash (XXH3).";

/// The parameters of a new filter. With a window, numbers of items count all generations together. Whatever is given
/// must agree with a filter file that exists.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
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
    /// generations together; with a window of items the default is what they can hold.
    #[arg(long, value_name = "N", value_parser = value::count)]
    max_items: Option<u64>,

    /// Bits of every key's 64-bit hash to remember, 8 to 64: the rate is items / 2^BITS
    #[arg(long, hide = true, value_name = "BITS", value_parser = value::between(8_u32, 64))]
    hash_bits: Option<u32>,

    /// What to do when the filter is full
    #[arg(long, hide_short_help = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    when_full: Option<WhenFull>,

    /// Seed of the hash (XXH3) [default: 0]
    #[arg(long, hide = true, value_name = "SEED", value_parser = value::seed, conflicts_with = "secret")]
    seed: Option<u64>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

const POLICIES: [Word<WhenFull>; 3] = [
    ("grow", WhenFull::Grow, "Use more memory, up to --max-items; then stop with exit code 3"),
    ("error", WhenFull::Refuse, "Never use more memory: stop with exit code 3"),
    ("exceed", WhenFull::ExceedRate, "Grow beyond --max-items too: the false-positive rate rises"),
];

impl FilterArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> FilterSpec {
        let wanted = Requirements {
            rate: self.rate,
            capacity: self.capacity,
            max_items: self.max_items,
            hash_bits: self.hash_bits,
            when_full: self.when_full,
            hasher: None,
        };
        let (secret, window) = (self.secret.secret(), self.window.spec());
        FilterSpec { wanted, seed: self.seed, secret, window }
    }
}

/// The secret key of a filter's hash.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct SecretArgs {
    /// Hash under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// The hash is SipHash-1-3, for records that an attacker may choose. The filter file does not contain the key, so
    /// every command on it needs this option.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    secret: Option<PathBuf>,
}

impl SecretArgs {
    pub(crate) fn secret(&self) -> Secret {
        Secret::in_file(self.secret.clone())
    }

    /// The options with which an existing filter is opened.
    pub(crate) fn spec(&self) -> FilterSpec {
        FilterSpec { secret: self.secret(), ..FilterSpec::default() }
    }
}

/// The window of a new filter. Whatever is given must agree with a filter file that exists; only --time-field must be
/// repeated.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct WindowArgs {
    /// Forget what is older than LENGTH, such as 7d, or all but the last 1M-items
    ///
    /// A record counts as seen for at least LENGTH (such as 36h or 1d 12h) after it was first seen, and for at most one
    /// generation (LENGTH / --generations) more. Then it is new again. Repeats do not extend this time, unless
    /// --window-by is last. A record's time is its arrival, unless --time-field is given. Old records are forgotten
    /// during the run and when a filter file is opened.
    ///
    /// With a number such as 1M-items, the filter remembers the last 1M different records, and at most one generation
    /// more. It forgets them one generation at a time; each holds an equal share of them, rounded up.
    #[arg(long, value_name = "LENGTH", value_parser = value::window)]
    pub(crate) window: Option<WindowLength>,

    /// Count a record's age from when it was first seen, or last seen [default: first]
    ///
    /// With last, each repeat extends the time for which `dedup` and `add --unique` remember a record. The filter
    /// remembers this option. With a number of items, a repeat counts as an item, unless its generation is the newest.
    #[arg(long = "window-by", hide_short_help = true, value_name = "WHEN", value_parser = word(&AGES))]
    age_from: Option<AgeFrom>,

    /// Generations of the window; each is forgotten as a whole [default: 8]
    ///
    /// More generations forget records at a more exact time, but runs take longer: a new record is looked up in up to
    /// N + 1 generations.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = value::between(1_u32, 1000))]
    pub(crate) generations: Option<u32>,

    /// Field that holds the time of a record
    ///
    /// A list of fields as with -k, a column as with --csv, or a JSON pointer.
    ///
    /// The latest time read so far is the present, so old files can be replayed, and records may be out of
    /// order. A record that is older than the window counts as new unless it is known, and is not remembered. A
    /// record whose time cannot be read, or is more than one generation ahead of the system's clock, counts as a
    /// record without a key (--on-missing), and does not move the present.
    #[arg(long, hide_short_help = true, value_name = "FIELD")]
    pub(crate) time_field: Option<String>,

    /// Format of the time [default: rfc3339, or a number]
    ///
    /// rfc3339; seconds, milliseconds, microseconds or nanoseconds since 1970; or a format such as
    /// %d/%b/%Y:%H:%M:%S %z. By default any of these but the last: numbers below 10^11 are seconds, those below
    /// 10^14 milliseconds, those below 10^17 microseconds. A date without a year, as in syslog, is in the last
    /// year in which it is not in the future.
    #[arg(long, hide_short_help = true, value_name = "FORMAT", value_parser = TimeFormat::named, requires = "time_field",
          allow_hyphen_values = true)]
    time_format: Option<TimeFormat>,

    /// Time zone of times without an offset, such as Europe/Berlin, +02:00 or local [default: UTC]
    #[arg(long, hide_short_help = true, value_name = "ZONE", value_parser = clock::time_zone, requires = "time_field",
          allow_hyphen_values = true)]
    time_zone: Option<TimeZone>,
}

const AGES: [Word<AgeFrom>; 2] = [
    (
        age_name(AgeFrom::FirstSeen),
        AgeFrom::FirstSeen,
        "When it was first seen: repeats change nothing",
    ),
    (
        age_name(AgeFrom::LastSeen),
        AgeFrom::LastSeen,
        "When it was last seen: each repeat extends its time",
    ),
];

impl WindowArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> WindowSpec {
        WindowSpec {
            length: self.window,
            generations: self.generations,
            age_from: self.age_from,
            has_times: self.time_field.is_some(),
        }
    }

    /// Adds the options on which the result depends, except the window itself, which the filter has.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let format = self.time_format.as_ref();
        let zone = self.time_zone.as_ref().map(zone_name);
        spec.with("time-field", self.time_field.as_ref())
            .with("time-format", format)
            .with("time-zone", zone)
    }

    /// Where the times of records are, if they have some.
    pub(crate) fn time_source(&self) -> Option<TimeSource<'_>> {
        let format = self.time_format.clone().unwrap_or_default();
        let zone = self.time_zone.clone().unwrap_or(TimeZone::UTC);
        let syntax = TimeSyntax { format, zone };
        self.time_field.as_deref().map(|field| TimeSource { field, syntax })
    }
}
