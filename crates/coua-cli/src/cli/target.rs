//! Options of the commands that hold records against a filter file.

use crate::cli::input::InputArgs;
use clap::Args;
use std::path::PathBuf;

/// A filter file and the records.
#[derive(Args, Debug)]
pub(crate) struct TargetArgs {
    /// The filter file, or the address of a filter on a server: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    pub(crate) filter_file: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}
