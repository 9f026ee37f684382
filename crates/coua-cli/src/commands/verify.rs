//! `coua verify`.

use crate::filter::{Secret, filter_file};
use crate::terminal::{Exit, Progress, ReportFormat, Result, Stream, counted, print, size};
use coua_store::View;
use serde_json::json;
use std::path::PathBuf;

/// Checks every byte of filter files, and tells of each whether it is intact.
pub(crate) fn run(
    files: &[PathBuf],
    secret: &Secret,
    format: ReportFormat,
    progress: &Progress,
) -> Result<Exit> {
    Stream::Output.check_open()?;
    secret.key()?;
    let mut exit = Exit::Success;
    for path in files {
        let name = path.display();
        progress.next(format_args!("checking {name}"));
        // The others are checked all the same, whether it is there or not.
        match (filter_file::read(path, secret), format) {
            (Ok(view), ReportFormat::Text) => {
                print(&format!("{name}: intact, {}\n", summary_text(&view)))?;
            }
            (Ok(view), ReportFormat::Json) => {
                let report = json!({
                    "file": name.to_string(),
                    "intact": true,
                    "items": view.filter.len(),
                    "snapshot_bytes": view.snapshot_bytes,
                    "transactions": view.transactions,
                    "log_bytes": view.log_bytes,
                });
                print(&format!("{report}\n"))?;
            }
            (Err(failure), ReportFormat::Text) => exit = failure.report(),
            (Err(failure), ReportFormat::Json) => {
                let (file, error) = (name.to_string(), failure.reason());
                print(&format!("{}\n", json!({"file": file, "intact": false, "error": error})))?;
                exit = Exit::Error;
            }
        }
    }
    Ok(exit)
}

fn summary_text(view: &View) -> String {
    let (items, snapshot) = (counted(view.filter.len(), "item"), size(view.snapshot_bytes));
    let (transactions, log) = (counted(view.transactions, "transaction"), size(view.log_bytes));
    format!("{items}, snapshot {snapshot}, {transactions} of {log} after it")
}
