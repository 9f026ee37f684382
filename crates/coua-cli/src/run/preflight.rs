//! What is checked before a command does anything: the same for all commands, in the same order.
//!
//! First the options, then the standard streams, then the files that are read, then those that are written. A run
//! that is refused here has made no file and changed none.

use crate::cli::input::{InputArgs, Reading, TimeSource};
use crate::cli::run::{Quiet, RunArgs};
use crate::cli::secret::SecretArgs;
use crate::input::{Faults, Survey};
use crate::output::own_files::OwnFiles;
use crate::output::{Destinations, Opening, Outputs};
use crate::resume::Start;
use crate::run::session::Session;
use crate::target::file;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use crate::terminal::stream::Stream;
use std::path::Path;

/// What happens to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Asked,
    Changed,
}

/// What standard output gets, apart from records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    None,
    Printed,
}

/// A command that reads records, before its checks.
#[derive(Debug)]
pub(crate) struct Preflight<'a> {
    input: &'a InputArgs,
    run: &'a RunArgs,
    quiet: Quiet,
    to: Destinations<'a>,
    report: Report,
    time: Option<TimeSource<'a>>,
    faults: Faults,
    filter: Option<(&'a Path, Use)>,
    secret: Option<&'a SecretArgs>,
}

impl<'a> Preflight<'a> {
    /// Of a command with a filter in no file, which prints nothing.
    pub(crate) fn new(input: &'a InputArgs, run: &'a RunArgs, quiet: Quiet) -> Self {
        let (to, report, faults) = (Destinations::default(), Report::None, Faults::AtOnce);
        Self { input, run, quiet, to, report, time: None, faults, filter: None, secret: None }
    }

    /// Records go there.
    pub(crate) fn to(self, to: Destinations<'a>) -> Self {
        Self { to, ..self }
    }

    /// Something else is printed as well.
    pub(crate) fn report(self, report: Report) -> Self {
        Self { report, ..self }
    }

    /// Records have times there.
    pub(crate) fn times(self, time: Option<TimeSource<'a>>) -> Self {
        Self { time, ..self }
    }

    /// When an input that cannot be read is an error.
    pub(crate) fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The filter's hash may have a secret key.
    pub(crate) fn secret(self, secret: &'a SecretArgs) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// The filter is in this file.
    pub(crate) fn filter(self, path: &'a Path, what: Use) -> Self {
        Self { filter: Some((path, what)), ..self }
    }

    /// Checks all that can be checked without touching a file.
    pub(crate) fn check(self) -> Result<Ready<'a>, Failure> {
        let mut reading = self.input.check_timed(self.time, self.faults)?;
        self.run.check()?;
        self.to.check_open()?;
        check_report(self.report)?;
        self.secret.map_or(Ok(None), SecretArgs::key)?;
        let inputs = reading.survey(self.to.mixing())?;
        let own = OwnFiles::of(self.filter.map(|(path, _)| path), self.secret)?;
        if let Some((_, Use::Changed)) = self.filter {
            own.refuse_inputs(&inputs)?;
        }
        let ready = Ready { reading, inputs, run: self.run, quiet: self.quiet, to: self.to, own };
        ready.opening().check_all(self.to)?;
        Ok(ready)
    }
}

/// A command that reads records, after its checks.
#[derive(Debug)]
pub(crate) struct Ready<'a> {
    pub(crate) reading: Reading,
    pub(crate) inputs: Survey,
    run: &'a RunArgs,
    pub(crate) quiet: Quiet,
    pub(crate) to: Destinations<'a>,
    own: OwnFiles,
}

impl Ready<'_> {
    /// What an output of these records needs to know.
    pub(crate) fn opening(&self) -> Opening<'_> {
        Opening { separator: &self.reading.format.separator, inputs: &self.inputs, own: &self.own }
    }

    /// What a run begins with that counts `counts`.
    pub(crate) fn start<C>(&self, counts: C) -> Start<'_, C> {
        Start { to: self.to, opening: self.opening(), counts, quiet: self.quiet }
    }

    /// Opens the outputs of a run that is not recorded.
    pub(crate) fn open_outputs(&self) -> Result<Outputs, Failure> {
        Outputs::open(self.to, self.opening())
    }

    /// From here on signals are answered. `counted` is what the command shows.
    pub(crate) fn session(&self, counted: Counted) -> Result<Session, Failure> {
        Session::begin(counted, self.run, self.quiet, self.reading.on_missing, &self.inputs)
    }
}

/// Checks a command that works on whole filters: it reads `sources`, and writes `output` if there is one.
pub(crate) fn check_filters<'a>(
    report: Report,
    secret: &SecretArgs,
    sources: impl IntoIterator<Item = &'a Path>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    check_report(report)?;
    secret.key()?;
    sources.into_iter().try_for_each(file::check_there)?;
    output.map_or(Ok(()), |output| OwnFiles::check_made(output, secret))
}

/// Complains if nobody can see what is to be printed.
fn check_report(report: Report) -> Result<(), Failure> {
    match report {
        Report::Printed => Stream::Output.check_open(),
        Report::None => Ok(()),
    }
}
