//! `coua compact`.

use super::check_files;
use crate::filter::{FilterFile, FilterSpec, WriteOptions};
use crate::terminal::{Progress, Result, Stream, Verbosity, print, size};
use coua::window::Generations;
use coua_store::{Access, Options};
use std::path::Path;

/// Makes the filter in a file as small as its items allow, and tells how small that is.
pub(crate) fn run(
    path: &Path,
    spec: &FilterSpec,
    options: WriteOptions,
    progress: &Progress,
) -> Result<()> {
    let is_told = options.verbosity == Verbosity::Normal;
    if is_told {
        Stream::Output.check_open()?;
    }
    check_files(&spec.secret, [path], None)?;
    let file = FilterFile::lock_existing(path, options)?;
    let name = file.name();
    progress.next(format_args!("reading {name}"));
    let mut filter = file.open(Options::new().access(Access::Load), spec)?;
    let before = filter.content().memory_bytes() as u64;
    progress.next(format_args!("compacting {name}"));
    filter.store.rewrite(Generations::compact);
    progress.next(format_args!("writing {name}"));
    let filter = filter.close()?;
    if is_told {
        let (before, after) = (size(before), size(filter.memory_bytes() as u64));
        print(&format!("{name}: {before} before, {after} now\n"))?;
    }
    Ok(())
}
