//! `coua push`.

use crate::filter::{Secret, filter_file};
use crate::terminal::{Notes, Result};
use coua_remote::Address;
use std::path::Path;

/// Creates a filter on a server from a file.
pub(crate) fn run(path: &Path, address: &Path, secret: &Secret, notes: Notes) -> Result<()> {
    let address = Address::needed(address)?;
    let view = filter_file::read(path, secret)?;
    coua_remote::push(&view.filter, &address, notes.program())?;
    Ok(())
}
