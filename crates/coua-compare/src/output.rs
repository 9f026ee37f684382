//! Where results go, and how a failure is told.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::Circumstances;

/// What went wrong, with what.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// Something about something.
    pub(crate) fn of(what: impl Display, why: &impl Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A table with the circumstances it was measured under: what a JSON file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report<T> {
    /// When, where, by which command.
    pub(crate) circumstances: Circumstances,
    /// What was measured.
    pub(crate) sheet: T,
}

impl<T: Serialize + DeserializeOwned> Report<T> {
    /// Writes `name`.json into the directory, which is made if it is lacking.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub(crate) fn save(&self, directory: &Path, name: &str) -> Result<(), Failure> {
        fs::create_dir_all(directory).map_err(|why| Failure::of(directory.display(), &why))?;
        let path = directory.join(format!("{name}.json"));
        let told = |why: &dyn Display| Failure::of(path.display(), &why);
        let mut text = serde_json::to_vec_pretty(self).map_err(|why| told(&why))?;
        text.push(b'\n');
        fs::write(&path, text).map_err(|why| told(&why))
    }

    /// Reads what [`save`](Self::save) has written.
    ///
    /// # Errors
    ///
    /// Those of the file system, or that the file is no such report.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let told = |why: &dyn Display| Failure::of(path.display(), &why);
        let text = fs::read(path).map_err(|why| told(&why))?;
        serde_json::from_slice(&text)
            .map_err(|why| told(&format!("{why}; is it of another version? measure again")))
    }
}

impl<T: Display> Display for Report<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}\n{}", self.circumstances.markdown(), self.sheet)
    }
}
