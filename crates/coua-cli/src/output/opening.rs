//! Which outputs are refused.

use crate::input::Survey;
use crate::output::Destinations;
use crate::output::own_files::{self, OwnFiles};
use crate::platform::{self, Identity};
use crate::record::Format;
use crate::terminal::{Failure, Result, Stream};
use std::path::Path;

/// What opening outputs needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'a> {
    /// Of the records.
    pub(crate) format: &'a Format,
    /// All outputs.
    pub(crate) to: &'a Destinations,
    /// An output must not be an input.
    pub(crate) inputs: &'a Survey,
    /// Nor one of these, whether it exists already or not.
    pub(crate) own: &'a OwnFiles,
}

impl Opening<'_> {
    /// Complains about outputs that are inputs or files of the filter, before it is locked: from then on it
    /// puts its files into their places.
    pub(crate) fn check_all(&self) -> Result<()> {
        self.to.all().try_for_each(|output| match output.path() {
            Some(path) => self.check_path(path),
            None => self.check(Stream::Output.name(), None, standard_output()),
        })
    }

    fn check_path(&self, path: &Path) -> Result<()> {
        self.check(&path.display().to_string(), Some(path), Identity::at(path))?;
        own_files::refuse_filter(path)
    }

    /// Complains if a regular file must not be the output of this name.
    pub(super) fn check(
        &self,
        name: &str,
        path: Option<&Path>,
        file: Option<Identity>,
    ) -> Result<()> {
        if file.is_some_and(|file| self.inputs.contains(file)) {
            return Err(Failure::at(name, "is an input as well: name another output"));
        }
        self.own.refuse_output(name, path, file)
    }
}

/// Which regular file standard output is, if it is one.
fn standard_output() -> Option<Identity> {
    Identity::of(&platform::standard_output().ok()?).ok()?
}
