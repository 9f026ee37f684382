//! Outputs that are compressed: in frames, each of which stands by itself. Any decompressor reads the frames one after
//! the other, several threads write them, and a file may end after each, so `--resume` and `--append` work as with plain
//! outputs.

use crate::platform::descriptor;
use crate::terminal::{Failure, Result};
use flate2::Compression as GzipLevel;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use zstd::bulk::Compressor as ZstdCompressor;

/// Bytes in a frame, unless it ends early.
pub(super) const FRAME: usize = 1 << 20;

/// The compression of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum OutputCompression {
    None,
    Gzip(u32),
    Zstd(i32),
}

impl OutputCompression {
    /// The compression for the name of a file.
    pub(super) fn of(path: &Path) -> Self {
        extension(path).map_or(Self::None, |it| Self::of_ending(&it))
    }

    /// The compression for a file extension.
    fn of_ending(ending: &str) -> Self {
        match ending {
            "gz" => Self::Gzip(6),
            "zst" | "zstd" => Self::Zstd(zstd::DEFAULT_COMPRESSION_LEVEL),
            _ => Self::None,
        }
    }

    /// Returns an error if the name of a file promises a compression that is not written.
    pub(super) fn check_name(path: &Path) -> Result<()> {
        let Some(ending) = extension(path).filter(|it| UNWRITTEN.contains(&&**it)) else {
            return Ok(());
        };
        let reason = format!(
            "ends in .{ending}, but coua does not write this format; choose a name that ends in .zst or .gz, or in \
             no compression"
        );
        Err(Failure::at(path.display(), reason))
    }

    /// The compression of an input in this format, if outputs can have it.
    pub(super) fn of_format(name: Option<&str>) -> Option<Self> {
        match name {
            None => Some(Self::None),
            Some("gzip") => Some(Self::of_ending("gz")),
            Some("zstd") => Some(Self::of_ending("zst")),
            Some(_) => None,
        }
    }

    /// The extension of such a file.
    pub(super) fn ending(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip(_) => Some("gz"),
            Self::Zstd(_) => Some("zst"),
        }
    }

    /// The bytes as a frame.
    fn compress(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes.to_vec()),
            Self::Gzip(level) => {
                let mut encoder = GzEncoder::new(Vec::new(), GzipLevel::new(level));
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Zstd(level) => {
                let mut compressor = ZstdCompressor::new(level)?;
                compressor.include_checksum(true)?;
                compressor.compress(bytes)
            }
        }
    }
}

impl FromStr for OutputCompression {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, level) =
            text.split_once(':').map_or((text, None), |(name, it)| (name, Some(it)));
        let number = level.map(str::parse::<i32>).transpose().ok();
        let compression = match (name, number) {
            ("none", _) if level.is_none() => Some(Self::None),
            ("gz", Some(level @ (None | Some(0..=9)))) => {
                Some(Self::Gzip(level.unwrap_or(6) as u32))
            }
            ("zst", Some(level @ (None | Some(1..=22)))) => {
                Some(Self::Zstd(level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL)))
            }
            _ => None,
        };
        compression.ok_or("is none of zst, zst:1 to zst:22, gz, gz:0 to gz:9, and none")
    }
}

/// The extensions of compressed files that are not written.
const UNWRITTEN: [&str; 21] = [
    "7z", "bgz", "br", "bz", "bz2", "gzip", "lz", "lz4", "lzma", "lzo", "rar", "snappy", "sz",
    "tbz2", "tgz", "txz", "tzst", "xz", "z", "zip", "zz",
];

/// The extension of a file's name, in lower case.
fn extension(path: &Path) -> Option<String> {
    let extension = path.extension().filter(|_| descriptor(path).is_none())?;
    extension.to_str().map(str::to_ascii_lowercase)
}

/// The result of compressing one frame.
type CompressedFrame = io::Result<Vec<u8>>;

