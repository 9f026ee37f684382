//! `coua verify`.

use crate::args::SecretArgs;
use crate::filter::filter_file;
use crate::terminal::{Exit, Result, Stream, counted, print, size};
use coua_store::Verified;
use serde_json::json;
use std::path::PathBuf;

/// Check every byte of filter files
///
/// Prints a line for each file. The exit code is 2 if one of them is damaged.
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
}

impl VerifyArgs {
    /// Checks every byte of the files, and prints for each whether it is intact.
    pub(crate) fn run(&self) -> Result<Exit> {
        let secret = self.secret.secret();
        Stream::Output.check_open()?;
        secret.key()?;
        let mut exit = Exit::Success;
        for path in &self.files {
            let name = path.display();
            // An error does not stop the check of the other files.
            match filter_file::verify(path, &secret) {
                Ok(found) if self.json => print(&line_of(&name.to_string(), &found))?,
                Ok(found) => print(&format!("{name}: intact, {}\n", summary_text(&found)))?,
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

fn line_of(file: &str, found: &Verified) -> String {
    let line = json!({
        "file": file,
        "intact": true,
        "items": found.items,
        "snapshot_bytes": found.snapshot_bytes,
        "transactions": found.log.transactions,
        "log_bytes": found.log.bytes,
        "uncommitted_bytes": found.log.uncommitted,
    });
    format!("{line}\n")
}

fn summary_text(found: &Verified) -> String {
    let (items, snapshot) = (counted(found.items, "item"), size(found.snapshot_bytes));
    let (transactions, log) =
        (counted(found.log.transactions, "transaction"), size(found.log.bytes));
    let rest = match found.log.uncommitted {
        0 => String::new(),
        bytes => {
            format!("; {} after that are from an interrupted write and are ignored", size(bytes))
        }
    };
    format!("{items}, snapshot {snapshot}, {transactions} of {log} after it{rest}")
}
