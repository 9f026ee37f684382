//! Options about how a command runs, not about what it does.

use crate::terminal::message::Failure;
use crate::terminal::stream::Stream;
use clap::{Args, ValueEnum, value_parser};
use std::num::NonZeroUsize;
use std::thread;

/// Threads where nothing is said: more pay only where keys are costly to find.
const MOST_BY_DEFAULT: usize = 4;

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Threads to use [default: one a processor, 4 at most]
    ///
    /// With 2, one reads and splits, the other asks the filter and writes, and keys are found and hashed by
    /// the one that has time; with 3, writing has a thread of its own. From 4 on more threads find and hash
    /// the keys, which pays for --json, --regex, --csv and --url. `dedup` without a filter file and without
    /// options about the filter's size shares the filter's work out too, with 2 and 3 only if whole records
    /// are the keys: the one that reads does a half of it; from 4 on one thread more does, and one less
    /// hashes. Output and filter never depend on this number.
    #[arg(short = 'j', long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Print figures about the run on standard error at the end, for people or as JSON
    ///
    /// Fields of the JSON object, absent where they do not apply: `records` and `bytes` read;
    /// `unique` records (first occurrences) and `repeats`; `without_key` records (see --on-missing);
    /// `added`, `found`, `not_found`, `removed` for the other commands;
    /// `expected_wrongly_dropped` records: how many unique records this run is expected to have
    /// taken for repeats (all repeats, once the filter is so full that nothing passes); then the filter at the end: `items` in it, `load` (0 to 1),
    /// `bits_per_item`, `memory_bytes`, `hash_bits`, `false_positive_rate` (with --window over all
    /// generations together, and then also: `max_items` and `rate_at_max_items`, null without a limit;
    /// `generations` there are; items `forgotten` in this run; records `outdated`, which were too old to
    /// be remembered); `seconds` of the run. Of a filter on a server that has RedisBloom's layout, `load`,
    /// `hash_bits` and `false_positive_rate` are null.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "text")]
    pub(crate) stats: Option<StatsFormat>,
}

/// Whether to tell people what they have not asked for.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct Quiet {
    /// No progress, warnings or notes, only errors
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

/// How to behave towards people and other processes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct Manners {
    #[command(flatten)]
    pub(crate) quiet: Quiet,

    /// Fail at once if another process is writing the filter file, instead of waiting for it
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// How to print figures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StatsFormat {
    /// A table for people.
    Text,
    /// One JSON object on one line.
    Json,
}

impl RunArgs {
    /// Complains if nobody can see the figures: to be asked before anything is done.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stats.is_some() { Stream::Error.check_open() } else { Ok(()) }
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(|| processors().min(MOST_BY_DEFAULT), usize::from)
    }
}
