//! The destinations of outputs, and checks of them.

use crate::input::{Coding, Survey, compression_of};
use crate::key::Mixing;
use crate::output::compress::OutputCompression;
use crate::output::output_folder::OutputFolder;
use crate::platform::{self, Identity, descriptor};
use crate::record::{Header, RecordFormat};
use crate::runs::Place;
use crate::terminal::{Failure, Result, Stream};
use coua::LoadError;
use coua::window::Generations;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::slice;

/// The destination of the selected records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Standard,
    File(PathBuf),
    /// One file per input.
    Folder(OutputFolder),
}

impl Destination {
    /// The destination of an option; none, `-` and `/dev/stdout` are standard output.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        match path {
            Some(path) if path != Path::new("-") && descriptor(path) != Some(1) => {
                Self::File(path.to_owned())
            }
            _ => Self::Standard,
        }
    }

    /// The file, if it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Standard | Self::Folder(_) => None,
        }
    }

    /// All files.
    pub(super) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Standard => &[],
            Self::File(path) => slice::from_ref(path),
            Self::Folder(folder) => &folder.paths,
        }
    }

    /// Whether this header of an input is written to it.
    pub(crate) fn has_header(&self, header: Header) -> bool {
        match self {
            Self::Folder(_) => header != Header::Repeated,
            Self::Standard | Self::File(_) => header == Header::First,
        }
    }
}

/// A name of standard output.
pub(crate) const STANDARD_OUTPUT: &str = "/dev/stdout";

/// The outputs on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Destinations {
    /// For the selected records; none if the command prints nothing.
    pub(crate) records: Option<Destination>,
    /// Appends to files instead of emptying them.
    pub(crate) appends: bool,
    /// The compression of all outputs, whatever their names.
    pub(crate) compression: Option<OutputCompression>,
}

impl Destinations {
    /// Standard output.
    pub(crate) fn standard() -> Self {
        Self { records: Some(Destination::Standard), ..Self::default() }
    }

    /// Whether the records go to standard output.
    fn are_printed(&self) -> bool {
        self.records == Some(Destination::Standard)
    }

    /// Returns an error if standard output is used and was closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.are_printed() { Stream::Output.check_open() } else { Ok(()) }
    }

    /// The compression of an output.
    pub(super) fn compression(&self, path: Option<&Path>) -> OutputCompression {
        self.compression
            .unwrap_or_else(|| path.map_or(OutputCompression::None, OutputCompression::of))
    }

    /// The coding with which the records of an output are read.
    pub(crate) fn coding(&self, path: &Path) -> Coding {
        let compression = match &self.records {
            Some(Destination::Folder(folder)) => folder.compression(path),
            _ => None,
        };
        let compression = compression.unwrap_or_else(|| self.compression(Some(path)));
        match compression {
            OutputCompression::None => Coding::Raw,
            _ => Coding::Recognized,
        }
    }

    /// Whether records of several inputs go to one output.
    pub(crate) fn mixing(&self) -> Mixing {
        match self.records {
            None | Some(Destination::Folder(_)) => Mixing::Allowed,
            _ => Mixing::Refused,
        }
    }

    /// The file, if it has content. Standard output may be one that is appended to.
    pub(crate) fn begun(&self) -> Option<&Path> {
        let appended = (self.appends && self.are_printed()).then_some(Path::new(STANDARD_OUTPUT));
        self.path().or(appended).filter(|path| has_content(path))
    }

    /// The file, if it is one.
    fn path(&self) -> Option<&Path> {
        self.records.as_ref()?.path()
    }

    /// The names of the outputs; standard output has none.
    fn paths(&self) -> &[PathBuf] {
        self.records.as_ref().map_or(&[], Destination::paths)
    }

    /// Whether all of them are, or will be, named files.
    pub(crate) fn are_files(&self) -> bool {
        !self.are_printed() && self.paths().iter().all(|path| is_file(path))
    }

    /// The beginnings of those that are, or will be, named files.
    pub(crate) fn file_places(&self) -> Vec<Place> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let files = self.paths().iter().filter(|path| is_file(path));
        files.map(|path| Place::start(&absolute(path))).collect()
    }
}

/// Whether a path is, or will be, a named file.
fn is_file(path: &Path) -> bool {
    !path.exists() || Identity::at(path).is_some() && descriptor(path).is_none()
}

/// Parameters for opening outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputSpec<'a> {
    /// The format of the records.
    pub(crate) format: &'a RecordFormat,
    /// All outputs.
    pub(crate) to: &'a Destinations,
    /// Files that an output must not be, whether they exist or not.
    pub(crate) used: &'a UsedFiles,
    /// The threads for compression.
    pub(crate) threads: NonZeroUsize,
    /// A filter remembers their content, which must be synced.
    pub(crate) is_followed: bool,
}

impl OutputSpec<'_> {
    /// Returns an error if an output is an input or a file of the filter. Called before the filter is locked: from then
    /// on it renames its files into place.
    pub(crate) fn check_all(&self) -> Result<()> {
        if self.to.are_printed() {
            self.used.refuse(Stream::Output.name(), None, standard_output())?;
        }
        if let (None, Some(path)) = (self.to.compression, self.to.path()) {
            OutputCompression::check_name(path)?;
        }
        self.to.paths().iter().try_for_each(|path| {
            self.used.refuse_path(path)?;
            self.check_compression(path)?;
            refuse_filter(path)
        })
    }

    /// Returns an error if records would be appended to others that are compressed in another way.
    fn check_compression(&self, path: &Path) -> Result<()> {
        if !self.to.appends || !has_content(path) {
            return Ok(());
        }
        // An unreadable file is reported when it is opened.
        let Ok(found) = compression_of(path) else { return Ok(()) };
        let (compression, has) =
            (self.to.compression(Some(path)), OutputCompression::of_format(found));
        if has.map(OutputCompression::ending) == Some(compression.ending()) {
            return Ok(());
        }
        let is = found.map_or("not compressed".to_owned(), |it| format!("compressed with {it}"));
        let reason = format_args!(
            "is {is}, so other data cannot be appended; choose another output, or use another --compress"
        );
        Err(Failure::at(path.display(), reason))
    }
}

