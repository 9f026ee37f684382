//! `coua pull`.

use crate::filter::secret::read_key;
use crate::filter::server::{self, Address};
use crate::filter::{FilterFile, Location, WriteOptions};
use crate::platform;
use crate::terminal::{Failure, Progress, Result, hexadecimal};
use coua::HashAlgorithm;
use coua::window::Generations;
use coua_store::Notes as FilterNotes;
use std::io::{self, Write};
use std::path::Path;

/// Writes a filter of a server to a file, and its secret key to another.
pub(crate) fn run(
    address: &Path,
    to: &Path,
    key: Option<&Path>,
    options: WriteOptions,
    progress: &Progress,
) -> Result<()> {
    let address = Location::address(address)?;
    if key.is_some_and(|key| platform::is_same_place(key, to)) {
        return Err(Failure::at(to.display(), "is the file of the secret key as well"));
    }
    let output = FilterFile::lock(to, options)?;
    output.check_new()?;
    progress.next(format_args!("reading {address}"));
    let filter = server::pull(&address, options.verbosity)?;
    keep_key(&filter, key, &address)?;
    progress.next(format_args!("writing {}", to.display()));
    output.save(filter, FilterNotes::default())
}

/// Sees to it that the secret key, if there is one, is in its file.
fn keep_key(filter: &Generations, file: Option<&Path>, from: &Address) -> Result<()> {
    let (file, key) = match (filter.hasher().algorithm(), file) {
        (HashAlgorithm::SipHash13 { key }, Some(file)) => (file, key),
        (HashAlgorithm::SipHash13 { .. }, None) => {
            let reason = "the filter has a secret key: say where to keep it (--secret FILE)";
            return Err(Failure::at(from, reason));
        }
        (_, Some(_)) => {
            return Err(Failure::at(from, "the filter has no secret key: leave --secret out"));
        }
        (_, None) => return Ok(()),
    };
    let name = file.display();
    match platform::create_private(file) {
        Ok(mut made) => {
            writeln!(made, "{}", hexadecimal(key)).map_err(|error| Failure::write(&name, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = "is there, and holds another key than the filter's: name another file";
            if read_key(file)? == key { Ok(()) } else { Err(Failure::at(name, reason)) }
        }
        Err(error) => Err(Failure::io(name, &error)),
    }
}
