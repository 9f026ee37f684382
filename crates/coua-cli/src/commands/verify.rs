//! `coua verify`.

use crate::cli::secret::SecretArgs;
use crate::commands::print;
use crate::run::preflight::{Report, check_filters};
use crate::target::file;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::text::{counted, size};
use coua_store::View;
use serde_json::json;
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

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    // A file that is missing is told in its turn.
    check_filters(Report::Printed, &args.secret, [], None)?;
    let mut exit = Exit::Success;
    for path in &args.files {
        let file = path.display();
        // The others are checked all the same.
        match (file::read(path, &args.secret), args.json) {
            (Ok(view), false) => {
                print(&format!("{file}: intact, {}\n", in_words(&view)))?;
            }
            (Ok(view), true) => {
                let report = json!({
                    "file": file.to_string(),
                    "intact": true,
                    "items": view.filter.len(),
                    "snapshot_bytes": view.snapshot_bytes,
                    "transactions": view.transactions,
                    "log_bytes": view.log_bytes,
                });
                print(&format!("{report}\n"))?;
            }
            (Err(failure), false) => exit = failure.report(),
            (Err(failure), true) => {
                let (file, error) = (file.to_string(), failure.reason());
                print(&format!("{}\n", json!({"file": file, "intact": false, "error": error})))?;
                exit = Exit::Error;
            }
        }
    }
    Ok(exit)
}

fn in_words(view: &View) -> String {
    let (items, snapshot) = (counted(view.filter.len(), "item"), size(view.snapshot_bytes));
    let (transactions, log) = (counted(view.transactions, "transaction"), size(view.log_bytes));
    format!("{items}, snapshot {snapshot}, {transactions} of {log} after it")
}
