//! `coua compact`.

use crate::args::{Quiet, SecretArgs};
use crate::filter::{LockedFile, check_files};
use crate::terminal::message::memory_reason;
use crate::terminal::{Failure, Result};
use coua::window::Generations;
use coua_store::{Access, Options};
use std::path::PathBuf;

/// Make a filter file as small as its items allow
///
/// Useful after many removals. The file is replaced in one step.
#[derive(clap::Args, Debug)]
pub(crate) struct CompactArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    #[command(flatten)]
    filter: SecretArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl CompactArgs {
    /// Makes the filter as small as its items allow.
    pub(crate) fn run(&self) -> Result<()> {
        let (secret, verbosity) = (self.filter.secret(), self.quiet.verbosity());
        check_files(&secret, [&*self.file], None)?;
        let file = LockedFile::lock_existing(&self.file, verbosity)?;
        let mut filter = file.open(Options::new().access(Access::Load), &secret)?;
        let compacted = filter.store.rewrite(Generations::compact);
        compacted.map_err(|lack| Failure::at(self.file.display(), memory_reason(lack)))?;
        filter.close().map(drop)
    }
}
