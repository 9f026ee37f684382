//! Options about interrupted runs.

use super::run::{Manners, RunArgs};
use crate::clock;
use crate::resume::{Checkpoints, Mode};
use crate::run::Manner;
use std::time::Duration;

/// How a run is kept from being lost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(super) struct CheckpointArgs {
    /// Resume an interrupted run, or start a new one
    ///
    /// The filter remembers how far a run with files as inputs and outputs has come. The same command (the
    /// options that decide the result, the inputs in their order, the outputs) with this option reads the inputs
    /// again, and passes over the records that were done. Files are known by their content: an input may have
    /// grown, or been moved or copied. If it does not begin with what was done of it, the run is refused. That
    /// a run with this option has ended is remembered too, for the last 64 of them: the same command does
    /// nothing then, or only what was appended since. Give the option from the first time on. A last line
    /// without a newline is a record too; if it is longer when the run is resumed, the whole line counts as
    /// another record, and the piece stays where it was printed or recorded.
    #[arg(long, requires = "filter_file")]
    pub(super) resume: bool,

    /// Discard an interrupted run and start over
    ///
    /// The run of the same job, or one that wrote the same output. Without this option, an interrupted `add`
    /// or `remove` is not started again, since the records it has done would count twice, and an output that
    /// an interrupted run wrote is not emptied.
    #[arg(long, hide_short_help = true, conflicts_with = "resume", requires = "filter_file")]
    pub(super) anew: bool,

    /// Seconds between checkpoints of output and filter [default: 5]
    ///
    /// Only runs that can be resumed have checkpoints; the others are recorded at their end. Checkpoints are
    /// rarer where they would take more than a tenth of the time; with 0 they come as often as possible.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", value_parser = clock::seconds, requires = "filter_file")]
    pub(super) checkpoint_every: Option<Duration>,
}

impl CheckpointArgs {
    /// How the run begins and is recorded. clap has seen to it that there is only one of the options.
    pub(super) fn checkpoints(&self) -> Checkpoints {
        let mode = match (self.resume, self.anew) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::StartOver,
            _ => Mode::New,
        };
        let default = Checkpoints::default();
        Checkpoints { mode, every: self.checkpoint_every.unwrap_or(default.every) }
    }
}

/// How to do work that changes a filter record by record.
#[derive(clap::Args, Debug)]
pub(super) struct WorkArgs {
    #[command(flatten)]
    pub(super) checkpoints: CheckpointArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,

    #[command(flatten)]
    pub(super) manners: Manners,
}

impl WorkArgs {
    pub(super) fn manner(&self) -> Manner {
        let wait = self.manners.wait();
        Manner { wait, ..self.run.manner(self.manners.quiet.notes()) }
    }
}
