//! `coua compact`.

use crate::args::{Quiet, SecretArgs};
use crate::filter::{LockedFile, check_files};
use crate::terminal::{Result, Stream, Verbosity, print, size};
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
    /// Makes the filter as small as its items allow, and prints the sizes.
    pub(crate) fn run(&self) -> Result<()> {
        let (secret, verbosity) = (self.filter.secret(), self.quiet.verbosity());
        let is_told = verbosity == Verbosity::Normal;
        if is_told {
            Stream::Output.check_open()?;
        }
        check_files(&secret, [&*self.file], None)?;
        let file = LockedFile::lock_existing(&self.file, verbosity)?;
        let name = file.name();
        let mut filter = file.open(Options::new().access(Access::Load), &secret)?;
        let before = filter.content().memory_bytes() as u64;
        filter.store.rewrite(Generations::compact);
        let filter = filter.close()?;
        if is_told {
            let (before, after) = (size(before), size(filter.memory_bytes() as u64));
            print(&format!("{name}: {before} before, {after} now\n"))?;
        }
        Ok(())
    }
}
