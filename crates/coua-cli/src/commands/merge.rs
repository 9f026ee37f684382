//! `coua merge`.

use crate::args::run::Manners;
use crate::args::secret::SecretArgs;
use crate::exit::Exit;
use crate::filter_file::{self, FilterFile, Made};
use crate::message::Failure;
use crate::own_files::OwnFiles;
use std::path::PathBuf;

/// Write a filter file that holds what several hold together
///
/// Copies add up: a record that is in two of them is in the result twice. All must remember the same
/// number of hash bits and use the same hash and seed. Filters with a window must have the same one
/// (and no --window-items); each record keeps its age, and the latest clock counts.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file to write; it may be one of the inputs, and is replaced in one step, if it is a filter or empty
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    /// Filter files to merge
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    manners: Manners,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    OwnFiles::check_made(&args.output, &args.files, &args.secret)?;
    let output = FilterFile::lock(&args.output, &args.manners)?;
    output.check_replaceable()?;
    let Some((first, others)) = args.files.split_first() else {
        return Ok(Exit::Success);
    };
    let view = filter_file::read(first, &args.secret)?;
    let mut run = view.progress.filter(|_| output.is_at(first));
    let mut filter = view.filter;
    for path in others {
        let other = filter_file::read(path, &args.secret)?;
        filter.merge(&other.filter).map_err(|error| Failure::at(path.display(), error))?;
        run = run.or(other.progress.filter(|_| output.is_at(path)));
    }
    output.save(Made { filter, run })?;
    Ok(Exit::Success)
}
