//! `coua convert`.

use super::check_files;
use crate::filter::{FilterFile, Secret, WriteOptions, filter_file};
use crate::terminal::{Failure, Progress, Result};
use coua::Conversion;
use std::path::Path;

/// Writes a converted copy of a filter file.
pub(crate) fn run(
    from: &Path,
    to: &Path,
    conversion: Conversion,
    secret: &Secret,
    options: WriteOptions,
    progress: &Progress,
) -> Result<()> {
    check_files(secret, [from], Some(to))?;
    let output = FilterFile::lock(to, options)?;
    output.check_replaceable()?;
    progress.next(format_args!("reading {}", from.display()));
    let view = filter_file::read(from, secret)?;
    let filter = view.filter.unbounded().ok_or_else(|| {
        let reason = "has a window (--window): only filters that never forget can be converted";
        Failure::at(from.display(), reason)
    })?;
    progress.next(format_args!("converting {}", from.display()));
    let converted = filter.convert(conversion);
    let converted = converted.map_err(|error| Failure::at(from.display(), error))?;
    progress.next(format_args!("writing {}", to.display()));
    output.save(converted.into(), view.notes)
}
