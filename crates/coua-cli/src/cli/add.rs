//! `coua add`.

use super::Line;
use super::filter::FilterArgs;
use super::input::TargetArgs;
use super::run::WorkArgs;
use super::window::NowArgs;
use crate::commands;
use crate::output::Destinations;
use crate::resume::{Command, JobSpec};
use crate::run::Job;
use crate::target::Op;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;

/// Put records into a filter file
///
/// Every record adds a copy: added twice, a record must be removed twice. The file is created if it
/// does not exist, and brought up to date at the end, and every few seconds if all inputs are files. At
/// exit code 2 it is as it was before, or at the last checkpoint; at exit code 4 all is recorded, but fsync failed,
/// and a power cut may undo it. On SIGINT or SIGTERM the program finishes the current block, saves, and ends by
/// the signal.
///
/// A run whose inputs are files can be interrupted at any moment, also by a crash, and resumed by the same
/// command with --resume: every record is then added exactly once. (Starting it again would add the first
/// ones twice, and is refused.) If the filter is full (exit code 3), make room and resume.
///
/// On a server, what was added stays at exit code 2, and options that only filter files have are refused
/// (see `coua dedup --help`, --filter). After a lost connection, the records whose answer was lost are
/// added again, and may have a copy too many (not with --unique).
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Add only records that are not there yet
    #[arg(long, help_heading = "Output")]
    unique: bool,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    work: WorkArgs,
}

impl Args {
    pub(super) fn run(&self, line: Line<'_>) -> Result<Exit, Failure> {
        let (target, window) = (&self.target, &self.filter.window);
        let spec = window.describe(JobSpec::new(Command::Add).with("unique", self.unique));
        commands::work(Job {
            op: if self.unique { Op::AddNew } else { Op::Add },
            reading: target.input.reading(window.time_source())?,
            location: line.location(&target.filter_file)?,
            filter: self.filter.spec(),
            present: self.now.present(),
            to: Destinations::default(),
            printed: None,
            recorded: Some((target.input.describe(spec), self.work.checkpoints())),
            manner: self.work.manner(),
        })
    }
}
