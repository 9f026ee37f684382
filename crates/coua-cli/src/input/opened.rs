//! An input that is open: its raw bytes from a file, pipe or terminal, and its decompressed bytes.

use crate::input::decompress::{self, STEP};
use crate::input::{Coding, Source};
use crate::platform;
use crate::runs::{Checksum, Ends};
use crate::terminal::message::reason;
use crate::terminal::{CancelToken, Result, Verbosity};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// Shared state for reading all inputs.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) stop: Arc<CancelToken>,
    /// Raw bytes read of all inputs.
    pub(crate) consumed: Arc<AtomicU64>,
    /// Whether to warn of bytes that are ignored.
    pub(crate) verbosity: Verbosity,
}

impl Means {
    /// For one reader alone, which gives no warnings.
    pub(crate) fn new() -> Result<Self> {
        let (stop, consumed) = (Arc::new(CancelToken::new()?), Arc::default());
        Ok(Self { stop, consumed, verbosity: Verbosity::Quiet })
    }
}

/// The raw bytes of an input. The decoder has a clone.
#[derive(Clone)]
pub(super) struct Tap(Arc<Mutex<RawInput>>);

struct RawInput {
    file: File,
    /// The file's bytes when it was opened.
    length: u64,
    /// A read may wait, because this is not a regular file.
    may_wait: bool,
    means: Means,
    ends: Ends,
    /// The checksum of all bytes, until the input is known not to be compressed.
    all: Option<Box<Xxh3>>,
}

impl Tap {
    /// Reads a file from this offset on. Only the checksum from the beginning on is that of the file.
    fn new(mut file: File, offset: u64, means: &Means) -> io::Result<Self> {
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        let metadata = file.metadata()?;
        let (length, may_wait) = (metadata.len(), !metadata.is_file());
        if may_wait {
            platform::enlarge_pipe(&file);
        }
        let (ends, all, means) = (Ends::default(), Some(Box::default()), means.clone());
        Ok(Self(Arc::new(Mutex::new(RawInput { file, length, may_wait, means, ends, all }))))
    }

    fn raw(&self) -> MutexGuard<'_, RawInput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for more bytes of a pipe ends when the program must stop.
impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut raw = self.raw();
        loop {
            if raw.may_wait {
                raw.means.stop.wait_readable(&raw.file)?;
            }
            match raw.file.read(buffer) {
                // Another process was faster, or there was nothing to read.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && raw.may_wait => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) if !raw.may_wait && raw.file.metadata()?.len() < raw.length => {
                    return Err(io::Error::other("was shortened while it was read"));
                }
                Ok(read) => {
                    raw.means.consumed.fetch_add(read as u64, Ordering::Relaxed);
                    raw.ends.add(&buffer[..read]);
                    raw.all.iter_mut().for_each(|all| all.update(&buffer[..read]));
                    return Ok(read);
                }
            }
        }
    }
}

/// The decompressed bytes of an input.
pub(super) struct Opened {
    tap: Tap,
    /// The name of its format, if it is compressed.
    compression: Option<&'static str>,
    reader: Box<dyn Read + Send>,
    /// No byte of the input was read.
    is_start: bool,
}

impl Opened {
    /// Opens an input, to read it from this raw byte on.
    pub(super) fn new(
        source: &Source,
        offset: u64,
        coding: Coding,
        means: &Means,
    ) -> io::Result<Self> {
        let tap = Tap::new(source.open()?, offset, means)?;
        let (compression, reader) = decompress::decoded(Box::new(tap.clone()), coding)?;
        if compression.is_none() {
            tap.raw().all = None;
        }
        Ok(Self { tap, compression, reader, is_start: offset == 0 })
    }

    /// The checksum of the raw bytes so far.
    pub(super) fn sum(&self) -> Checksum {
        let raw = self.tap.raw();
        let all = raw.all.as_ref().map(|all| Checksum::Whole(all.digest()));
        all.unwrap_or_else(|| raw.ends.checksum())
    }

    /// Whether bytes or the end of the input arrive within this time.
    pub(super) fn comes_within(&self, time: Duration) -> bool {
        let raw = self.tap.raw();
        !raw.may_wait || raw.means.stop.comes_within(&raw.file, time)
    }

    /// The error, which names the format of compressed data if a decoder returned it.
    fn with_format(&self, error: io::Error) -> io::Error {
        let Some(format) = self.compression else { return error };
        // The decoders' errors have no OS error number.
        if error.raw_os_error().is_some() || decompress::ends_before_others(&error) {
            return error;
        }
        let reason = reason(&error);
        let what = if reason.contains("memory") { "no memory to decompress" } else { "broken" };
        io::Error::new(error.kind(), format!("{what} {format} data: {reason}"))
    }
}

/// The decompressed bytes of a file from this raw byte on.
pub(crate) fn bytes_from(
    path: &Path,
    offset: u64,
    coding: Coding,
    means: &Means,
) -> io::Result<impl Read + use<>> {
    Opened::new(&Source::File(path.to_owned()), offset, coding, means)
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = if self.compression.is_some() { STEP } else { usize::MAX };
        let most = buffer.len().min(most);
        let read = self.reader.read(&mut buffer[..most]);
        let read = read.map_err(|error| self.with_format(error))?;
        if self.is_start && self.compression.is_some() {
            decompress::refuse_others(&buffer[..read])?;
        }
        self.is_start = false;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_is_shortened_while_it_is_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut whole = bytes_from(&path, 0, Coding::Recognized, &Means::new().unwrap()).unwrap();
        let mut shortened =
            bytes_from(&path, 0, Coding::Recognized, &Means::new().unwrap()).unwrap();
        assert_eq!(io::read_to_string(&mut whole).unwrap(), "one\ntwo\n");
        File::options().write(true).open(&path).unwrap().set_len(5).unwrap();
        let error = io::read_to_string(&mut shortened).unwrap_err();
        assert_eq!(error.to_string(), "was shortened while it was read");
    }
}
