//! `coua merge`.

use crate::cli::run::Manners;
use crate::cli::secret::SecretArgs;
use crate::resume;
use crate::run::preflight::{Report, check_filters};
use crate::target::file::{self, FilterFile};
use crate::terminal::exit::Exit;
use crate::terminal::message::{self, Failure};
use coua_store::{Runs, View};
use std::path::{Path, PathBuf};

/// Write a filter file that holds what several hold together
///
/// Copies add up: a record that is in two of them is in the result twice. All must remember the same
/// number of hash bits and use the same hash and seed. Filters with a window must have the same one
/// (and no --window-items); each record keeps its age, and the latest clock counts.
///
/// The result remembers the runs (see --resume of `add`) of the filter that it replaces, if that is one of the
/// inputs, or else those of the only input; others are left out, which is said.
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
    let sources = args.files.iter().map(PathBuf::as_path);
    check_filters(Report::None, &args.secret, sources, Some(&args.output))?;
    let output = FilterFile::lock(&args.output, &args.manners)?;
    output.check_replaceable()?;
    let mut views = args.files.iter().map(|path| file::read(path, &args.secret));
    // clap has seen to it that there is one.
    let Some(first) = views.next() else { return Ok(Exit::Error) };
    let View { mut filter, runs, .. } = first?;
    let mut all_runs = vec![runs];
    for (path, view) in args.files[1..].iter().zip(views) {
        let View { filter: other, runs, .. } = view?;
        filter.merge(&other).map_err(|error| Failure::at(path.display(), error))?;
        all_runs.push(runs);
    }
    let runs = args.remembered(&output, all_runs);
    output.save(filter, runs)?;
    Ok(Exit::Success)
}

impl Args {
    /// The runs that the result remembers: those of the filter that it replaces, if that is one of the sources, or
    /// of the only source. Says which are left out.
    fn remembered(&self, output: &FilterFile, all: Vec<Runs>) -> Runs {
        let is_one = self.files.len() == 1;
        let kept = self.files.iter().position(|path| is_one || output.is_at(path));
        let is_told = |path: &Path| !self.manners.quiet.quiet && !output.is_at(path);
        let mut remembered = Runs::default();
        for ((number, path), runs) in self.files.iter().enumerate().zip(all) {
            if kept == Some(number) {
                remembered = runs;
                continue;
            }
            if let Some(words) = resume::in_words(&runs).filter(|_| is_told(path)) {
                let path = path.display();
                message::say(format_args!(
                    "{path}: the result does not remember its runs: {words}"
                ));
            }
        }
        remembered
    }
}
