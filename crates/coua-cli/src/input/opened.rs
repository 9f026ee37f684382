//! An input that is open: its decompressed bytes.

use crate::input::decompress::{self, Decoded, DecoderLimit};
use crate::input::tap::{RawPlace, Tap};
use crate::input::{Coding, Source};
use crate::runs::Checksum;
use crate::terminal::CancelToken;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are unpacked in one step: a millisecond of gzip.
pub(super) const PIECE: usize = 512 * 1024;

/// Bytes requested from a decoder at a time, however many are wanted. A decoder loses its output on an error, so this
/// determines which bytes come before an error.
const STEP: usize = 64 * 1024;

/// Where to continue reading an input: at the beginning of a member of compressed data, after skipping its first
/// decompressed bytes.
#[derive(Clone, Default)]
pub(super) struct ReadFrom {
    pub(super) place: RawPlace,
    /// Decompressed bytes to skip.
    pub(super) skipped: u64,
}

/// Decompressed bytes of an input.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Raw bytes read up to the end of this chunk.
    pub(super) offset: u64,
    /// Their checksum.
    pub(super) sum: Checksum,
}

/// What comes after a chunk.
pub(super) enum Then {
    More,
    End,
    /// An error, or the decoder needs more memory than allowed.
    Failure,
}

/// An open input.
pub(super) struct Opened {
    decoded: Decoded,
    /// The output of the decoder's last step, and how much of it was read.
    step: Vec<u8>,
    read: usize,
    /// Where reading began, and how many bytes were read since.
    from: ReadFrom,
    offset: Arc<AtomicU64>,
    /// The file, if reading from it may wait.
    pub(super) waiting: Option<Arc<File>>,
    /// The decoder's memory is limited.
    pub(super) is_limited: bool,
}

impl Opened {
    pub(super) fn new(
        source: &Source,
        from: ReadFrom,
        coding: Coding,
        limit: DecoderLimit,
        stop: &Arc<CancelToken>,
    ) -> io::Result<Self> {
        let mut file = source.open()?;
        if from.place.offset > 0 {
            file.seek(SeekFrom::Start(from.place.offset))?;
        }
        let tap = Tap::new(file, from.place.clone(), Arc::clone(stop))?;
        let (waiting, offset) = (tap.waiting(), tap.offset());
        let decoded = decompress::decoded(tap, coding, limit)?;
        let is_limited = limit.is_any() && decoded.compression.is_some();
        let skipped = from.skipped;
        let mut opened = Self {
            decoded,
            step: Vec::new(),
            read: 0,
            from: ReadFrom { skipped: 0, ..from },
            offset,
            waiting,
            is_limited,
        };
        io::copy(&mut (&mut opened).take(skipped), &mut io::sink())?;
        Ok(opened)
    }

    /// The name of its compression format, if it is compressed.
    pub(super) fn compression(&self) -> Option<&'static str> {
        self.decoded.compression
    }

    /// Raw bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset.load(Ordering::Relaxed)
    }

    /// The checksum of the raw bytes so far.
    pub(super) fn sum(&self) -> Checksum {
        self.decoded.digest.sum()
    }

    /// Where another decoder can continue.
    pub(super) fn read_from(&self) -> ReadFrom {
        self.from.clone()
    }

    /// Reads a chunk of [`PIECE`] bytes, or the rest.
    pub(super) fn next_chunk(&mut self) -> (Chunk, Then) {
        let mut bytes = vec![0; PIECE];
        let mut filled = 0;
        let then = loop {
            if filled == PIECE {
                break Then::More;
            }
            match self.read(&mut bytes[filled..]) {
                Ok(0) => break Then::End,
                Ok(read) => filled += read,
                Err(_) => break Then::Failure,
            }
        };
        bytes.truncate(filled);
        bytes.shrink_to_fit();
        (Chunk { bytes, offset: self.offset(), sum: self.sum() }, then)
    }
}

/// The decompressed bytes of a file from this raw byte on.
pub(crate) fn bytes_from(
    path: &Path,
    offset: u64,
    coding: Coding,
    stop: &Arc<CancelToken>,
) -> io::Result<impl Read + use<>> {
    let place = RawPlace { offset, ..RawPlace::default() };
    let from = ReadFrom { place, skipped: 0 };
    Opened::new(&Source::File(path.to_owned()), from, coding, DecoderLimit::NONE, stop)
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_empty = self.read == self.step.len();
        let read = if self.decoded.compression.is_none() {
            self.decoded.reader.read(buffer)?
        } else if is_empty && buffer.len() >= STEP {
            self.decoded.reader.read(&mut buffer[..STEP])?
        } else {
            if is_empty {
                self.step.resize(STEP, 0);
                self.read = STEP;
                let read = self.decoded.reader.read(&mut self.step)?;
                self.step.truncate(read);
                self.read = 0;
            }
            let rest = &self.step[self.read..];
            let read = buffer.len().min(rest.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            self.read += read;
            read
        };
        let is_start = self.from.place.offset == 0 && self.from.skipped == 0;
        if is_start && self.decoded.compression.is_some() {
            decompress::refuse_others(&buffer[..read])?;
        }
        self.from.skipped += read as u64;
        Ok(read)
    }
}
