//! `coua remove`.

use super::Line;
use super::filter::SecretArgs;
use super::input::TargetArgs;
use super::run::WorkArgs;
use super::window::NowArgs;
use crate::commands;
use crate::key::answers::Found;
use crate::output::{Destination, Destinations};
use crate::resume::{Command, JobSpec};
use crate::run::Job;
use crate::target::Op;
use crate::target::spec::FilterSpec;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::path::PathBuf;

/// Take records out of a filter file
///
/// Takes one copy of every record away. Remove only what was added: a record that was never added
/// is, with the filter's false-positive rate as probability, mistaken for another one, which is then
/// removed instead. The file is brought up to date at the end, after the report is complete (and on disk, if
/// it is a file), and every few seconds if all inputs, and the report, are files. At exit code 2 it is
/// as it was before, or at the last checkpoint; at exit code 4 all is recorded, but fsync failed, and a power cut may
/// undo it. On SIGINT or SIGTERM the program finishes the current block, saves, and ends by the signal.
///
/// A run whose inputs are files, without --report or with -o, can be interrupted at any moment, also by
/// a crash, and resumed by the same command with --resume: of every record one copy is then taken, and the
/// report is what it would have been. (Starting it again would take the first ones twice, and is refused.)
///
/// On a server, what was removed stays removed at exit code 2, also what is in no report yet. After a
/// lost connection, the records whose answer was lost are removed again, may lose two copies, and count
/// as the second answer says.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Print records: those found and removed, or those not found
    #[arg(long, hide_possible_values = true, value_name = "WHICH", help_heading = "Output")]
    report: Option<Which>,

    /// Write the report to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Output", requires = "report")]
    output: Option<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    work: WorkArgs,
}

/// Which records to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Which {
    /// Those that were found and removed.
    Found,
    /// Those that were not found.
    NotFound,
}

impl Args {
    pub(super) fn run(&self, line: Line<'_>) -> Result<Exit, Failure> {
        let (target, report) = (&self.target, self.report);
        let main = report.map(|_| Destination::of(self.output.as_deref()));
        let spec = JobSpec::new(Command::Remove).with("report", report);
        commands::work(Job {
            op: Op::Remove,
            reading: target.input.reading(None)?,
            location: line.location(&target.filter_file)?,
            filter: FilterSpec::keyed(self.secret.secret()),
            present: self.now.present(),
            to: Destinations { main, tee: None },
            printed: report.map(|which| Found::from(which == Which::Found)),
            recorded: Some((target.input.describe(spec), self.work.checkpoints())),
            manner: self.work.manner(),
        })
    }
}
