//! `coua push`.

use crate::remote::{self, Address};
use crate::target::file;
use crate::target::secret::Secret;
use crate::terminal::exit::Exit;
use crate::terminal::message::{Failure, Notes};
use std::path::Path;

/// Creates a filter on a server from a file.
pub(crate) fn run(
    path: &Path,
    address: &Path,
    secret: &Secret,
    notes: Notes,
) -> Result<Exit, Failure> {
    let address = Address::needed(address)?;
    let view = file::read(path, secret)?;
    remote::push::push(&view.filter, &address, notes)?;
    Ok(Exit::Success)
}
