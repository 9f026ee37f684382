//! Options for how a command runs.

use super::value::{Word, word};
use crate::clock;
use crate::resume::{Mode, ResumeOptions};
use crate::run::Running;
use crate::runs::JobSpec;
use crate::terminal::{ReportFormat, Verbosity};
use clap::{Args, value_parser};
use std::num::NonZeroUsize;
use std::time::Duration;

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Number of threads [default: processors, at most 16; fewer for small files]
    ///
    /// The output and the filter never depend on it. A filter in a file, with a window or with a limit of items is changed
    /// by one thread.
    #[arg(short = 'j', long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Print statistics to standard error: text, or json (docs/json.md)
    #[arg(long, hide_possible_values = true, value_name = "FORMAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "text", value_parser = word(&FORMATS))]
    stats: Option<ReportFormat>,

    #[command(flatten)]
    quiet: Quiet,
}

/// Whether to print progress, warnings and notes.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct Quiet {
    /// Print only errors: no progress, warnings or notes
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

const FORMATS: [Word<ReportFormat>; 2] =
    [("text", ReportFormat::Text), ("json", ReportFormat::Json)];

impl RunArgs {
    pub(crate) fn running(&self) -> Running {
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        Running { threads, figures: self.stats, verbosity: self.quiet.verbosity() }
    }
}

impl Quiet {
    pub(crate) fn verbosity(self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Normal }
    }
}

/// Options of commands that change a filter record by record.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// Resume an interrupted run, or start a new one
    ///
    /// If the inputs and outputs of a run are files, the filter remembers how far the run has come. The same
    /// command (with the same inputs, outputs, and options that affect the result) and this option reads the inputs
    /// again, and skips the records that are done. Inputs may have grown, and further inputs may be named: what is
    /// new in them is processed. If an input no longer begins with what was processed, the run is refused. The
    /// filter also remembers the last 64 completed runs with this option: the same command then does nothing. So use
    /// this option from the first run on.
    ///
    /// A last line without a newline is a record too. If it is longer when the run is resumed, the whole line
    /// is another record, and its first part stays in the output and in the filter: with the same key, the whole line is
    /// a repeat. A note says so.
    #[arg(long, help_heading = "Memory")]
    resume: bool,

    /// Seconds between checkpoints of output and filter [default: 5]
    ///
    /// Runs that can be resumed, and `dedup` on streams, save output and filter this often, or less often if that would
    /// take a tenth of the time.
    #[arg(long, help_heading = "Memory", hide_short_help = true, value_name = "SECONDS",
          value_parser = clock::seconds)]
    checkpoint_every: Option<Duration>,

    #[command(flatten)]
    run: RunArgs,
}

impl WorkArgs {
    /// The options for beginning and recording the run.
    pub(crate) fn resume_options(&self, spec: JobSpec) -> ResumeOptions {
        let mode = if self.resume { Mode::Resume } else { Mode::New };
        ResumeOptions { spec, mode, every: self.checkpoint_every }
    }

    pub(crate) fn running(&self) -> Running {
        self.run.running()
    }
}
