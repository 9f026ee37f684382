//! Options about interrupted runs.

use crate::cli::run::{Manners, RunArgs};
use crate::cli::value;
use crate::resume::Mode;
use std::time::Duration;

/// Time between two checkpoints if nothing is said.
const CHECKPOINTS: Duration = Duration::from_secs(5);

/// How a run is kept from being lost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct CheckpointArgs {
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
    pub(crate) resume: bool,

    /// Discard an interrupted run and start over
    ///
    /// The run of the same job, or one that wrote the same output. Without this option, an interrupted `add`
    /// or `remove` is not started again, since the records it has done would count twice, and an output that
    /// an interrupted run wrote is not emptied.
    #[arg(long, conflicts_with = "resume", requires = "filter_file")]
    pub(crate) anew: bool,

    /// Seconds after which output and filter are brought to the disk together [default: 5]
    ///
    /// Only in runs that can be resumed; others are recorded at their end alone. Less often
    /// where a tenth of the time would go into it; with 0, as often as possible.
    #[arg(long, value_name = "SECONDS", value_parser = value::seconds, requires = "filter_file")]
    pub(crate) checkpoint_every: Option<Duration>,
}

impl CheckpointArgs {
    /// How the run begins. clap has seen to it that there is only one of the options.
    pub(crate) fn mode(&self) -> Mode {
        match (self.resume, self.anew) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::StartOver,
            _ => Mode::New,
        }
    }

    /// The time between two checkpoints.
    pub(crate) fn every(&self) -> Duration {
        self.checkpoint_every.unwrap_or(CHECKPOINTS)
    }
}

/// How to do work that changes a filter record by record.
#[derive(clap::Args, Debug)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) manners: Manners,
}
