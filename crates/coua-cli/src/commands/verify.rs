//! `coua verify`.

use crate::args::filter::SecretArgs;
use crate::commands::print;
use crate::exit::Exit;
use crate::filter_file;
use crate::message::Failure;
use crate::stats::text::grouped;
use std::path::PathBuf;

/// Check every byte of filter files
///
/// Prints a line for each file that is intact. Exit code 2 if one of them is not.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Filter files
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for path in &args.files {
        match filter_file::read(path, &args.secret) {
            Ok(filter) => {
                print(&format!(
                    "{}: intact, {} items\n",
                    path.display(),
                    grouped(filter.len())
                ))?;
            }
            // The others are checked all the same.
            Err(failure) => exit = failure.report(),
        }
    }
    Ok(exit)
}
