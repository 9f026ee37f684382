//! `coua verify`.

use super::args::{ProgressArgs, SecretArgs};
use crate::commands::verify;
use crate::terminal::{Exit, Progress, ReportFormat, Result, Verbosity};
use std::path::PathBuf;

/// Check every byte of filter files
///
/// Prints a line for each file. Exit code 2 if one of them is not intact.
#[derive(clap::Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Filter files
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    /// Print a JSON object for each file
    ///
    /// docs/json.md describes its fields.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl VerifyArgs {
    pub(super) fn run(&self) -> Result<Exit> {
        let format = if self.json { ReportFormat::Json } else { ReportFormat::Text };
        let progress = Progress::on_steps(self.progress.progress_mode(Verbosity::Normal));
        verify::run(&self.files, &self.secret.secret(), format, &progress)
    }
}
