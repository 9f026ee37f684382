//! Where results go, and how a failure is told.

use std::fmt::{self, Display};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

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

/// Writes `name`.json into the directory, which is made if it is lacking.
///
/// # Errors
///
/// Those of the file system.
pub(crate) fn save(directory: &Path, name: &str, report: &impl Serialize) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|why| Failure::of(directory.display(), &why))?;
    let path = directory.join(name).with_extension("json");
    let told = |why: &dyn Display| Failure::of(path.display(), &why);
    let mut text = serde_json::to_vec_pretty(report).map_err(|why| told(&why))?;
    text.push(b'\n');
    let mut file = fs::File::create(&path).map_err(|why| told(&why))?;
    file.write_all(&text).map_err(|why| told(&why))
}