/// Compresses frames, in several threads if there are several.
#[derive(Debug)]
pub(super) struct Compressor {
    compression: OutputCompression,
    /// Sends frames to the threads; none if this thread compresses.
    frames: Option<Sender<(Vec<u8>, Sender<CompressedFrame>)>>,
    /// Frames that are being compressed, in their order.
    pending: VecDeque<Receiver<CompressedFrame>>,
    /// The most pending frames.
    most: usize,
}

/// The compressed frames to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    /// Those beyond the most pending frames.
    OverLimit,
    All,
}

impl Compressor {
    /// None if the output is not compressed.
    pub(super) fn new(
        compression: OutputCompression,
        threads: NonZeroUsize,
    ) -> Result<Option<Self>> {
        if compression == OutputCompression::None {
            return Ok(None);
        }
        let threads = threads.get();
        let frames = if threads == 1 { None } else { Some(start(compression, threads)?) };
        Ok(Some(Self { compression, frames, pending: VecDeque::new(), most: 2 * threads }))
    }

    pub(super) fn compression(&self) -> OutputCompression {
        self.compression
    }

    /// Compresses a frame, or sends it to the threads.
    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        let (frame, pending) = mpsc::channel();
        self.pending.push_back(pending);
        let unsent = match &self.frames {
            // If the threads have ended, this one compresses.
            Some(frames) => frames.send((bytes, frame)).map_err(|unsent| unsent.0).err(),
            None => Some((bytes, frame)),
        };
        if let Some((bytes, frame)) = unsent {
            // Cannot fail: `pending` has the receiver.
            frame.send(self.compression.compress(&bytes)).ok();
        }
    }

    /// The next compressed frame, if it is ready or due.
    pub(super) fn next(&mut self, due: Drain) -> Option<CompressedFrame> {
        let front = self.pending.front()?;
        let gone = || Err(io::Error::other("a thread that compresses has ended"));
        let frame = if due == Drain::All || self.pending.len() > self.most {
            front.recv().unwrap_or_else(|_| gone())
        } else {
            match front.try_recv() {
                Ok(frame) => frame,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => gone(),
            }
        };
        self.pending.pop_front();
        Some(frame)
    }
}

/// Starts threads that compress frames until the sender is dropped.
fn start(
    compression: OutputCompression,
    threads: usize,
) -> Result<Sender<(Vec<u8>, Sender<CompressedFrame>)>> {
    let (frames, receiver) = mpsc::channel::<(Vec<u8>, Sender<CompressedFrame>)>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..threads {
        let receiver = receiver.clone();
        let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let work = move || {
            while let Ok((bytes, frame)) = next() {
                // The output may have failed meanwhile.
                frame.send(compression.compress(&bytes)).ok();
            }
        };
        let started = thread::Builder::new().name("compressor".to_owned()).spawn(work);
        started.map_err(|error| Failure::io("threads", &error))?;
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn words() {
        for (text, compression) in [
            ("zst", OutputCompression::Zstd(3)),
            ("zst:19", OutputCompression::Zstd(19)),
            ("gz:0", OutputCompression::Gzip(0)),
            ("none", OutputCompression::None),
        ] {
            assert_eq!(text.parse(), Ok(compression));
        }
        for wrong in ["", "zstd", "zst:", "zst:0", "zst:23", "gz:10", "gz:-1", "none:1", "xz"] {
            assert!(wrong.parse::<OutputCompression>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn frames_come_in_their_order_from_any_number_of_threads() {
        for threads in [1, 3] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut compressor =
                Compressor::new(OutputCompression::Zstd(3), threads).unwrap().unwrap();
            let (mut file, mut text) = (Vec::new(), Vec::new());
            for number in 0..50_usize {
                let bytes = vec![number as u8; 1000 * (50 - number)];
                text.extend_from_slice(&bytes);
                compressor.push(bytes);
                while let Some(frame) = compressor.next(Drain::OverLimit) {
                    file.extend(frame.unwrap());
                }
                assert!(compressor.pending.len() <= compressor.most);
            }
            while let Some(frame) = compressor.next(Drain::All) {
                file.extend(frame.unwrap());
            }
            let mut found = Vec::new();
            zstd::Decoder::new(&*file).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == text);
        }
    }
}
