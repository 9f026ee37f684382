//! `coua check`.

use crate::args::{RunArgs, SecretArgs, TargetArgs};
use crate::filter::Op;
use crate::key::Seen;
use crate::output::Destinations;
use crate::run::{Job, Pass};
use crate::terminal::{Exit, Result, Stream, print};

/// Print the records that are in a filter file
///
/// A record that was never added is printed too with a probability of the filter's false-positive rate. The exit code
/// is like grep's: 0 if a record was printed or counted, 1 if none was, 2 after an error.
#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Print the records that are not in the filter
    #[arg(short = 'v', long, help_heading = "Output")]
    invert: bool,

    /// Print only the number of these records
    #[arg(short = 'c', long, help_heading = "Output")]
    count: bool,

    #[command(flatten)]
    filter: SecretArgs,

    #[command(flatten)]
    run: RunArgs,
}

impl CheckArgs {
    /// Prints the records that are in the filter. The exit code is like grep's.
    pub(crate) fn run(&self) -> Result<Exit> {
        let job = self.target.job(Op::Check, None, self.filter.spec(), self.run.running())?;
        let to = if self.count { Destinations::default() } else { Destinations::standard() };
        if self.count {
            Stream::Output.check_open()?;
        }
        let run = Pass::of(Job { to, printed: Some(Seen::from(!self.invert)), ..job })?;
        let printed = run.printed();
        if let Some(number) = printed.filter(|_| self.count) {
            print(&format!("{number}\n"))?;
        }
        run.finish(if printed > Some(0) { Exit::Success } else { Exit::NothingFound })
    }
}
