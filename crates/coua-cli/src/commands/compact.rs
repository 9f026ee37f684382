//! `coua compact`.

use crate::clock::Present;
use crate::target::file::{FilterFile, Manners};
use crate::target::secret::Secret;
use crate::terminal::exit::Exit;
use crate::terminal::message::{Failure, Notes};
use crate::terminal::stream::print;
use crate::terminal::text::size;
use coua::window::Generations;
use std::path::Path;

/// Makes the filter in a file as small as its items allow, and tells how small that is.
pub(crate) fn run(
    path: &Path,
    secret: &Secret,
    present: Present,
    manners: Manners,
) -> Result<Exit, Failure> {
    let file = FilterFile::lock_existing(path, manners)?;
    let name = file.name();
    let mut kept = file.open_whole(secret, present)?;
    let before = kept.filter().memory_bytes() as u64;
    kept.store.rewrite(Generations::compact);
    let filter = kept.finish()?;
    if manners.notes == Notes::Told {
        let (before, after) = (size(before), size(filter.memory_bytes() as u64));
        print(&format!("{name}: {before} before, {after} now\n"))?;
    }
    Ok(Exit::Success)
}
