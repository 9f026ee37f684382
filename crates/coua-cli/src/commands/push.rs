//! `coua push`.

use crate::args::{Quiet, SecretArgs};
use crate::filter::{Location, filter_file, server};
use crate::key::KeySpec;
use crate::terminal::Result;
use std::path::PathBuf;

/// Copy a filter file to a server
///
/// The server then gives the same answers as the file. The filter is a single key without shards, and must not exist
/// yet. It appears when all of it has arrived; until then a key {NAME}.coua-push-RANDOM holds what was sent. If the
/// program is killed outright, that key is left: delete it (DEL).
///
/// A filter without a secret key (--secret) has none on the server either: an attacker who chooses its items can
/// choose ones that collide.
#[derive(clap::Args, Debug)]
pub(crate) struct PushArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// The address of the new filter: `valkey://HOST[:PORT]/NAME`
    #[arg(value_name = "ADDRESS")]
    address: PathBuf,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl PushArgs {
    /// Creates the filter on the server.
    pub(crate) fn run(&self) -> Result<()> {
        let address = Location::address(&self.address)?;
        let view = filter_file::read(&self.file, &self.secret.secret())?;
        let keys = KeySpec::of(&view.notes, self.file.display())?;
        server::push(&view.filter, keys.as_ref(), &address, self.quiet.verbosity())
    }
}
