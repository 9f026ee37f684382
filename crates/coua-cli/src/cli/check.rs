//! `coua check`.

use super::args::{OpenArgs, RunArgs, TargetArgs};
use super::line::Line;
use crate::commands::check::{self, CheckReport};
use crate::filter::Op;
use crate::input::Until;
use crate::key::Seen;
use crate::output::Destinations;
use crate::run::Job;
use crate::terminal::{Exit, Result, Verbosity};

/// Print the records that are in a filter file
///
/// A record that was never added may be printed too; how often is the filter's false-positive rate. The exit
/// code is as grep's: 0 if a record was printed or counted, 1 if none was, 2 after an error.
#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Print the records that are not in the filter
    #[arg(short = 'v', long, help_heading = "Output")]
    invert: bool,

    /// Print only how many records there are
    #[arg(short = 'c', long, help_heading = "Output")]
    count: bool,

    /// Print nothing: stop with exit code 0 at the first record that would be printed
    #[arg(short = 'q', long, help_heading = "Output", conflicts_with = "count")]
    quiet: bool,

    #[command(flatten)]
    filter: OpenArgs,

    #[command(flatten)]
    run: RunArgs,
}

impl CheckArgs {
    pub(super) fn run(&self, line: Line<'_>) -> Result<Exit> {
        let Self { invert, count, quiet, .. } = *self;
        let mut reading = self.target.input.reading(None)?;
        // With -q a record that is there ends the run before the inputs after it are opened.
        reading.until = if quiet { Until::FirstPrinted } else { Until::End };
        let job = Job {
            op: Op::Check,
            reading,
            location: Some(line.location(&self.target.filter_file)?),
            filter: self.filter.spec(),
            to: if count || quiet { Destinations::default() } else { Destinations::standard() },
            printed: Some(Seen::from(!invert)),
            recorded: None,
            running: self.run.running(if quiet { Verbosity::Quiet } else { Verbosity::Normal }),
        };
        check::run(job, if count { CheckReport::Number } else { CheckReport::Records })
    }
}
