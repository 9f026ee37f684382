//! `coua add`.

use crate::args::{FilterArgs, TargetArgs, WorkArgs};
use crate::filter::Op;
use crate::run::Job;
use crate::runs::JobSpec;
use crate::terminal::{Exit, Result};

/// Add records to a filter file
///
/// Each record adds one copy, so a record that was added twice must be removed twice. The file is created if it
/// does not exist. It is saved at the end of the run and, if all inputs are files, every few seconds. After exit
/// code 2 the file is as before the run, or as at the last checkpoint. After exit code 4 everything is written,
/// but fsync failed, so a power cut may undo it. On SIGINT or SIGTERM the program finishes the current block,
/// saves, and dies by the signal.
///
/// A run that reads files may be interrupted at any time, even by a crash. The same command with --resume
/// continues it, and each record is added exactly once. (Without --resume coua refuses to run, because the first
/// records would be added twice.) If the filter is full (exit code 3), make room and resume.
///
/// On a server, records that were added stay there after exit code 2. Options for filter files are
/// refused (see --filter in `coua dedup --help`). If the connection is lost, records without a reply are added again,
/// and may then have one copy too many (not with --unique).
#[derive(clap::Args, Debug)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Add only records that are not in the filter
    #[arg(long, help_heading = "Output")]
    unique: bool,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    work: WorkArgs,
}

impl AddArgs {
    pub(crate) fn run(&self) -> Result<Exit> {
        let (target, window) = (&self.target, &self.filter.window);
        let spec = window.describe(JobSpec::new("add").with("unique", self.unique));
        let op = if self.unique { Op::AddNew } else { Op::Add };
        let job = target.job(op, window.time_source(), self.filter.spec(), self.work.running())?;
        let resume = Some(self.work.resume_options(target.input.describe(spec)));
        Job { resume, ..job }.run()
    }
}
