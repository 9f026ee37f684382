//! `coua pull`.

use crate::args::Quiet;
use crate::filter::spec::read_key;
use crate::filter::{Address, Location, LockedFile, server};
use crate::key::KeySpec;
use crate::output::is_same_place;
use crate::platform;
use crate::terminal::{Failure, Result, hexadecimal, signals};
use coua::KeyHasher;
use coua::window::Generations;
use coua_store::Notes as FilterNotes;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Copy a filter from a server to a file
///
/// The server keeps working meanwhile. Shards are requested one after the other, and the file holds each shard
/// as it was when requested: a record that was added before the pull began is in the file; one that was added
/// meanwhile may be.
///
/// All shards go into one filter. They must have the same secret key, as those that `coua` creates do. Shards with a
/// window of items cannot be pulled, nor those with --when-full stop that hold more than one of them may. Sending a shard
/// blocks a server as long as DUMP does, and needs as much memory there as the shard has: use a replica if the filter is
/// large.
#[derive(clap::Args, Debug)]
pub(crate) struct PullArgs {
    /// The address of the filter: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "ADDRESS")]
    address: PathBuf,

    /// The file to write; it must not exist
    #[arg(value_name = "FILTER")]
    output: PathBuf,

    /// File for the secret key of the filter's hash, as 32 hexadecimal digits
    ///
    /// Filters that were created on a server have one. If FILE exists, it must hold this key. Every command on the
    /// filter file needs it.
    #[arg(long, value_name = "FILE", help_heading = "Memory")]
    secret: Option<PathBuf>,

    #[command(flatten)]
    quiet: Quiet,
}

impl PullArgs {
    /// Writes the filter to one file, and its secret key to another.
    pub(crate) fn run(&self) -> Result<()> {
        let (address, to) = (Location::address(&self.address)?, self.output.display());
        let (key, verbosity) = (self.secret.as_deref(), self.quiet.verbosity());
        if key.is_some_and(|key| is_same_place(key, &self.output)) {
            return Err(Failure::at(to, "is also the secret key file; choose another"));
        }
        let output = || LockedFile::lock_new(&self.output, verbosity);
        // Creates the file, and removes it: a run that fails leaves none.
        drop(output()?);
        let (filter, keys) = server::pull(&address, verbosity)?;
        keep_key(&filter, key, &address)?;
        // So that no temporary file is left.
        signals::delay()?;
        let mut notes = FilterNotes::default();
        if let Some(keys) = keys {
            let set = notes.set(KeySpec::NOTE, &keys.to_note());
            set.map_err(|reason| Failure::at(to, reason))?;
        }
        output()?.save(filter, notes)
    }
}

/// Makes sure that the secret key, if there is one, is in its file.
fn keep_key(filter: &Generations, file: Option<&Path>, from: &Address) -> Result<()> {
    let (file, key) = match (filter.hasher(), file) {
        (KeyHasher::SipHash13 { key }, Some(file)) => (file, key),
        (KeyHasher::SipHash13 { .. }, None) => {
            let reason = "the filter has a secret key; choose a file for it (--secret FILE)";
            return Err(Failure::at(from, reason));
        }
        (_, Some(_)) => {
            return Err(Failure::at(from, "the filter has no secret key; drop --secret"));
        }
        (_, None) => return Ok(()),
    };
    let name = file.display();
    match platform::create_private(file) {
        Ok(mut made) => {
            writeln!(made, "{}", hexadecimal(key)).map_err(|error| Failure::write(&name, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = "already exists with a different key; choose another file";
            if read_key(file)? == key { Ok(()) } else { Err(Failure::at(name, reason)) }
        }
        Err(error) => Err(Failure::io(name, &error)),
    }
}
