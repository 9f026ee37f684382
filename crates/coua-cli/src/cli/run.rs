//! Options about how a command runs, not about what it does.

use super::value::{self, Word, word};
use crate::clock;
use crate::resume::{Checkpoints, Mode};
use crate::run::Manner;
use crate::target::file;
use crate::terminal::message::Notes;
use crate::terminal::progress::{Shown, Watch};
use crate::terminal::report::Format;
use clap::Args;
use coua_store::Wait;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

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
        match notes {
            _ if self.progress => Shown::Always,
            Notes::Told => Shown::OnTerminal,
            Notes::Silenced => Shown::Never,
        }
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

/// How to do work that changes a filter record by record.
#[derive(Args, Debug)]
pub(super) struct WorkArgs {
    /// Resume an interrupted run, or start a new one
    ///
    /// The filter remembers how far a run with files as inputs and outputs has come. The same command (the
    /// options that decide the result, the inputs in their order, the outputs) with this option reads the inputs
    /// again, and passes over the records that were done. Files are known by their content: an input may have
    /// grown, or been moved or copied. If it does not begin with what was done of it, the run is refused. That
    /// a run with this option has ended is remembered too, for the last 64 of them: the same command does
    /// nothing then, or only what was appended since. Give the option from the first time on. A last line
    /// without a newline is a record too; if it is longer when the run is resumed, the whole line counts as
    /// another record, and the piece stays where it was printed or recorded.
    #[arg(long, help_heading = "Filter", requires = "filter_file")]
    resume: bool,

    /// Discard an interrupted run and start over
    ///
    /// The run of the same job, or one that wrote the same output. Without this option, an interrupted `add`
    /// or `remove` is not started again, since the records it has done would count twice, and an output that
    /// an interrupted run wrote is not emptied.
    #[arg(
        long,
        help_heading = "Filter",
        hide_short_help = true,
        conflicts_with = "resume",
        requires = "filter_file"
    )]
    anew: bool,

    /// Seconds between checkpoints of output and filter [default: 5]
    ///
    /// Only runs that can be resumed have checkpoints; the others are recorded at their end. Checkpoints are
    /// rarer where they would take more than a tenth of the time; with 0 they come as often as possible.
    #[arg(long, help_heading = "Filter", hide_short_help = true, value_name = "SECONDS",
          value_parser = clock::seconds, requires = "filter_file")]
    checkpoint_every: Option<Duration>,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    manners: Manners,
}

impl WorkArgs {
    /// How the run begins and is recorded. clap has seen to it that there is only one of the options.
    pub(super) fn checkpoints(&self) -> Checkpoints {
        let mode = match (self.resume, self.anew) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::StartOver,
            _ => Mode::New,
        };
        let default = Checkpoints::default();
        Checkpoints { mode, every: self.checkpoint_every.unwrap_or(default.every) }
    }

    pub(super) fn manner(&self) -> Manner {
        let wait = self.manners.wait();
        Manner { wait, ..self.run.manner(self.manners.quiet.notes()) }
    }
}
