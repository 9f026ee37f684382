//! Raw bytes from files, pipes and terminals.

use crate::platform;
use crate::runs::{Checksum, Ends};
use crate::terminal::CancelToken;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// The position in an input, and the checksums of the bytes that were read so far.
#[derive(Clone)]
pub(super) struct Digest(Arc<Mutex<Digested>>);

struct Digested {
    offset: u64,
    ends: Ends,
    /// Of all bytes, until the input is known not to be compressed.
    all: Option<Box<Xxh3>>,
}

impl Digest {
    fn get(&self) -> MutexGuard<'_, Digested> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let mut digested = self.get();
        digested.offset += bytes.len() as u64;
        digested.ends.add(bytes);
        if let Some(all) = &mut digested.all {
            all.update(bytes);
        }
    }

    /// Stops computing the checksum of all bytes, because the input is not compressed.
    pub(super) fn drop_all(&self) {
        self.get().all = None;
    }

    /// The number of raw bytes before what is read next.
    pub(super) fn offset(&self) -> u64 {
        self.get().offset
    }

    pub(super) fn sum(&self) -> Checksum {
        let Digested { ends, all, .. } = &*self.get();
        all.as_ref().map_or_else(|| ends.checksum(), |all| Checksum::Whole(all.digest()))
    }
}

/// Reads a file and counts its bytes. A wait for more bytes of a pipe ends when the program must
/// stop.
pub(super) struct Tap {
    file: Arc<File>,
    /// A read may wait, because this is not a regular file.
    may_wait: bool,
    stop: Arc<CancelToken>,
    digest: Digest,
}

impl Tap {
    /// Reads a file from this offset on. Only the checksum from the beginning on is that of the file.
    pub(super) fn new(mut file: File, offset: u64, stop: Arc<CancelToken>) -> io::Result<Self> {
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        let may_wait = !file.metadata()?.is_file();
        if may_wait {
            platform::enlarge_pipe(&file);
        }
        let digested = Digested { offset, ends: Ends::default(), all: Some(Box::default()) };
        let digest = Digest(Arc::new(Mutex::new(digested)));
        Ok(Self { file: Arc::new(file), may_wait, stop, digest })
    }

    /// The checksums of the bytes read.
    pub(super) fn digest(&self) -> Digest {
        self.digest.clone()
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
                    self.digest.add(&buffer[..read]);
                    return Ok(read);
                }
            }
        }
    }
}
