//! Where `coua dedup` writes.

use crate::output::{Destination, Destinations};
use coua::Insertion;
use std::path::PathBuf;

/// What to print where.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the repeats instead of the first occurrences
    #[arg(short = 'd', long, conflicts_with = "tee_dups")]
    repeats: bool,

    /// Also write the repeats to FILE
    #[arg(long, value_name = "FILE")]
    tee_dups: Option<PathBuf>,
}

impl OutputArgs {
    pub(super) fn destinations(&self) -> Destinations<'_> {
        let main = Destination::of(self.output.as_deref());
        Destinations { main: Some(main), tee: self.tee_dups.as_deref() }
    }

    /// What goes to the main output.
    pub(super) fn wanted(&self) -> Insertion {
        if self.repeats { Insertion::AlreadyPresent } else { Insertion::Inserted }
    }
}
