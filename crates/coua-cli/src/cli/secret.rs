//! The secret key of a filter.

use crate::target::secret::Secret;
use std::path::PathBuf;

/// The secret key of a filter's hash.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Filter")]
pub(super) struct SecretArgs {
    /// Hash under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// With SipHash-1-3, for records that somebody hostile may choose. The filter file does not contain the
    /// key: every command on it needs this option.
    #[arg(long, hide_short_help = true, value_name = "FILE", alias = "key-file")]
    secret: Option<PathBuf>,
}

impl SecretArgs {
    pub(super) fn secret(&self) -> Secret {
        Secret::in_file(self.secret.clone())
    }
}
