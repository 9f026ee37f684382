//! `coua verify`.

use crate::args::{ProgressArgs, SecretArgs};
use crate::filter::filter_file;
use crate::terminal::{Exit, Progress, Result, Stream, Verbosity, counted, print, size};
use coua_store::View;
use serde_json::json;
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
    /// Checks every byte of the files, and tells of each whether it is intact.
    pub(crate) fn run(&self) -> Result<Exit> {
        let secret = self.secret.secret();
        let progress = Progress::on_steps(self.progress.progress_mode(Verbosity::Normal));
        Stream::Output.check_open()?;
        secret.key()?;
        let mut exit = Exit::Success;
        for path in &self.files {
            let name = path.display();
            progress.next(format_args!("checking {name}"));
            // The others are checked all the same, whether it is there or not.
            match filter_file::read(path, &secret) {
                Ok(view) if self.json => print(&line_of(&name.to_string(), &view))?,
                Ok(view) => print(&format!("{name}: intact, {}\n", summary_text(&view)))?,
                Err(failure) if self.json => {
                    let (file, error) = (name.to_string(), failure.reason());
                    let line = json!({"file": file, "intact": false, "error": error});
                    print(&format!("{line}\n"))?;
                    exit = Exit::Error;
                }
                Err(failure) => exit = failure.report(),
            }
        }
        Ok(exit)
    }
}

fn line_of(file: &str, view: &View) -> String {
    let line = json!({
        "file": file,
        "intact": true,
        "items": view.filter.len(),
        "snapshot_bytes": view.snapshot_bytes,
        "transactions": view.transactions,
        "log_bytes": view.log_bytes,
        "uncommitted_bytes": view.uncommitted,
    });
    format!("{line}\n")
}

fn summary_text(view: &View) -> String {
    let (items, snapshot) = (counted(view.filter.len(), "item"), size(view.snapshot_bytes));
    let (transactions, log) = (counted(view.transactions, "transaction"), size(view.log_bytes));
    let rest = match view.uncommitted {
        0 => String::new(),
        bytes => format!("; {} after that were never committed, and do not count", size(bytes)),
    };
    format!("{items}, snapshot {snapshot}, {transactions} of {log} after it{rest}")
}
