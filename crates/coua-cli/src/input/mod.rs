//! From files to blocks of whole records.

mod opened;
mod reader;

pub(crate) use opened::{Means, bytes_from, compression_of, last_bytes};
pub(crate) use reader::BlockReader;

use crate::platform::{self, Identity, descriptor, standard_input};
use crate::terminal::{Failure, Result, Stream, message};
use std::collections::HashSet;
use std::env;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What to read, in this order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    sources: Vec<Source>,
    coding: Coding,
    /// The file that lists them, if there is one.
    list: Option<PathBuf>,
}

/// How the bytes of inputs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Compressed inputs are recognized and decompressed. Formats that are not read are refused.
    Recognized,
    /// Bytes are read unchanged.
    Raw,
}

/// Attributes that show whether a file has changed.
#[derive(Debug, PartialEq)]
pub(crate) struct FileState {
    bytes: u64,
    modified: Option<SystemTime>,
    /// When content or attributes last changed, which no program can set back.
    changed: (i64, i64),
}

/// One input.
#[derive(Clone, Debug)]
enum Source {
    Stdin,
    /// An input with this name that can be read again, from this position of a file.
    Spooled(String, Arc<File>, u64),
    File(PathBuf),
}

/// An input that is a file with a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputFile<'a> {
    pub(crate) path: &'a Path,
    /// The name of its compression format, if it is compressed.
    pub(crate) compression: Option<&'static str>,
}

/// Facts about the inputs before they are read.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Bytes of all inputs on disk; none if one of them is a pipe or similar.
    pub(crate) total_bytes: Option<u64>,
    /// The regular files among the inputs, and the list of their names.
    pub(crate) files: HashSet<Identity>,
}

impl Inputs {
    /// `-` is standard input.
    pub(crate) fn new(paths: &[PathBuf], coding: Coding) -> Self {
        let source = |path: &PathBuf| match path.to_str() {
            Some("-") => Source::Stdin,
            _ => Source::File(path.clone()),
        };
        Self { sources: paths.iter().map(source).collect(), coding, list: None }
    }

    /// These, which a file lists.
    pub(crate) fn listed_in(self, list: Option<PathBuf>) -> Self {
        Self { list, ..self }
    }

    /// Other files, read in the same way.
    pub(crate) fn others(&self, paths: &[PathBuf]) -> Self {
        Self::new(paths, self.coding)
    }

    /// Whether standard input is one of them.
    pub(crate) fn have_stdin(&self) -> bool {
        self.sources.iter().any(|source| matches!(source, Source::Stdin))
    }

    /// Makes all inputs readable again: what is not a regular file is copied to a temporary one.
    pub(crate) fn make_rereadable(&mut self) -> Result<()> {
        // Standard input that is named again has nothing left.
        let mut has_stdin = false;
        self.sources.retain(|source| {
            !matches!(source, Source::Stdin) || !mem::replace(&mut has_stdin, true)
        });
        self.sources.iter_mut().try_for_each(Source::make_rereadable)
    }

    /// The present states of the files, to compare later.
    pub(crate) fn states(&self) -> Result<Vec<FileState>> {
        self.sources.iter().map(Source::state).collect()
    }

    /// Returns an error if a file has changed.
    pub(crate) fn check_states(&self, before: &[FileState]) -> Result<()> {
        let mut all = self.sources.iter().zip(before);
        all.try_for_each(|(source, before)| {
            let reason = "changed while it was read twice, so the output may be wrong; run the command again";
            let is_same = source.state()? == *before;
            if is_same { Ok(()) } else { Err(Failure::at(source.name(), reason)) }
        })
    }

    /// The names of the files, if all inputs are files with names.
    pub(crate) fn files(&self) -> Option<Vec<PathBuf>> {
        let name = |source: &Source| match source {
            Source::File(path) => {
                Identity::at(path)?;
                std::path::absolute(path).ok()
            }
            Source::Stdin | Source::Spooled(..) => None,
        };
        self.sources.iter().map(name).collect()
    }

