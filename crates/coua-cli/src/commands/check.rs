//! `coua check`.

use crate::run::{Job, Pass};
use crate::terminal::{Exit, Result, Stream, print};

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckReport {
    /// The records, if any output is given.
    Records,
    /// How many there are.
    Number,
}

/// Tells which records are there. The exit code is that of grep.
pub(crate) fn run(job: Job, report: CheckReport) -> Result<Exit> {
    if report == CheckReport::Number {
        Stream::Output.check_open()?;
    }
    let run = Pass::of(job)?;
    let printed = run.printed();
    if let (Some(number), CheckReport::Number) = (printed, report) {
        print(&format!("{number}\n"))?;
    }
    run.finish(if printed > Some(0) { Exit::Success } else { Exit::NothingFound })
}
