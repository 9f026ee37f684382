//! An input that is open: its decompressed bytes.

use crate::input::decompress::{self, Decoded, STEP};
use crate::input::tap::Tap;
use crate::input::{Coding, Source};
use crate::runs::Checksum;
use crate::terminal::CancelToken;
use crate::terminal::message::reason;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Decompressed bytes of an input.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Raw bytes read up to the end of this chunk.
    pub(super) offset: u64,
    /// Their checksum.
    pub(super) sum: Checksum,
}

/// An open input.
pub(super) struct Opened {
    decoded: Decoded,
    /// No byte of the input was read.
    is_start: bool,
    /// The file, if reading from it may wait.
    pub(super) waiting: Option<Arc<File>>,
}

impl Opened {
    /// Opens an input, to read it from this raw byte on.
    pub(super) fn new(
        source: &Source,
        offset: u64,
        coding: Coding,
        stop: &Arc<CancelToken>,
    ) -> io::Result<Self> {
        let tap = Tap::new(source.open()?, offset, Arc::clone(stop))?;
        let waiting = tap.waiting();
        Ok(Self { decoded: decompress::decoded(tap, coding)?, is_start: offset == 0, waiting })
    }

    /// Raw bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.decoded.digest.offset()
    }

    /// The checksum of the raw bytes so far.
    pub(super) fn sum(&self) -> Checksum {
        self.decoded.digest.sum()
    }

    /// The next bytes; none at the end.
    pub(super) fn next_chunk(&mut self) -> io::Result<Chunk> {
        let mut bytes = vec![0; STEP];
        let read = self.read(&mut bytes)?;
        bytes.truncate(read);
        Ok(Chunk { bytes, offset: self.offset(), sum: self.sum() })
    }

    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = &mut self.decoded.reader;
        if self.decoded.compression.is_none() {
            return reader.get_mut().read(buffer);
        }
        let most = buffer.len().min(STEP);
        reader.read(&mut buffer[..most])
    }

    /// The error, which names the format of compressed data if a decoder returned it.
    fn with_format(&self, error: io::Error) -> io::Error {
        let Some(format) = self.decoded.compression else { return error };
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
    stop: &Arc<CancelToken>,
) -> io::Result<impl Read + use<>> {
    Opened::new(&Source::File(path.to_owned()), offset, coding, stop)
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decode(buffer).map_err(|error| self.with_format(error))?;
        if self.is_start && self.decoded.compression.is_some() {
            decompress::refuse_others(&buffer[..read])?;
        }
        self.is_start = false;
        Ok(read)
    }
}
