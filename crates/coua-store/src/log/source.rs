//! Sources of bytes that are read at offsets: a file, or a part of one that is elsewhere.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A file or its substitute, read at offsets.
pub trait Source: Debug {
    /// Its length in bytes.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn length(&self) -> io::Result<u64>;

    /// Fills the buffer with the bytes from an offset on, as far as they exist, and returns how many.
    ///
    /// # Errors
    ///
    /// Those of reading.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|found| found.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (mut file, mut filled) = (self, 0);
        file.seek(SeekFrom::Start(offset))?;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
