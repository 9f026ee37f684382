//! Options about how a command runs, not about what it does.

use crate::run::Manner;
use crate::target::file;
use crate::terminal::figures::Format;
use crate::terminal::message::Notes;
use crate::terminal::progress::Shown;
use clap::{Args, ValueEnum, value_parser};
use coua_store::Wait;
use std::num::NonZeroUsize;
use std::thread;

/// Threads where nothing is said, at most: more take memory, and pay only where keys are costly to find.
const MOST_BY_DEFAULT: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct RunArgs {
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
    pub(super) stats: Option<StatsFormat>,

    /// Show progress also where standard error is no terminal
    ///
    /// On a terminal it is shown anyway, unless records go there.
    #[arg(long)]
    progress: bool,
}

/// Whether to tell people what they have not asked for.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct Quiet {
    /// No progress, warnings or notes, only errors
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

/// How to behave towards people and other processes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct Manners {
    #[command(flatten)]
    pub(super) quiet: Quiet,

    /// Fail at once if another process is writing the filter file, instead of waiting for it
    #[arg(long)]
    pub(super) no_wait: bool,
}

/// How to print figures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum StatsFormat {
    /// A table for people.
    Text,
    /// One JSON object on one line.
    Json,
}

impl RunArgs {
    pub(super) fn manner(&self, notes: Notes) -> Manner {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let given = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        Manner {
            threads: given.unwrap_or_else(|| processors().min(MOST_BY_DEFAULT)),
            figures: self.stats.map(Format::from),
            notes,
            shown: if self.progress { Shown::Always } else { Shown::by_default(notes) },
            wait: Wait::UntilFree,
        }
    }
}

impl From<StatsFormat> for Format {
    fn from(format: StatsFormat) -> Self {
        match format {
            StatsFormat::Text => Self::Text,
            StatsFormat::Json => Self::Json,
        }
    }
}

impl Quiet {
    pub(super) fn notes(self) -> Notes {
        if self.quiet { Notes::Silenced } else { Notes::Told }
    }
}

impl Manners {
    pub(super) fn wait(&self) -> Wait {
        if self.no_wait { Wait::No } else { Wait::UntilFree }
    }

    /// For the commands that work on whole files.
    pub(super) fn for_files(&self) -> file::Manners {
        file::Manners { notes: self.quiet.notes(), wait: self.wait() }
    }
}
