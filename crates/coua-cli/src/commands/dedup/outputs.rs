//! Where `coua dedup` writes.

use crate::output::{Destination, Destinations};
use crate::terminal::message::Failure;
use coua::Insertion;
use std::path::PathBuf;

/// What to print where.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Write to FILE instead of standard output (which is `-`)
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the repeats instead of the first occurrences
    #[arg(short = 'd', long, conflicts_with = "tee_dups")]
    repeats: bool,

    /// Also write the repeats to FILE (with -o also to `-`, standard output)
    #[arg(long, value_name = "FILE")]
    tee_dups: Option<PathBuf>,
}

impl OutputArgs {
    pub(super) fn destinations(&self) -> Destinations<'_> {
        let main = Destination::of(self.output.as_deref());
        let tee = self.tee_dups.as_deref().map(|path| Destination::of(Some(path)));
        Destinations { main: Some(main), tee }
    }

    /// Complains if both outputs are standard output.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.destinations() {
            Destinations {
                main: Some(Destination::Standard),
                tee: Some(Destination::Standard),
            } => {
                let reason = "standard output has the first occurrences: give -o as well";
                Err(Failure::at("--tee-dups -", reason))
            }
            _ => Ok(()),
        }
    }

    /// What goes to the main output.
    pub(super) fn wanted(&self) -> Insertion {
        if self.repeats { Insertion::AlreadyPresent } else { Insertion::Inserted }
    }
}
