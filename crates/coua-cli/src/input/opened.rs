//! An input that is open: its raw bytes from a file, pipe or terminal, and its decompressed bytes. Formats of compressed
//! inputs, and others that are not read, are recognized by their first bytes.

use crate::input::{Coding, Source};
use crate::platform;
use crate::runs::{Checksum, Ends};
use crate::terminal::message::reason;
use crate::terminal::{CancelToken, Result, Verbosity};
use bzip2::bufread::MultiBzDecoder;
use coua::snapshot::MAGIC;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream as XzStream};
use lz4_flex::frame::FrameDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Seek, SeekFrom, Write};
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
struct Tap(Arc<Mutex<RawInput>>);

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
        let (compression, reader) = decoded(Box::new(tap.clone()), coding)?;
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
        if error.raw_os_error().is_some() || ends_before_others(&error) {
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
            refuse_others(&buffer[..read])?;
        }
        self.is_start = false;
        Ok(read)
    }
}

// Formats of compressed inputs.

/// The largest window of zstd, as a power of two: all that the format allows, for which `zstd --long=31` asks.
const ZSTD_WINDOW: u32 = if usize::BITS < 64 { 30 } else { 31 };

/// The first byte of a member of a gzip file.
const GZIP: u8 = 0x1f;

/// Compressed bytes are read in pieces of this size.
const PIECE: usize = 128 * 1024;

/// Bytes requested from a decoder at a time, however many are wanted. A decoder loses its output on an error, so this
/// determines which bytes come before an error.
const STEP: usize = 64 * 1024;

/// An input from its first byte on.
type Start = BufReader<Chain<Cursor<Vec<u8>>, RawBytes>>;

/// The raw bytes of an input.
type RawBytes = Box<dyn Read + Send>;

/// A compression format.
struct Compression {
    /// Its name in messages.
    name: &'static str,
    /// The first bytes of such files: `?` is any byte, `_` one from 0x50 to 0x5f.
    magics: &'static [&'static [u8]],
    decoded: fn(Start) -> io::Result<Box<dyn Read + Send>>,
}

/// The most bytes needed to recognize a format.
const LONGEST_MAGIC: u64 = 10;

/// bzip2's own four bytes are letters that a text may begin with, so those of its first block (or, in an empty file, of
/// its end) must match too. The second magic of zstd is a skippable frame, with which `pzstd` begins.
static COMPRESSIONS: [Compression; 5] = [
    Compression {
        name: "gzip",
        magics: &[b"\x1f\x8b\x08"],
        decoded: |start| Ok(members(GzDecoder::new(start), next_member)),
    },
    Compression {
        name: "zstd",
        magics: &[b"\x28\xb5\x2f\xfd", b"_\x2a\x4d\x18"],
        decoded: |start| Ok(Box::new(zstd_decoder(start)?)),
    },
    Compression {
        name: "lz4",
        magics: &[b"\x04\x22\x4d\x18"],
        decoded: |start| Ok(members(FrameDecoder::new(FrameBytes(start)), next_frame)),
    },
    Compression {
        name: "xz",
        magics: &[b"\xfd7zXZ\0"],
        decoded: |start| {
            let stream = XzStream::new_auto_decoder(u64::MAX, CONCATENATED)?;
            Ok(Box::new(XzDecoder::new_stream(start, stream)))
        },
    },
    Compression {
        name: "bzip2",
        magics: &[b"BZh?1AY&SY", b"BZh?\x17rE8P\x90"],
        decoded: |start| Ok(Box::new(MultiBzDecoder::new(start))),
    },
];

fn zstd_decoder<'d, R: BufRead>(start: R) -> io::Result<zstd::Decoder<'d, R>> {
    let mut decoder = zstd::Decoder::with_buffer(start)?;
    decoder.window_log_max(ZSTD_WINDOW)?;
    Ok(decoder)
}

