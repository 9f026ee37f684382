//! Raw bytes from files, pipes and terminals.

use crate::platform;
use crate::terminal::CancelToken;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// A place in the raw bytes of an input.
#[derive(Clone, Default)]
pub(super) struct RawPlace {
    pub(super) offset: u64,
    /// The checksum of all bytes before it.
    pub(super) checksum: Box<Xxh3>,
}

impl RawPlace {
    /// Moves the place past these bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.checksum.update(bytes);
    }
}

/// The checksum of all bytes of an input that were read so far.
#[derive(Clone)]
pub(super) struct Digest(Arc<Mutex<Xxh3>>);

impl Digest {
    fn add(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).update(bytes);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).digest()
    }
}

/// Reads a file and counts its bytes. A wait for more bytes of a pipe ends when the program must
/// stop.
pub(super) struct Tap {
    file: Arc<File>,
    /// A read may wait, because this is not a regular file.
    may_wait: bool,
    stop: Arc<CancelToken>,
    /// The position in the file.
    offset: Arc<AtomicU64>,
    /// The checksum, until the input is known not to be compressed.
    digest: Option<Digest>,
}

impl Tap {
    /// Reads a file that is at this place.
    pub(super) fn new(file: File, place: RawPlace, stop: Arc<CancelToken>) -> io::Result<Self> {
        let may_wait = !file.metadata()?.is_file();
        if may_wait {
            platform::enlarge_pipe(&file);
        }
        let offset = Arc::new(AtomicU64::new(place.offset));
        let digest = Some(Digest(Arc::new(Mutex::new(*place.checksum))));
        Ok(Self { file: Arc::new(file), may_wait, stop, offset, digest })
    }

    /// The number of raw bytes before what is read next.
    pub(super) fn offset(&self) -> Arc<AtomicU64> {
        self.offset.clone()
    }

    /// The checksum of the bytes read.
    pub(super) fn digest(&self) -> Option<Digest> {
        self.digest.clone()
    }

    /// Stops computing the checksum, because the input is not compressed.
    pub(super) fn drop_digest(&mut self) {
        self.digest = None;
    }

    /// The file, if a read from it may wait.
    pub(super) fn waiting(&self) -> Option<Arc<File>> {
        self.may_wait.then(|| self.file.clone())
    }
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.may_wait {
                self.stop.wait_readable(&self.file)?;
            }
            match (&*self.file).read(buffer) {
                // Another process was faster, or there was nothing to read.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.may_wait => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.offset.fetch_add(read as u64, Ordering::Relaxed);
                    if let Some(digest) = &self.digest {
                        digest.add(&buffer[..read]);
                    }
                    return Ok(read);
                }
            }
        }
    }
}
