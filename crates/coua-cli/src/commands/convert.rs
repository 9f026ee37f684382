//! `coua convert`.

use crate::output::own_files::OwnFiles;
use crate::target::file::{self, FilterFile, Manners};
use crate::target::secret::Secret;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use coua::Conversion;
use std::path::Path;

/// Writes a converted copy of a filter file.
pub(crate) fn run(
    from: &Path,
    to: &Path,
    (conversion, secret): (Conversion, &Secret),
    manners: Manners,
) -> Result<Exit, Failure> {
    OwnFiles::check_made(to, secret.file())?;
    let output = FilterFile::lock(to, manners)?;
    output.check_replaceable()?;
    let view = file::read(from, secret)?;
    let filter = view.filter.unbounded().ok_or_else(|| {
        let reason = "has a window (--window): only filters that never forget can be converted";
        Failure::at(from.display(), reason)
    })?;
    let converted = filter.convert(conversion);
    let converted = converted.map_err(|error| Failure::at(from.display(), error))?;
    output.save(converted.into(), view.runs)?;
    Ok(Exit::Success)
}
