//! `coua dedup`.

use crate::args::{FilterArgs, HIDDEN, InputArgs, WorkArgs};
use crate::filter::{Location, Op};
use crate::key::Seen;
use crate::output::{Destination, Destinations};
use crate::resume::JobSpec;
use crate::run::Job;
use crate::terminal::{Exit, Failure, Result};
use clap::ArgGroup;
use std::path::PathBuf;

/// Print each record the first time it is seen
///
/// Needs no size and no sorting, and keeps the order. Unless told otherwise, the filter remembers all 64 bits of
/// every key's hash, so the expected number of records wrongly taken for repeats stays far below one (0.03 for a
/// billion records; --stats prints it). If a filter takes more than 2 % of the new records for repeats, a
/// warning says so at the end. If there is no filter file and all inputs are files, their sizes and first
/// records tell how much room to make. Records are printed unchanged. A newline is added only between two files
/// if the first one does not end with a newline.
///
/// With --filter, records of earlier runs count as seen. The filter file is saved at the end of the run, after
/// the output is complete (and on disk, if it is a file). After exit code 2, or if the reader of the output goes
/// away (| head), it is as it was before the run, or at the last checkpoint. After exit code 4 everything is
/// written, but fsync failed, so a power cut may undo it. On SIGINT or SIGTERM the program finishes the current
/// block, saves, and ends by the signal.
///
/// With --filter, -o and inputs that are files, a run may be interrupted at any moment, even by a crash. The
/// same command with --resume continues it: output and filter are then the same as without the interruption. If
/// the filter is full (exit code 3), make room and resume.
#[derive(clap::Args, Debug)]
#[command(after_long_help = HIDDEN)]
#[command(group = ArgGroup::new("resumed").args(["resume"]).requires("output"))]
pub(crate) struct DedupArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Write to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print the repeats instead of the first occurrences
    #[arg(short = 'd', long, help_heading = "Output", conflicts_with = "tee_dups")]
    repeats: bool,

    /// Also write the repeats to FILE
    ///
    /// With -o that may be `-`, standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    tee_dups: Option<PathBuf>,

    /// Remember in FILE what was seen, for the next run
    ///
    /// FILE is created if it does not exist. If it exists, the options that describe a filter must agree with
    /// it.
    ///
    /// The filter may also be on a server or cluster with Coua's module:
    /// `valkey://[USER:PASSWORD@]HOST[:PORT]/NAME[?shards=N]`, or `redis://`; for TLS `valkeys://` or
    /// `rediss://`. The password may be in the environment variable `COUA_SERVER_PASSWORD` instead. Many
    /// processes may share such a filter: the first process that has a record prints it. If the connection is
    /// lost, coua tries again (&retry=SECONDS, 60). Records whose answers were lost, at most 1 MiB of them or
    /// one longer record, are printed whether they were seen before or not, so that none is lost. A record is
    /// added before it is printed, and removed again if it cannot be printed; only a process that is killed
    /// outright cannot remove it. Options that only filter files have (--time-field, seeds and secret keys,
    /// layouts, --resume and checkpoints) are refused. A new filter is described by --capacity, --rate with
    /// --max-items, --hash-bits, --when-full, --window and --generations, for all shards
    /// together.
    #[arg(long = "filter", value_name = "FILE", help_heading = "Filter")]
    filter_file: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    work: WorkArgs,
}

impl DedupArgs {
    /// Returns an error if both outputs are standard output.
    fn destinations(&self) -> Result<Destinations> {
        let main = Some(Destination::of(self.output.as_deref()));
        let tee = self.tee_dups.as_deref().map(|path| Destination::of(Some(path)));
        if tee == Some(Destination::Standard) && main == tee {
            let reason = "standard output has the first occurrences: give -o as well";
            return Err(Failure::at("--tee-dups -", reason));
        }
        Ok(Destinations { main, tee })
    }

    pub(crate) fn run(&self) -> Result<Exit> {
        let (window, repeats) = (&self.filter.window, self.repeats);
        let spec = window.describe(JobSpec::new("dedup").with("repeats", repeats));
        let file = self.filter_file.as_deref();
        Job {
            op: Op::Dedup,
            to: self.destinations()?,
            location: file.map(Location::of).transpose()?,
            reading: self.input.reading(window.time_source())?,
            filter: self.filter.spec(),
            printed: Some(Seen::from(repeats)),
            recorded: Some(self.work.checkpoints(self.input.describe(spec))),
            running: self.work.running(),
        }
        .run()
    }
}
