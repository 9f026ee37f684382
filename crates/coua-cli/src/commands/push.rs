//! `coua push`.

use crate::args::{Quiet, SecretArgs};
use crate::filter::{Location, filter_file, server};
use crate::key::KeySpec;
use crate::terminal::Result;
use std::path::PathBuf;

/// Create a filter on a server from a file
///
/// The server then answers as the file does. The filter is a single key, without shards, and must not be there
/// yet; while it is being sent, the server answers questions about it with errors.
///
/// A filter without a secret key (--secret) has none on the server either: an attacker who chooses items there can
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