/// A format that is not read.
struct OtherFormat {
    what: &'static str,
    /// Bytes of such a file.
    magic: &'static [u8],
    /// Where they are.
    at: usize,
    remedy: &'static str,
}

const fn other(what: &'static str, magic: &'static [u8], remedy: &'static str) -> OtherFormat {
    OtherFormat { what, magic, at: 0, remedy }
}

const CONVERT: &str =
    "convert it to CSV or JSON lines, or use the Python modules coua.polars and coua.duckdb";
const DECODE: &str = "pipe in the output of `iconv -f UTF-16 -t UTF-8`";
const DECODE_32: &str = "pipe in the output of `iconv -f UTF-32 -t UTF-8`";
const FILTER: &str = "name a file, not compressed, after --known or --filter";

/// Formats that are not read, with what to do.
static OTHERS: [OtherFormat; 16] = [
    other("UTF-32 text", b"\xff\xfe\0\0", DECODE_32),
    other("UTF-32 text", b"\0\0\xfe\xff", DECODE_32),
    other("UTF-16 text", b"\xff\xfe", DECODE),
    other("UTF-16 text", b"\xfe\xff", DECODE),
    other("a zip archive", b"PK\x03\x04", "pipe in the output of `unzip -p`"),
    other("a 7z archive", b"7z\xbc\xaf\x27\x1c", "pipe in the output of `7z e -so`"),
    other("an lzma file", b"\x5d\0\0", "pipe in the output of `xz -dc --format=lzma`"),
    other("a `compress` file", b"\x1f\x9d", "pipe in the output of `gzip -dc`"),
    other("a Parquet file", b"PAR1\x15", CONVERT),
    other("an Arrow file", b"ARROW1\0\0", CONVERT),
    other("an Arrow stream", b"\xff\xff\xff\xff", CONVERT),
    other("an Avro file", b"Obj\x01", CONVERT),
    other("an ORC file", b"ORC", CONVERT),
    other("an SQLite database", b"SQLite format 3\0", "pipe in rows with `sqlite3 -csv`"),
    OtherFormat { at: 257, ..other("a tar archive", b"ustar", "pipe in the output of `tar -xO`") },
    other("a filter of coua", &MAGIC, FILTER),
];

impl OtherFormat {
    /// Whether an input that begins like this has the format. A text may begin like those without a control
    /// character, but has no zero byte.
    fn begins(&self, start: &[u8]) -> bool {
        let is_rare = self.magic.iter().any(u8::is_ascii_control);
        let found = start.get(self.at..).is_some_and(|start| start.starts_with(self.magic));
        found && (is_rare || start.contains(&0))
    }
}

/// Returns an error if an input that begins like this is unsupported.
fn refuse_others(start: &[u8]) -> io::Result<()> {
    let Some(OtherFormat { what, remedy, .. }) = OTHERS.iter().find(|it| it.begins(start)) else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("is {what}; {remedy}")))
}

/// A format that an input with this beginning may have, and the whole magic that would confirm it.
fn guess(start: &[u8]) -> Option<(&'static Compression, &'static [u8])> {
    let agree = |magic, byte| match magic {
        b'?' => true,
        b'_' => byte & 0xf0 == 0x50,
        _ => magic == byte,
    };
    let agrees = |magic: &[u8]| magic.iter().zip(start).all(|(m, b)| agree(*m, *b));
    let magic = |it: &'static Compression| Some((it, *it.magics.iter().find(|it| agrees(it))?));
    COMPRESSIONS.iter().find_map(magic)
}

/// Reads only the bytes needed to recognize the format, so that a short first line in a pipe is not delayed.
fn recognize(raw: &mut RawBytes) -> io::Result<(Option<&'static Compression>, Vec<u8>)> {
    let mut start = vec![0; PIECE];
    let mut filled = 0;
    loop {
        let read = raw.read(&mut start[filled..])?;
        filled += read;
        let guessed = guess(&start[..filled]);
        let certain = guessed.filter(|(_, magic)| filled >= magic.len());
        if read == 0 || certain.is_some() || guessed.is_none() {
            start.truncate(filled);
            return Ok((certain.map(|(compression, _)| compression), start));
        }
    }
}

