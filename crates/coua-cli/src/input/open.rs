//! Raw bytes from files, pipes and terminals.

use crate::platform;
use crate::terminal::CancelToken;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads a file and counts its bytes. A wait for more bytes of a pipe ends when the program is to
/// stop.
#[derive(Debug)]
pub(crate) struct Tap {
    file: Arc<File>,
    /// Anything but a regular file: a read may wait.
    may_wait: bool,
    stop: Arc<CancelToken>,
    consumed: Arc<AtomicU64>,
}

impl Tap {
    pub(crate) fn new(
        file: File,
        stop: Arc<CancelToken>,
        consumed: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let may_wait = !file.metadata()?.is_file();
        if may_wait {
            platform::enlarge_pipe(&file);
        }
        Ok(Self { file: Arc::new(file), may_wait, stop, consumed })
    }

    /// The file, if a read from it may wait.
    pub(crate) fn waiting(&self) -> Option<Arc<File>> {
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
                // Another process was faster, or there was nothing after all.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.may_wait => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.consumed.fetch_add(read as u64, Ordering::Relaxed);
                    return Ok(read);
                }
            }
        }
    }
}
