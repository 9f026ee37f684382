//! What was given on the command line, and not by default.

use crate::filter::Location;
use crate::terminal::{Failure, Result};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::path::Path;

/// What was given on the command line of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a>(&'a ArgMatches);

/// The options that only filter files have.
const OF_FILES: [&str; 11] = [
    "secret",
    "now",
    "resume",
    "checkpoint_every",
    "restart",
    "overwrite",
    "no_wait",
    "time_field",
    "slots_per_bucket",
    "layout",
    "seed",
];

impl<'a> Line<'a> {
    pub(super) fn new(of_command: &'a ArgMatches) -> Self {
        Self(of_command)
    }

    /// Where the filter is. Returns an error for options for files if it is on a server.
    pub(super) fn location(self, argument: &Path) -> Result<Location> {
        let location = Location::of(argument)?;
        if location.file().is_none()
            && let Some(option) = OF_FILES.into_iter().find(|option| self.has(option))
        {
            let option = format!("--{}", option.replace('_', "-"));
            let reason = "is for filter files only, not for a filter on a server";
            return Err(Failure::at(option, reason));
        }
        Ok(location)
    }

    fn has(self, option: &str) -> bool {
        self.0.ids().any(|id| id == option)
            && self.0.value_source(option) == Some(ValueSource::CommandLine)
    }
}
