//! `coua pull`.

use super::args::FileArgs;
use crate::commands::pull;
use crate::terminal::Result;
use std::path::PathBuf;

/// Write a filter of a server to a file
///
/// The server keeps working meanwhile. Shards are requested one after the other, and the file holds each shard
/// as it was at its request: a record that was added before the pull began is in the file; one that was added
/// meanwhile may be.
///
/// All shards go into one filter. They must have the same secret key, as those that `coua` creates do. A server
/// takes as long to send a shard as for DUMP: ask a replica if the filter is large.
#[derive(clap::Args, Debug)]
pub(crate) struct PullArgs {
    /// The address of the filter: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "ADDRESS")]
    address: PathBuf,

    /// The file to write, which must not exist
    #[arg(value_name = "FILTER")]
    output: PathBuf,

    /// The file for the secret key of the filter's hash, as 32 hexadecimal digits
    ///
    /// Filters that were made on a server have one. If FILE exists, it must hold this key. Every command on the
    /// filter file needs it.
    #[arg(long, value_name = "FILE", help_heading = "Filter", alias = "key-file")]
    secret: Option<PathBuf>,

    #[command(flatten)]
    work: FileArgs,
}

impl PullArgs {
    pub(super) fn run(&self) -> Result<()> {
        let secret = self.secret.as_deref();
        pull::run(&self.address, &self.output, secret, self.work.options(), &self.work.progress())
    }
}