/// The name of a file's compression format by its present first bytes, if it is compressed.
pub(crate) fn compression_of(path: &Path) -> io::Result<Option<&'static str>> {
    let mut start = Vec::new();
    File::open(path)?.take(LONGEST_MAGIC).read_to_end(&mut start)?;
    let certain = guess(&start).filter(|(_, magic)| start.len() >= magic.len());
    Ok(certain.map(|(compression, _)| compression.name))
}

/// The last bytes, at most this number, of a file, or of the records in a gzip or zstd file. Returns an error if bytes
/// that are not compressed data follow, even zeros: decompressors stop there, or skip what comes after.
pub(crate) fn last_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let (mut last, mut file) = (Tail { most, bytes: Vec::new() }, File::open(path)?);
    let compression = compression_of(path)?;
    if compression.is_none() {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most as u64)))?;
    }
    let mut rest = BufReader::with_capacity(PIECE, file);
    match compression {
        Some("gzip") => {}
        None => return io::copy(&mut rest, &mut last).map(|_| last.bytes),
        Some(_) => return io::copy(&mut zstd_decoder(rest)?, &mut last).map(|_| last.bytes),
    }
    while !rest.fill_buf()?.is_empty() {
        if rest.buffer()[0] != GZIP {
            let reason = "other bytes follow the end of its gzip data";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let mut member = GzDecoder::new(rest);
        io::copy(&mut member, &mut last)?;
        rest = member.into_inner();
    }
    Ok(last.bytes)
}

/// Keeps the last bytes that are written.
struct Tail {
    most: usize,
    bytes: Vec<u8>,
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(self.most)..]);
        self.bytes.drain(..self.bytes.len().saturating_sub(self.most));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of an input's format, if it is compressed, and its decompressed bytes.
fn decoded(
    mut raw: RawBytes,
    coding: Coding,
) -> io::Result<(Option<&'static str>, Box<dyn Read + Send>)> {
    let (compression, start) = match coding {
        Coding::Recognized => recognize(&mut raw)?,
        Coding::Raw => (None, Vec::new()),
    };
    refuse_others(&start)?;
    let all = Cursor::new(start).chain(raw);
    let Some(Compression { name, decoded, .. }) = compression else {
        return Ok((None, Box::new(all)));
    };
    let decoder = decoded(BufReader::with_capacity(PIECE, all))?;
    // Its buffer holds the output of the decoder's last step.
    Ok((Some(name), Box::new(BufReader::with_capacity(STEP, decoder))))
}

/// The error if other bytes follow the end of gzip data, all of which was read.
const OTHER_BYTES: &str = "other bytes follow the end of the data";

/// Whether reading gzip data failed only because other bytes follow its end.
pub(super) fn ends_before_others(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.to_string() == OTHER_BYTES)
}

/// The decoders of a file's parts, one after the other: the members of a gzip file, or the frames of an lz4 file.
struct Members<D> {
    /// None at the end.
    member: Option<D>,
    /// The decoder of the next part, if there is one.
    next: fn(D) -> io::Result<Option<D>>,
}

fn members<D: Read + Send + 'static>(
    first: D,
    next: fn(D) -> io::Result<Option<D>>,
) -> Box<dyn Read + Send> {
    Box::new(Members { member: Some(first), next })
}

impl<D: Read> Read for Members<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.member = self.member.take().map_or(Ok(None), self.next)?;
        }
        Ok(0)
    }
}

/// The bytes of an lz4 frame. Their end is an error: the decoder would take the end of a block for that of the frame.
struct FrameBytes<R>(R);

impl<R: Read> Read for FrameBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::Error::other("the file is cut off")),
            read => Ok(read),
        }
    }
}

