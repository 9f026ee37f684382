//! Options about interrupted runs.

use crate::args::value;
use crate::filter_file::Memory;
use crate::message::Failure;
use crate::resume::{self, Interrupted, Tracker};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a run is kept from being lost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(super) struct CheckpointArgs {
    /// Go on with a run that was interrupted; begin one if nothing was done yet
    ///
    /// Inputs and outputs must be the files of that run. The records that were dealt with are read
    /// again, but passed over.
    #[arg(long, requires_all = ["filter_file", "output"])]
    resume: bool,

    /// Seconds after which output and filter are brought to the disk together
    ///
    /// Only in runs that --resume can go on with; others are recorded at their end alone. Less often
    /// where a tenth of the time would go into it; with 0, as often as possible.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = value::seconds,
          requires = "filter_file")]
    checkpoint_every: Duration,
}

impl CheckpointArgs {
    /// The run to go on with, if there is one and it is asked for.
    pub(super) fn interrupted(
        &self,
        memory: &Memory,
        files: Option<&[PathBuf]>,
        outputs: &[&Path],
    ) -> Result<Option<Interrupted>, Failure> {
        let Memory::Kept(kept) = memory else { return Ok(None) };
        let progress = kept.store.progress();
        if !self.resume {
            resume::keep_interrupted(progress, outputs)?;
            return Ok(None);
        }
        let Some(files) = files else {
            let reason = "needs inputs that are files with names: others cannot be read again";
            return Err(Failure::at("--resume", reason));
        };
        Interrupted::of(progress, files, outputs)
    }

    pub(super) fn tracker(&self, files: &[PathBuf]) -> Result<Tracker, Failure> {
        Tracker::new(files, self.checkpoint_every)
    }
}
