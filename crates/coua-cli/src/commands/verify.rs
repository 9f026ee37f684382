//! `coua verify`.

use crate::args::SecretArgs;
use crate::filter::filter_file;
use crate::terminal::{Exit, Result, Stream, counted, print, size};
use coua_store::Verified;
use std::path::PathBuf;

/// Check every byte of filter files
///
/// Prints a line for each file. The exit code is 2 if one of them is damaged.
#[derive(clap::Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Filter files
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

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
                Ok(found) => print(&format!("{name}: intact, {}\n", summary_text(&found)))?,
                Err(failure) => exit = failure.report(),
            }
        }
        Ok(exit)
    }
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