/// Each lz4 frame gets a new decoder: a decoder panics on a later frame with a different block size.
fn next_frame<R: BufRead>(
    frame: FrameDecoder<FrameBytes<R>>,
) -> io::Result<Option<FrameDecoder<FrameBytes<R>>>> {
    let FrameBytes(mut rest) = frame.into_inner();
    let has_next = !rest.fill_buf()?.is_empty();
    Ok(has_next.then(|| FrameDecoder::new(FrameBytes(rest))))
}

/// Skips zeros after a gzip member, as on tapes and in blocks of fixed size; `gzip` skips them too. Other bytes that
/// follow are an error once.
fn next_member<R: BufRead>(member: GzDecoder<R>) -> io::Result<Option<GzDecoder<R>>> {
    let mut rest = member.into_inner();
    skip_zeros(&mut rest)?;
    match rest.fill_buf()?.first() {
        None => Ok(None),
        Some(&GZIP) => Ok(Some(GzDecoder::new(rest))),
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, OTHER_BYTES)),
    }
}

fn skip_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeros == 0 {
            return Ok(());
        }
        input.consume(zeros);
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

    #[test]
    fn first_bytes() {
        let certain = |start: &[u8], name| {
            let guessed = guess(start).map_or("", |(compression, magic)| {
                assert!(magic.len() <= start.len(), "{start:?}");
                compression.name
            });
            assert_eq!(guessed, name, "{start:?}");
        };
        certain(b"\x1f\x8b\x08\0", "gzip");
        certain(b"\x28\xb5\x2f\xfd", "zstd");
        certain(b"\x50\x2a\x4d\x18", "zstd");
        certain(b"\x5f\x2a\x4d\x18", "zstd");
        certain(b"P*M?", "");
        certain(b"\xfd7zXZ\0", "xz");
        certain(b"BZh91AY&SY", "bzip2");
        certain(b"BZh9\x17\x72\x45\x38\x50\x90", "bzip2");
        certain(b"BZh9 is a bird", "");
        certain(b"a", "");
        certain(b"(a)", "");
        certain(b"\x04\x22\x4d\x18", "lz4");
        for start in [b"".as_slice(), b"(", b"BZh", b"\x1f\x8b", b"\xfd7zXZ"] {
            assert!(guess(start).is_some_and(|(_, magic)| magic.len() > start.len()), "{start:?}");
        }
    }

    /// A decoder that panics on what a file may hold would end the program. Frames of several sizes of blocks, whole
    /// and damaged, one after the other.
    #[test]
    fn damaged_lz4_frames_are_errors() {
        use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
        use std::io::Write;
        let text: Vec<u8> = (0..60_000_u32).flat_map(|n| (n * n % 9_973).to_le_bytes()).collect();
        let frame = |size, mode| {
            let info = FrameInfo::new().block_size(size).block_mode(mode).content_checksum(true);
            let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(&text).unwrap();
            encoder.finish().unwrap()
        };
        let frames = [
            frame(BlockSize::Max64KB, BlockMode::Linked),
            frame(BlockSize::Max4MB, BlockMode::Independent),
            frame(BlockSize::Max256KB, BlockMode::Linked),
        ]
        .concat();
        let decode = |bytes: &[u8]| {
            let mut found = Vec::new();
            let mut frames =
                Members { member: Some(FrameDecoder::new(FrameBytes(bytes))), next: next_frame };
            frames.read_to_end(&mut found).map(|_| found)
        };
        assert!(decode(&frames).unwrap() == text.repeat(3));
        let mut random = coua_dev::random::Random::new(7);
        for _ in 0..coua_dev::cases::few_usual_or_all([200, 2_000, 2_000]) {
            let mut damaged = frames.clone();
            for _ in 0..=random.below(4) {
                // Every other time in a header.
                let most = if random.once_in(2) { 24 } else { damaged.len() as u64 };
                let at = random.below(most) as usize;
                damaged[at] = random.next() as u8;
            }
            damaged.truncate(damaged.len() - random.below(100) as usize);
            // Either way it comes back.
            decode(&damaged).ok();
        }
    }
}