    /// All inputs, or the name of one that is not a named file. Skips those that cannot be read.
    pub(crate) fn named(&self) -> Result<Vec<InputFile<'_>>, String> {
        fn file(source: &Source) -> Result<InputFile<'_>, String> {
            let Source::File(path) = source else { return Err(source.name()) };
            let is_other = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
            if is_other || descriptor(path).is_some() {
                return Err(source.name());
            }
            Ok(InputFile { path, compression: compression_of(path).unwrap_or(None) })
        }
        self.sources.iter().map(file).collect()
    }

    /// Looks at all inputs, so that a wrong name is found before anything is written.
    pub(crate) fn survey(&self) -> Result<Survey> {
        let files = self.list.iter().filter_map(|list| Identity::at(list)).collect();
        let mut survey = Survey { total_bytes: Some(0), files };
        for source in &self.sources {
            let file = source.checked()?;
            survey.total_bytes =
                survey.total_bytes.zip(file).map(|(total, (rest, _))| total + rest);
            survey.files.extend(file.map(|(_, identity)| identity));
        }
        Ok(survey)
    }
}

impl Source {
    fn make_rereadable(&mut self) -> Result<()> {
        self.check_open()?;
        let name = self.name();
        let failed = |error: io::Error| Failure::io(&name, &error);
        let (metadata, begin) = self.look().map_err(failed)?;
        if metadata.is_dir() || metadata.is_file() && !matches!(self, Self::Stdin) {
            return Ok(());
        }
        let file = match self {
            // Opening a pipe waits for its writer.
            Self::File(path) => File::open(path),
            _ => self.open(),
        };
        let mut file = file.map_err(failed)?;
        if metadata.is_file() {
            *self = Self::Spooled(name, Arc::new(file), begin);
            return Ok(());
        }
        let failed = |error: io::Error| {
            let reason = message::reason(&error);
            let reason = format!(
                "cannot store a copy of {name} for the second pass: {reason} (TMPDIR sets the folder)"
            );
            Failure::at(env::temp_dir().display(), reason)
        };
        let mut spool = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut file, &mut spool).map_err(failed)?;
        *self = Self::Spooled(name.clone(), Arc::new(spool), 0);
        Ok(())
    }

    fn state(&self) -> Result<FileState> {
        let (metadata, _) = self.look().map_err(|error| Failure::io(self.name(), &error))?;
        let (bytes, changed) = (metadata.len(), platform::change_time(&metadata));
        Ok(FileState { bytes, modified: metadata.modified().ok(), changed })
    }

    fn name(&self) -> String {
        match self {
            Self::Stdin => Stream::Input.name().to_owned(),
            Self::Spooled(name, ..) => name.clone(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Whether opening or reading the input may wait for another process.
    fn may_wait(&self) -> bool {
        self.look().is_ok_and(|(metadata, _)| !metadata.is_file())
    }

    /// Lets the next reader of standard input begin at this place again.
    fn return_to(&self, place: u64) -> io::Result<()> {
        match self {
            Self::Stdin => standard_input()?.seek(SeekFrom::Start(place)).map(drop),
            Self::File(_) | Self::Spooled(..) => Ok(()),
        }
    }

    fn open(&self) -> io::Result<File> {
        match self {
            Self::Stdin => standard_input(),
            Self::Spooled(_, file, begin) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(*begin))?;
                Ok(file)
            }
            Self::File(path) => platform::open_input(path),
        }
    }

    fn check_open(&self) -> Result<()> {
        if matches!(self, Self::Stdin) { Stream::Input.check_open() } else { Ok(()) }
    }

    /// The number of bytes to read and the identity of the file, if it is a regular one. Returns an error if it cannot
    /// be read.
    fn checked(&self) -> Result<Option<(u64, Identity)>> {
        self.check_open()?;
        let failed = |error: io::Error| Failure::io(self.name(), &error);
        let (metadata, skipped) = self.look().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Failure::at(self.name(), "is a directory, not an input file"));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let identity = self.open().and_then(|file| Identity::of(&file)).map_err(failed)?;
        Ok(identity.map(|identity| (metadata.len().saturating_sub(skipped), identity)))
    }

    /// Its metadata, and where reading will begin.
    fn look(&self) -> io::Result<(Metadata, u64)> {
        match self {
            Self::Stdin => {
                let mut file = standard_input()?;
                let metadata = file.metadata()?;
                let position = if metadata.is_file() { file.stream_position()? } else { 0 };
                Ok((metadata, position))
            }
            Self::Spooled(_, file, begin) => Ok((file.metadata()?, *begin)),
            Self::File(path) => Ok((fs::metadata(path)?, 0)),
        }
    }
}
