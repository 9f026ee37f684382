//! Options about filters that forget.

use super::input_args::TimeSource;
use super::value;
use crate::clock::{self, TimeFormat, TimeSyntax, zone_name};
use crate::filter::WindowSpec;
use crate::resume::JobSpec;
use clap::Args;
use jiff::tz::TimeZone;

/// What a new filter forgets. For a filter file that exists, whatever is given here must agree with it,
/// and nothing need be given but --time-field.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct WindowArgs {
    /// Forget records older than LENGTH, such as 7d, 36h or 1d 12h
    ///
    /// A record counts as seen for at least LENGTH after it was first seen, and for at most one generation
    /// (LENGTH / --generations) more. Then it is new again. Repeats do not extend this time. A record's time is
    /// its arrival, unless --time-field is given. Old records are forgotten during the run, and when a filter
    /// file is opened.
    #[arg(long, value_name = "LENGTH", value_parser = clock::duration,
          conflicts_with = "window_items")]
    pub(crate) window: Option<u64>,

    /// Remember the last N different records, and forget older ones
    ///
    /// They are forgotten one generation at a time. A generation has N / --generations records, rounded up, and
    /// at most one generation more than the window is remembered.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = value::count)]
    pub(crate) window_items: Option<u64>,

    /// Generations of the window; each is forgotten as a whole [default: 8]
    ///
    /// With more generations records are forgotten more exactly, and runs take longer: a new record is looked up
    /// in up to N + 1 generations. Each takes at least 0.1 MB.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = value::between(1_u32, 1000))]
    pub(crate) generations: Option<u32>,

    /// Field that holds the time of a record
    ///
    /// A list of fields as for -k, a column with --csv, or a JSON pointer.
    ///
    /// The latest time read so far is the present, so old files can be replayed, and records may be out of
    /// order. A record that is older than the window counts as new unless it is known, and is not remembered. A
    /// record whose time cannot be read, or is more than one generation ahead of the system's clock, counts as a
    /// record without a key (--on-missing), and does not move the present.
    #[arg(long, hide_short_help = true, value_name = "FIELD")]
    pub(crate) time_field: Option<String>,

    /// How the time is written [default: rfc3339, or a number]
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

/// What to take for the present.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct NowArgs {
    /// Use TIME as the present time, instead of the system's clock
    ///
    /// For filters with --window: to ask what is remembered at another time, or to make a run repeatable. TIME
    /// is written as in records: a number means seconds since 1970, not a year (from 100,000,000,000 on,
    /// milliseconds).
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = clock::moment)]
    pub(crate) now: Option<u64>,
}

impl WindowArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> WindowSpec {
        WindowSpec {
            length: self.window,
            items: self.window_items,
            generations: self.generations,
            has_times: self.time_field.is_some(),
        }
    }

    /// Adds the options on which the result depends. The window itself is the filter's, with which the others
    /// must agree.
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
