//! `coua verify`.

use crate::args::secret::SecretArgs;
use crate::commands::print;
use crate::exit::Exit;
use crate::filter_file;
use crate::message::Failure;
use crate::stats::text::grouped;
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

    /// Print a JSON object for each file: `file`, `intact`, `items` or `error`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    secret: SecretArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for path in &args.files {
        let file = path.display();
        // The others are checked all the same.
        match (filter_file::read(path, &args.secret), args.json) {
            (Ok(view), false) => {
                print(&format!("{file}: intact, {} items\n", grouped(view.filter.len())))?;
            }
            (Ok(view), true) => {
                let items = view.filter.len();
                let file = file.to_string();
                print(&format!("{}\n", json!({"file": file, "intact": true, "items": items})))?;
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
