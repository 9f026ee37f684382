//! `coua verify`.

use super::secret::SecretArgs;
use crate::commands::verify;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Format;
use crate::terminal::message::Failure;
use std::path::PathBuf;

/// Check every byte of filter files
///
/// Prints a line for each file. Exit code 2 if one of them is not intact.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Filter files
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    /// Print a JSON object for each file: `file`, `intact`, and `error` or `items`, `snapshot_bytes`,
    /// `transactions` after the snapshot and their `log_bytes`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let format = if self.json { Format::Json } else { Format::Text };
        verify::run(&self.files, &self.secret.secret(), format)
    }
}
