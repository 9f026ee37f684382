//! From files to blocks of whole records.

mod current;
mod decompress;
mod reader;

pub(crate) use decompress::is_compressed;
pub(crate) use reader::BlockReader;

use crate::platform::{self, Identity, standard_input};
use crate::terminal::{Failure, Result, Stream};
use encoding_rs::Encoding;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What to read, in this order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    sources: Vec<Source>,
    coding: Coding,
}

/// What the bytes of inputs are before they are records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coding {
    /// Compressed inputs are decompressed.
    pub(crate) is_decompressed: bool,
    /// What follows the end of compressed data and is none is ignored.
    pub(crate) is_forced: bool,
    /// Texts are written so, and become UTF-8; else they are read as they are.
    pub(crate) encoding: Option<&'static Encoding>,
}

/// Up to where to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    End,
    /// A record that is printed ends the run, before the inputs after it are opened: one that cannot be read is an
    /// error only in its turn.
    FirstPrinted,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Stdin,
    File(PathBuf),
    /// The first bytes of a file.
    Start(PathBuf, u64),
}

/// What is known about the inputs before they are read.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Bytes in all inputs, as they are on disk; none if one of them is a pipe or the like.
    pub(crate) total_bytes: Option<u64>,
    files: Vec<Identity>,
}

impl Survey {
    /// Whether a file is one of the inputs.
    pub(crate) fn contains(&self, file: Identity) -> bool {
        self.files.contains(&file)
    }
}

impl Inputs {
    /// `-`, or no path, is standard input.
    pub(crate) fn new(paths: &[PathBuf], coding: Coding) -> Self {
        let source = |path: &PathBuf| match path.to_str() {
            Some("-") => Source::Stdin,
            _ => Source::File(path.clone()),
        };
        let mut sources: Vec<Source> = paths.iter().map(source).collect();
        if sources.is_empty() {
            sources.push(Source::Stdin);
        }
        Self { sources, coding }
    }

    /// The records in the first bytes of a file, which are neither compressed nor encoded.
    pub(crate) fn start_of(path: &Path, bytes: u64) -> Self {
        let coding = Coding { is_decompressed: false, is_forced: false, encoding: None };
        Self { sources: vec![Source::Start(path.to_owned(), bytes)], coding }
    }

    /// The names of the files, if there is nothing but files with names.
    pub(crate) fn files(&self) -> Option<Vec<PathBuf>> {
        let name = |source: &Source| match source {
            Source::File(path) | Source::Start(path, _) => {
                Identity::at(path)?;
                std::path::absolute(path).ok()
            }
            Source::Stdin => None,
        };
        self.sources.iter().map(name).collect()
    }

    /// Looks at all inputs, so that a wrong name is found before anything is written.
    pub(crate) fn survey(&self, until: Until) -> Result<Survey> {
        let mut survey = Survey { total_bytes: Some(0), files: Vec::new() };
        for source in &self.sources {
            let file = match source.checked() {
                Err(_) if until == Until::FirstPrinted && *source != Source::Stdin => None,
                checked => checked?,
            };
            survey.total_bytes =
                survey.total_bytes.zip(file).map(|(total, (rest, _))| total + rest);
            survey.files.extend(file.map(|(_, identity)| identity));
        }
        Ok(survey)
    }
}

impl Source {
    fn name(&self) -> String {
        match self {
            Self::Stdin => Stream::Input.name().to_owned(),
            Self::File(path) | Self::Start(path, _) => path.display().to_string(),
        }
    }

    /// Whether opening or reading it may wait for another process.
    fn may_wait(&self) -> bool {
        self.look().is_ok_and(|(metadata, _)| !metadata.is_file())
    }

    /// Makes the next reader of standard input begin at this place again.
    fn return_to(&self, place: u64) -> io::Result<()> {
        match self {
            Self::Stdin => standard_input()?.seek(SeekFrom::Start(place)).map(drop),
            Self::File(_) | Self::Start(..) => Ok(()),
        }
    }

    fn open(&self) -> io::Result<File> {
        match self {
            Self::Stdin => standard_input(),
            Self::File(path) if fs::metadata(path).is_ok_and(|it| platform::is_fifo(&it)) => {
                platform::open_fifo(path)
            }
            Self::File(path) | Self::Start(path, _) => File::open(path),
        }
    }

    /// How many bytes are to be read, and of which file, if it is a regular one. Returns an error if it cannot be read.
    fn checked(&self) -> Result<Option<(u64, Identity)>> {
        if *self == Self::Stdin {
            Stream::Input.check_open()?;
        }
        let failed = |error: io::Error| Failure::io(self.name(), &error);
        let (metadata, skipped) = self.look().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Failure::at(self.name(), "is a directory, not a file of records"));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let identity = self.open().and_then(|file| Identity::of(&file)).map_err(failed)?;
        Ok(identity.map(|identity| (metadata.len().saturating_sub(skipped), identity)))
    }

    /// What it is, and where reading will begin.
    fn look(&self) -> io::Result<(Metadata, u64)> {
        match self {
            Self::Stdin => {
                let mut file = standard_input()?;
                let metadata = file.metadata()?;
                let position = if metadata.is_file() { file.stream_position()? } else { 0 };
                Ok((metadata, position))
            }
            Self::File(path) | Self::Start(path, _) => Ok((fs::metadata(path)?, 0)),
        }
    }
}
