//! `coua count`.

use crate::args::{RunArgs, SecretArgs, TargetArgs};
use crate::filter::Op;
use crate::output::Destinations;
use crate::run::Job;
use crate::terminal::{Exit, Result};

/// Prefix each record with its number of copies in a filter
///
/// Prints the number, a tab, and the record. The number is never too low; a false positive makes it too high. CSV
/// headers and comments are not printed. A record without a key has 0 copies; with --missing drop it is not printed.
#[derive(clap::Args, Debug)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    filter: SecretArgs,

    #[command(flatten)]
    run: RunArgs,
}

impl CountArgs {
    pub(crate) fn run(&self) -> Result<Exit> {
        let job = self.target.job(Op::Count, None, self.filter.spec(), self.run.running())?;
        Job { to: Destinations::standard(), ..job }.run()
    }
}
