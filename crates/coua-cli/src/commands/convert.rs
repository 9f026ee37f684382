//! `coua convert`.

use crate::args::{Quiet, SecretArgs, value};
use crate::filter::{LockedFile, check_files, filter_file};
use crate::terminal::{Failure, Result};
use std::path::PathBuf;

/// Write a smaller, less exact copy of a filter file
///
/// The copy remembers the same runs as the filter.
#[derive(clap::Args, Debug)]
pub(crate) struct ConvertArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// The file to write; it may be the same
    ///
    /// An existing file must be a filter or empty; it is replaced in one step.
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    /// Highest false-positive rate of the copy with its present items
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: f64,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl ConvertArgs {
    /// Writes a converted copy of the filter.
    pub(crate) fn run(&self) -> Result<()> {
        let (secret, verbosity) = (self.secret.secret(), self.quiet.verbosity());
        let from = self.file.display();
        check_files(&secret, [&*self.file], Some(&self.output))?;
        let output = LockedFile::lock(&self.output, verbosity)?;
        output.prepare([&*self.file])?;
        let view = filter_file::read(&self.file, &secret)?;
        let filter = view.filter.unbounded().ok_or_else(|| {
            let reason = "has a window; only filters without one can be converted";
            Failure::at(&from, reason)
        })?;
        let converted = filter.convert(self.rate);
        let converted = converted.map_err(|error| Failure::at(&from, error))?;
        output.save(converted.into(), view.notes)
    }
}
