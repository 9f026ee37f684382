//! Options of the commands that hold records against a filter file.

use crate::args::input::InputArgs;
use crate::args::run::RunArgs;
use clap::Args;
use std::path::PathBuf;

/// A filter file, the records, and how to run.
#[derive(Args, Debug)]
pub(crate) struct TargetArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    pub(crate) filter_file: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}
