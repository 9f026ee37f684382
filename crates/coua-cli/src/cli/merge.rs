//! `coua merge`.

use super::args::{FileArgs, SecretArgs};
use crate::commands::merge;
use crate::terminal::Result;
use std::path::PathBuf;

/// Write the union of several filter files
///
/// Copies add up: a record that is in two of them is in the result twice. All must remember the same
/// number of hash bits and use the same hash and seed. Filters with a window must have the same one
/// (and no --window-items); each record keeps its age, and the latest clock counts.
///
/// The result remembers the runs (see --resume of `add`) of the filter that it replaces, if that is one of the
/// inputs, or else those of the only input. Other runs are left out, with a note.
#[derive(clap::Args, Debug)]
pub(crate) struct MergeArgs {
    /// The file to write; it may be one of the inputs
    ///
    /// It is replaced in one step, if it is a filter or empty.
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    /// Filter files to merge
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    work: FileArgs,
}

impl MergeArgs {
    pub(super) fn run(&self) -> Result<()> {
        let secret = self.secret.secret();
        merge::run(&self.files, &self.output, &secret, self.work.options(), &self.work.progress())
    }
}
