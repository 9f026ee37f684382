//! Where outputs are to go.

use crate::key::Mixing;
use crate::platform::{Identity, descriptor};
use crate::terminal::{Result, Stream};
use std::path::{Path, PathBuf};

/// Where the selected records are to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Standard,
    File(PathBuf),
}

impl Destination {
    /// Of an option that says otherwise than standard output, which is also `-` and `/dev/stdout`.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        match path {
            Some(path) if path != Path::new("-") && descriptor(path) != Some(1) => {
                Self::File(path.to_owned())
            }
            _ => Self::Standard,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path),
        }
    }
}

/// What the command line says about the outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Destinations {
    /// For the selected records; none if the command prints nothing.
    pub(crate) main: Option<Destination>,
    /// For the records that are selected for a second output as well.
    pub(crate) tee: Option<Destination>,
}

impl Destinations {
    /// Standard output.
    pub(crate) fn standard() -> Self {
        Self { main: Some(Destination::Standard), tee: None }
    }

    /// Returns an error if standard output is one of them and was closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        let is_used = self.all().any(|output| *output == Destination::Standard);
        if is_used { Stream::Output.check_open() } else { Ok(()) }
    }

    /// Whether records are printed.
    pub(crate) fn mixing(&self) -> Mixing {
        if self.main.is_some() { Mixing::Refused } else { Mixing::Allowed }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Destination> {
        self.main.iter().chain(&self.tee)
    }

    /// The names of the outputs; standard output has none.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        self.all().filter_map(Destination::path).collect()
    }

    /// Whether all of them are, or will be, files with names.
    pub(crate) fn are_files(&self) -> bool {
        let is_file = |path: &Path| {
            !path.exists() || Identity::at(path).is_some() && descriptor(path).is_none()
        };
        self.all().all(|output| output.path().is_some_and(is_file))
    }
}
