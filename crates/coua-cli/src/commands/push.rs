//! `coua push`.

use crate::filter::{Location, Secret, filter_file, server};
use crate::terminal::{Result, Verbosity};
use std::path::Path;

/// Creates a filter on a server from a file.
pub(crate) fn run(
    path: &Path,
    address: &Path,
    secret: &Secret,
    verbosity: Verbosity,
) -> Result<()> {
    let address = Location::address(address)?;
    let view = filter_file::read(path, secret)?;
    server::push(&view.filter, &address, verbosity)
}
