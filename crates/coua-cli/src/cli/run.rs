//! Options about how a command runs, not about what it does.

use super::value::{self, Word, word};
use crate::run::Manner;
use crate::target::file;
use crate::terminal::message::Notes;
use crate::terminal::progress::{Shown, Watch};
use crate::terminal::report::Format;
use clap::Args;
use coua_store::Wait;
use std::num::NonZeroUsize;
use std::thread;

/// Threads where nothing is said, at most: more take memory, and pay only where keys are costly to find.
const MOST_BY_DEFAULT: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct RunArgs {
    /// Threads to use [default: one for each processor, at most 16]
    ///
    /// Each does what is next: reading, hashing keys, asking the filter, writing. Filters with a window or a limit of
    /// items may be changed by one thread only. Output and filter never depend on this number.
    #[arg(short = 'j', long, value_name = "N", value_parser = value::between(1_u16, 256))]
    threads: Option<u16>,

    /// Print figures about the run at the end, on standard error
    ///
    /// As text for people, or with --stats=json as JSON, whose fields docs/json.md describes.
    #[arg(long, hide_possible_values = true, value_name = "FORMAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "text", value_parser = word(&FORMATS))]
    stats: Option<Format>,

    #[command(flatten)]
    progress: ProgressArgs,
}

/// Whether to show how far the work is.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct ProgressArgs {
    /// Show progress also where standard error is no terminal
    ///
    /// On a terminal it is shown anyway, unless records or reports go there.
    #[arg(long)]
    progress: bool,
}

impl ProgressArgs {
    pub(super) fn shown(self, notes: Notes) -> Shown {
        if self.progress { Shown::Always } else { Shown::by_default(notes) }
    }
}

/// Whether to tell people what they have not asked for.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct Quiet {
    /// No progress, warnings or notes, only errors
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

/// How to behave towards people and other processes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(super) struct Manners {
    #[command(flatten)]
    pub(super) quiet: Quiet,

    /// Fail at once if another process is writing the filter file
    #[arg(long, hide_short_help = true)]
    pub(super) no_wait: bool,
}

/// How to work on whole filter files.
#[derive(Args, Debug)]
pub(super) struct FileArgs {
    #[command(flatten)]
    manners: Manners,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl FileArgs {
    pub(super) fn manners(&self) -> file::Manners {
        let (notes, wait) = (self.manners.quiet.notes(), self.manners.wait());
        file::Manners { notes, wait }
    }

    pub(super) fn watch(&self) -> Watch {
        Watch::on_steps(self.progress.shown(self.manners.quiet.notes()))
    }
}

const FORMATS: [Word<Format>; 2] = [
    (&["text"], Format::Text, "A table for people"),
    (&["json"], Format::Json, "One JSON object on one line"),
];

impl RunArgs {
    pub(super) fn manner(&self, notes: Notes) -> Manner {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let given = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        Manner {
            threads: given.unwrap_or_else(|| processors().min(MOST_BY_DEFAULT)),
            figures: self.stats,
            notes,
            shown: self.progress.shown(notes),
            wait: Wait::UntilFree,
        }
    }
}

impl Quiet {
    pub(super) fn notes(self) -> Notes {
        if self.quiet { Notes::Silenced } else { Notes::Told }
    }
}

impl Manners {
    pub(super) fn wait(&self) -> Wait {
        if self.no_wait { Wait::No } else { Wait::UntilFree }
    }
}
