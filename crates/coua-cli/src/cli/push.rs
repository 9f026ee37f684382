//! `coua push`.

use super::args::{Quiet, SecretArgs};
use crate::commands::push;
use crate::terminal::Result;
use std::path::PathBuf;

/// Create a filter on a server from a file
///
/// The server then answers as the file does. The filter is a single key, without shards, and must not be there
/// yet; while it is being sent, the server answers questions about it with errors.
///
/// A filter without a secret key (--secret) has none on the server either: whoever chooses items there can
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
    pub(super) fn run(&self) -> Result<()> {
        push::run(&self.file, &self.address, &self.secret.secret(), self.quiet.verbosity())
    }
}
