//! `coua remove`.

use crate::args::{SecretArgs, TargetArgs, WorkArgs};
use crate::filter::Op;
use crate::run::Job;
use crate::runs::JobSpec;
use crate::terminal::{Exit, Result};

/// Remove records from a filter file
///
/// Removes one copy of each record. Remove only what `dedup` has printed, or `add` has added (and no record older than
/// the window): any other record removes one with the same hash, with the probability of a false positive. A run that
/// probably did so says how often. `coua check` shows before which records would be found. The file is saved at the end
/// of the run and, if all inputs are files, every few seconds. After exit code 2 the file is as before the run, or as
/// at the last checkpoint. After exit code 4 everything is written, but fsync failed, so a power cut may undo it.
/// On SIGINT or SIGTERM the program finishes the current block, saves, and dies by the signal.
///
/// A run that reads files may be interrupted at any time, even by a crash. The same command with --resume continues it,
/// and one copy of each record is removed. (Without --resume coua refuses to run, because the first records would be
/// removed twice.)
///
/// On a server, records that were removed stay removed after exit code 2. If the connection is lost, records without a
/// reply are removed again. Such records may lose two copies, and the second reply counts.
#[derive(clap::Args, Debug)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    filter: SecretArgs,

    #[command(flatten)]
    work: WorkArgs,
}

impl RemoveArgs {
    pub(crate) fn run(&self) -> Result<Exit> {
        let job = self.target.job(Op::Remove, None, self.filter.spec(), self.work.running())?;
        let spec = self.target.input.describe(JobSpec::new("remove"));
        Job { resume: Some(self.work.resume_options(spec)), ..job }.run()
    }
}