/// The identity of standard output, if it is a regular file.
fn standard_output() -> Option<Identity> {
    Identity::of(&platform::standard_output().ok()?).ok()?
}

/// The inputs of a run, and its other files. Records must not be written to any of them, nor read from a filter that
/// changes.
#[derive(Debug, Default)]
pub(crate) struct UsedFiles {
    pub(crate) inputs: Survey,
    /// The path of the filter as given, and with symbolic links resolved. The file need not exist yet.
    filter: Vec<PathBuf>,
    key: Option<PathBuf>,
    /// The files whose records count as seen, if outputs would damage them.
    known: Vec<PathBuf>,
}

impl UsedFiles {
    /// The inputs, the filter if it is in a file, the file of its secret key, and known files.
    pub(crate) fn of(
        inputs: Survey,
        filter: Option<&Path>,
        key: Option<&Path>,
        known: Vec<PathBuf>,
    ) -> Result<Self> {
        let mut used = Self { inputs, filter: Vec::new(), key: key.map(Path::to_owned), known };
        if let Some(path) = filter {
            let resolved = coua_store::resolved(path);
            let resolved = resolved.map_err(|error| Failure::at(path.display(), error.reason))?;
            used.filter = vec![path.to_owned(), resolved];
        }
        Ok(used)
    }

    /// Whether the run has a filter file.
    pub(crate) fn has_filter(&self) -> bool {
        !self.filter.is_empty()
    }

    /// Returns an error if an output is one of these files. `path` and `file` are its path and identity, if it has
    /// them.
    pub(super) fn refuse(
        &self,
        name: &str,
        path: Option<&Path>,
        file: Option<Identity>,
    ) -> Result<()> {
        let is_one = |own: &PathBuf| {
            file.is_some() && file == Identity::at(own)
                || path.is_some_and(|path| is_same_place(path, own))
        };
        // To records, the shell lets the program append.
        let is_damaged = |own: &PathBuf| path.is_some() || is_filter(own);
        let what = if file.is_some_and(|file| self.inputs.files.contains(&file)) {
            "is also an input"
        } else if self.filter.iter().any(is_one) {
            "is also the filter file"
        } else if self.key.iter().any(is_one) {
            "is also the secret key file"
        } else if self.known.iter().any(|own| is_one(own) && is_damaged(own)) {
            "is also a --known file"
        } else {
            return Ok(());
        };
        Err(Failure::at(name, format_args!("{what}; choose another output")))
    }

    /// Returns an error if standard output, which the shell has emptied, is a known file.
    pub(super) fn refuse_emptied(&self, name: &str, file: Option<Identity>) -> Result<()> {
        let is_it = |own: &PathBuf| file.is_some() && file == Identity::at(own);
        if self.known.iter().any(is_it) {
            let reason =
                "is also a --known file, which the shell has emptied; choose another output";
            return Err(Failure::at(name, reason));
        }
        Ok(())
    }

    fn refuse_path(&self, path: &Path) -> Result<()> {
        self.refuse(&path.display().to_string(), Some(path), Identity::at(path))
    }

    /// Returns an error if the filter, which changes, is an input.
    pub(crate) fn refuse_changed_input(&self) -> Result<()> {
        let is_input = |path: &&PathBuf| {
            Identity::at(path).is_some_and(|file| self.inputs.files.contains(&file))
        };
        self.filter.iter().find(is_input).map_or(Ok(()), |path| {
            let reason = "is the filter file, which this run changes; choose another input";
            Err(Failure::at(path.display(), reason))
        })
    }

    /// Returns an error if a filter would be written to the secret key file.
    pub(crate) fn check_made(output: &Path, key: Option<&Path>) -> Result<()> {
        Self { key: key.map(Path::to_owned), ..Self::default() }.refuse_path(output)
    }
}

/// Whether two paths name the same place in the same folder, even if nothing exists there yet.
pub(crate) fn is_same_place(left: &Path, right: &Path) -> bool {
    let place = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some((fs::canonicalize(path.parent()?).ok()?, path.file_name()?.to_owned()))
    };
    place(left).is_some_and(|left| place(right) == Some(left))
}

/// Returns an error if something would overwrite a filter.
pub(crate) fn refuse_filter(path: &Path) -> Result<()> {
    if !is_filter(path) {
        return Ok(());
    }
    let reason = "is a filter file; refusing to overwrite it (choose another output, or delete it)";
    Err(Failure::at(path.display(), reason))
}

/// Whether a file is a filter. One that cannot be read is reported when it is used.
pub(crate) fn is_filter(path: &Path) -> bool {
    // Opening anything but a regular file may wait, and would take a pipe's writer away from its reader.
    let file = Identity::at(path).and_then(|_| File::open(path).ok());
    let found = file.map(|file| Generations::snapshot_bytes(&file));
    !matches!(found, None | Some(Err(LoadError::NotAFilter | LoadError::Io(_))))
}

/// Whether the path names a regular file with content.
pub(crate) fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}
