//! `coua compact`.

use super::args::{FileArgs, OpenArgs};
use crate::commands::compact;
use crate::terminal::Result;
use std::path::PathBuf;

/// Make a filter file as small as its items allow
///
/// Worth it after many removals. The file is replaced in one step.
#[derive(clap::Args, Debug)]
pub(crate) struct CompactArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    #[command(flatten)]
    filter: OpenArgs,

    #[command(flatten)]
    work: FileArgs,
}

impl CompactArgs {
    pub(super) fn run(&self) -> Result<()> {
        compact::run(&self.file, &self.filter.spec(), self.work.options(), &self.work.progress())
    }
}
