//! Options about interrupted runs.

use crate::args::run::{Manners, RunArgs};
use crate::args::value;
use std::time::Duration;

/// Time between two checkpoints if nothing is said.
const CHECKPOINTS: Duration = Duration::from_secs(5);

/// How a run is kept from being lost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(crate) struct CheckpointArgs {
    /// Go on with a run that was interrupted; begin one if nothing was done yet
    ///
    /// Inputs, outputs and options must be those of that run, unless it has dealt with nothing. The
    /// records that were dealt with are read again, but passed over. That a run with this option has ended is remembered too: the same
    /// command once more deals with nothing, or with what any of the inputs has got more since. A
    /// filter remembers one run: when another one begins, with other inputs or options, the one that
    /// has ended is forgotten, and its command begins from the start. Give the option from the first
    /// time on. A last line without a newline is a record too. If it is longer when the run is gone on
    /// with, the whole line counts as another record, and the piece stays where it was printed or
    /// recorded.
    #[arg(long, requires = "filter_file")]
    pub(crate) resume: bool,

    /// Forget an interrupted run of `add` or `remove`, and begin another
    ///
    /// Without this option a filter file with such a run is changed by nothing but its --resume: what
    /// it has dealt with would count twice if it were begun again.
    #[arg(long, conflicts_with = "resume", requires = "filter_file")]
    pub(crate) anew: bool,

    /// Seconds after which output and filter are brought to the disk together [default: 5]
    ///
    /// Only in runs that --resume can go on with; others are recorded at their end alone. Less often
    /// where a tenth of the time would go into it; with 0, as often as possible.
    #[arg(long, value_name = "SECONDS", value_parser = value::seconds, requires = "filter_file")]
    pub(crate) checkpoint_every: Option<Duration>,
}

impl CheckpointArgs {
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
