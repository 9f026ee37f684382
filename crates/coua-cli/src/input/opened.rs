//! An input that is open: its decompressed bytes.

use crate::input::decompress::{self, Decoded, DecoderLimit};
use crate::input::tap::{Digest, RawPlace, Tap};
use crate::input::{Coding, Source};
use crate::terminal::CancelToken;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are unpacked in one step: a millisecond of gzip.
pub(super) const PIECE: usize = 512 * 1024;

/// Where to read an input: from a place where a member of compressed data begins, without the first bytes of what
/// follows.
#[derive(Clone, Default)]
pub(super) struct ReadFrom {
    pub(super) place: RawPlace,
    /// Decompressed bytes to pass over.
    pub(super) skipped: u64,
}

/// Decompressed bytes of an input.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Raw bytes read for all bytes up to the end of these.
    pub(super) offset: u64,
    /// The checksum of them.
    pub(super) digest: u64,
}

/// What comes after a chunk.
pub(super) enum Then {
    More,
    End,
    /// An error, or more memory is needed than may be taken.
    Failure,
}

/// An open input.
pub(super) struct Opened {
    decoded: Decoded,
    /// Where it was begun, and how many bytes were read since.
    from: ReadFrom,
    offset: Arc<AtomicU64>,
    /// The file, if reading from it may wait.
    pub(super) waiting: Option<Arc<File>>,
    /// A decoder that needs more memory fails.
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
        let mut decoded = decompress::decoded(tap, coding, limit)?;
        if let Source::Start(_, bytes) = source {
            decoded.reader = Box::new(decoded.reader.take(*bytes));
        }
        let skipped = io::copy(&mut (&mut decoded.reader).take(from.skipped), &mut io::sink())?;
        let is_limited = limit.is_any() && decoded.compression.is_some();
        let from = ReadFrom { skipped, ..from };
        Ok(Self { decoded, from, offset, waiting, is_limited })
    }

    /// What people call the way in which it is compressed, if it is.
    pub(super) fn compression(&self) -> Option<&'static str> {
        self.decoded.compression
    }

    /// Raw bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset.load(Ordering::Relaxed)
    }

    /// The checksum of all compressed bytes so far; 0 if the input is not compressed.
    pub(super) fn digest(&self) -> u64 {
        self.decoded.digest.as_ref().map_or(0, Digest::value)
    }

    /// Where to read what comes next, with another decoder.
    pub(super) fn read_from(&self) -> ReadFrom {
        self.from.clone()
    }

    /// Reads some bytes; none at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoded.reader.read(buffer)?;
        self.from.skipped += read as u64;
        Ok(read)
    }

    /// Reads a chunk of [`PIECE`] bytes, or what is left.
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
        (Chunk { bytes, offset: self.offset(), digest: self.digest() }, then)
    }
}
