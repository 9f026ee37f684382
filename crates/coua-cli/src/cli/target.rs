//! Options of the commands that hold records against a filter file.

use super::input::InputArgs;
use clap::Args;
use std::path::PathBuf;

/// A filter file and the records.
#[derive(Args, Debug)]
pub(super) struct TargetArgs {
    /// The filter: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    pub(super) filter_file: PathBuf,

    #[command(flatten)]
    pub(super) input: InputArgs,
}
