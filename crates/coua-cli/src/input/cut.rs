//! Compressed inputs of many members, cut between them so that each piece can be decompressed separately.
//!
//! The size of a member is known in the output of `bgzip`, which stores it in the member's header, and in zstd frames,
//! which store it in their blocks. A file is cut only where another such member follows. If a size is wrong,
//! decompression fails, and the input is read from there on as if it had never been cut.

use crate::input::Source;
use crate::input::decompress::{DecoderLimit, Members, zstd_decoder};
use crate::input::opened::Chunk;
use crate::input::tap::RawPlace;
use crate::runs::Checksum;
use std::fs::File;
use std::io::{self, Read};

/// The fewest raw bytes of a piece; less is not worth a separate step.
const LEAST: usize = 128 * 1024;

/// Raw bytes that are read first, for several pieces.
const WINDOW: usize = 8 * LEAST;

/// The longest member that is cut off.
const LONGEST: usize = 4 << 20;

/// The most that a piece may hold.
const MOST_UNPACKED: u64 = 16 << 20;

/// A format of members.
#[derive(Clone, Copy, Debug)]
struct MemberFormat {
    /// Whether a member with a known size begins here.
    begins: fn(&[u8]) -> bool,
    /// The size of the member that begins here, if it is known and the member is complete.
    size: fn(&[u8]) -> Option<usize>,
    unpack: fn(&[u8], &mut Vec<u8>) -> io::Result<()>,
    /// The fewest threads for which it pays: the large pieces of zstd pass through memory, which takes 1.6 times the
    /// processor time of one thread that unpacks into its cache.
    least_threads: usize,
}

const FORMATS: [MemberFormat; 2] = [
    MemberFormat {
        begins: |bytes| bgzip_size(bytes).is_some(),
        size: |bytes| bgzip_size(bytes).filter(|size| *size <= bytes.len()),
        unpack: |raw, bytes| read_all(Members::new(raw), bytes),
        least_threads: 2,
    },
    MemberFormat {
        begins: |bytes| {
            let is_skipped = matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
            is_skipped || bytes.starts_with(b"\x28\xb5\x2f\xfd")
        },
        size: |bytes| zstd::zstd_safe::find_frame_compressed_size(bytes).ok(),
        unpack: |raw, bytes| read_all(zstd_decoder(raw, DecoderLimit::MODEST)?, bytes),
        least_threads: 4,
    },
];

/// The size of a gzip member that stores it as `bgzip` does, in the first extra field.
fn bgzip_size(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<18>()?;
    let is_one = header.starts_with(b"\x1f\x8b\x08\x04") && &header[12..16] == b"BC\x02\0";
    is_one.then(|| usize::from(u16::from_le_bytes([header[16], header[17]])) + 1)
}

fn read_all(reader: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let read = reader.take(MOST_UNPACKED + 1).read_to_end(bytes)?;
    if read as u64 > MOST_UNPACKED { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

/// Whole members of an input.
pub(super) struct Piece {
    raw: Vec<u8>,
    format: MemberFormat,
    begin: RawPlace,
    /// Where it ends, and the checksum of all before that.
    end: u64,
    digest: u64,
}

impl Piece {
    /// Raw bytes.
    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }

    /// Decompresses the piece. The error is its place.
    pub(super) fn unpack(self) -> Result<Chunk, RawPlace> {
        // Reserves too much rather than copying while it grows: the system provides only the pages that are used.
        let mut bytes = Vec::with_capacity(8 * self.raw.len());
        (self.format.unpack)(&self.raw, &mut bytes).map_err(|_| self.begin)?;
        Ok(Chunk { bytes, offset: self.end, sum: Checksum::Whole(self.digest) })
    }
}

/// Cuts an input.
pub(super) struct Cutter {
    file: File,
    format: MemberFormat,
    /// Bytes that were read but belong to no piece yet, and their place.
    rest: Vec<u8>,
    place: RawPlace,
}

impl Cutter {
    /// None if the file does not begin with members of known size, or there are too few threads for them.
    pub(super) fn new(source: &Source, threads: usize) -> io::Result<Option<Self>> {
        let mut file = source.open()?;
        let mut rest = Vec::new();
        (&mut file).take(WINDOW as u64).read_to_end(&mut rest)?;
        let format =
            FORMATS.iter().find(|format| threads >= format.least_threads && (format.begins)(&rest));
        Ok(format.map(|format| Self { file, format: *format, rest, place: RawPlace::default() }))
    }

    /// The next pieces; none if the members that follow cannot be cut off, or there is at most one.
    pub(super) fn next_pieces(&mut self) -> io::Result<Vec<Piece>> {
        let mut window = WINDOW;
        loop {
            let missing = window.saturating_sub(self.rest.len());
            let read = (&mut self.file).take(missing as u64).read_to_end(&mut self.rest)?;
            let pieces = self.cut();
            if !pieces.is_empty() || read < missing || window >= LONGEST {
                return Ok(pieces);
            }
            window *= 2;
        }
    }

    /// The place of the bytes that belong to no piece.
    pub(super) fn place(&self) -> RawPlace {
        self.place.clone()
    }

    /// Cuts off all members that are followed by another one.
    fn cut(&mut self) -> Vec<Piece> {
        let (mut pieces, mut begin, mut at) = (Vec::new(), 0, 0);
        loop {
            let size = (self.format.size)(&self.rest[at..]).filter(|size| *size > 0);
            let end =
                size.map(|size| at + size).filter(|end| (self.format.begins)(&self.rest[*end..]));
            let is_last = end.is_none() && at > begin;
            at = end.unwrap_or(at);
            if is_last || at - begin >= LEAST {
                pieces.push(self.piece(begin, at));
                begin = at;
            }
            if end.is_none() {
                self.rest.drain(..begin);
                return pieces;
            }
        }
    }

    fn piece(&mut self, begin: usize, end: usize) -> Piece {
        let (raw, before) = (self.rest[begin..end].to_vec(), self.place.clone());
        self.place.pass(&raw);
        let RawPlace { offset, checksum } = &self.place;
        Piece { raw, format: self.format, begin: before, end: *offset, digest: checksum.digest() }
    }
}
