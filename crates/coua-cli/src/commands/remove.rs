//! `coua remove`.

use crate::args::{SecretArgs, TargetArgs, WorkArgs};
use crate::filter::Op;
use crate::key::Seen;
use crate::output::{Destination, Destinations};
use crate::run::Job;
use crate::runs::JobSpec;
use crate::terminal::{Exit, Result};
use clap::ValueEnum;
use serde::Serialize;
use std::path::PathBuf;

/// Remove records from a filter file
///
/// Removes one copy of each record. Remove only what `dedup` has printed, or `add` has added (and no record older than
/// the window): any other record removes one with the same hash, with the probability of a false positive. A run that probably did so says how
/// often. The file is saved at the end of the run, after the report is complete (and on disk, if it is a file), and
/// every few seconds if all inputs and the report are files. After exit code 2 the file is as before the run, or as
/// at the last checkpoint. After exit code 4 everything is written, but fsync failed, so a power cut may undo it.
/// On SIGINT or SIGTERM the program finishes the current block, saves, and dies by the signal.
///
/// A run that reads files, without --report or with -o, may be interrupted at any time, even by a crash. The
/// same command with --resume continues it: one copy of each record is removed, and the report is complete.
/// (Without --resume coua refuses to run, because the first records would be removed twice.)
///
/// On a server, records that were removed stay removed after exit code 2, even those that are not yet in the
/// report. If the connection is lost, records without a reply are removed again. Such records may lose
/// two copies, and the second reply counts.
#[derive(clap::Args, Debug)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Print the records that were found and removed, or not found
    #[arg(long, hide_possible_values = true, value_name = "WHICH", help_heading = "Output")]
    report: Option<Which>,

    /// Write the report to FILE instead of standard output
    ///
    /// FILE must be new or empty while the filter holds items.
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Output", requires = "report")]
    output: Option<PathBuf>,

    #[command(flatten)]
    filter: SecretArgs,

    #[command(flatten)]
    work: WorkArgs,
}

/// The records to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Which {
    /// Those that were found and removed.
    Found,
    /// Those that were not found.
    NotFound,
}

impl RemoveArgs {
    pub(crate) fn run(&self) -> Result<Exit> {
        let (target, report) = (&self.target, self.report);
        let records = report.map(|_| Destination::of(self.output.as_deref()));
        let spec = JobSpec::new("remove").with("report", report);
        let job = target.job(Op::Remove, None, self.filter.spec(), self.work.running())?;
        Job {
            to: Destinations { records, ..Destinations::default() },
            printed: report.map(|which| Seen::from(which == Which::Found)),
            resume: Some(self.work.resume_options(target.input.describe(spec))),
            ..job
        }
        .run()
    }
}
