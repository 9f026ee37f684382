//! Options that describe a new filter and its window.

use super::key_args::TimeSource;
use super::value::{self, Word, word};
use crate::clock::TimeFormat;
use crate::filter::spec::age_name;
use crate::filter::{FilterSpec, OnFull, Secret, WindowLength, WindowSpec};
use crate::runs::JobSpec;
use clap::Args;
use coua::window::AgeFrom;
use std::path::PathBuf;

/// The parameters of a new filter. With a window, numbers of items count all generations together. Whatever is given
/// must agree with a filter file that exists.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct FilterArgs {
    /// Different records to expect, such as 10M [default: few; the filter grows]
    ///
    /// The filter has memory for N from the start (with a window, each generation for its share). If there are more, it
    /// grows; a filter with a --rate then says what the rate is.
    #[arg(long, value_name = "N", value_parser = value::items)]
    capacity: Option<u64>,

    /// Share of new records that may count as repeats, such as 0.1%; saves memory
    ///
    /// The share when the filter holds as many items as --capacity says; with fewer items it is lower. Without --rate
    /// the filter remembers all 64 bits of every key's hash. With --when-full stop it takes less memory. In a window of
    /// items, --capacity may be left out: it is what the window holds.
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// What to do with more items than --capacity: grow, or stop with exit code 3 [default: grow]
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    when_full: Option<OnFull>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

const POLICIES: [Word<OnFull>; 2] =
    [(OnFull::Grow.name(), OnFull::Grow), (OnFull::Stop.name(), OnFull::Stop)];

impl FilterArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> FilterSpec {
        let Self { capacity, rate, when_full: on_full, .. } = *self;
        let (secret, window) = (self.secret.secret(), self.window.spec());
        FilterSpec { capacity, rate, on_full, secret, window }
    }
}

/// The secret key of a filter's hash.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct SecretArgs {
    /// Hash under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// For records that an attacker may choose (SipHash-1-3); every command on the file needs it.
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
    /// A record counts as seen for at least LENGTH (such as 36h or 1d 12h) after it was first seen, and for at most an
    /// eighth, a generation, more. Then the record is new again. Its time is its arrival, unless --time-field is given. With
    /// 1M-items the filter remembers the last 1M different records, and at most an eighth more.
    #[arg(long, value_name = "LENGTH", value_parser = value::window)]
    pub(crate) window: Option<WindowLength>,

    /// Count a record's age from when it was first seen, or last seen [default: first]
    ///
    /// With last, each repeat extends the time for which `dedup` and `add --unique` remember a record. In a window of
    /// items it counts as one, unless its generation is the newest.
    #[arg(long = "window-by", hide_short_help = true, hide_possible_values = true, value_name = "WHEN", value_parser = word(&AGES))]
    age_from: Option<AgeFrom>,

    /// Field that holds the time of a record: fields as with -k, a column, or a JSON pointer
    ///
    /// The latest time read so far is the present, so old files can be replayed, and records may be out of order. A
    /// record older than the window counts as new, and is not remembered. A time that cannot be read,
    /// or is more than a generation ahead of the system's clock, counts as a missing key.
    #[arg(long, hide_short_help = true, value_name = "FIELD")]
    pub(crate) time_field: Option<String>,

    /// Format of the time [default: rfc3339, or a number]
    ///
    /// rfc3339; seconds, milliseconds, microseconds or nanoseconds since 1970 (by default told apart by their
    /// magnitude, from 1973 on); or a format such as %d/%b/%Y:%H:%M:%S %z or %Y%m%d. A date without a year is in the last
    /// year in which it is at most a generation in the future. A time without an offset (%z) is in UTC.
    #[arg(long, hide_short_help = true, value_name = "FORMAT", value_parser = TimeFormat::named, requires = "time_field",
          allow_hyphen_values = true)]
    time_format: Option<TimeFormat>,
}

const AGES: [Word<AgeFrom>; 2] = [
    (age_name(AgeFrom::FirstSeen), AgeFrom::FirstSeen),
    (age_name(AgeFrom::LastSeen), AgeFrom::LastSeen),
];

impl WindowArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> WindowSpec {
        WindowSpec {
            length: self.window,
            age_from: self.age_from,
            has_times: self.time_field.is_some(),
        }
    }

    /// Adds the options on which the result depends, except the window itself, which the filter has.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let format = self.time_format.as_ref();
        spec.with("time-field", self.time_field.as_ref()).with("time-format", format)
    }

    /// Where the times of records are, if they have some.
    pub(crate) fn time_source(&self) -> Option<TimeSource<'_>> {
        let format = self.time_format.clone().unwrap_or_default();
        self.time_field.as_deref().map(|field| TimeSource { field, format })
    }
}
