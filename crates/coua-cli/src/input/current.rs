//! The input that is being read.

use crate::input::ahead::UnpackedFile;
use crate::input::decompress::ends_before_others;
use crate::input::opened::Opened;
use crate::input::{Coding, Source};
use crate::record::Places;
use crate::runs::Checksum;
use crate::terminal::{CancelToken, Failure, Result, Verbosity};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shared state for reading all inputs.
pub(super) struct Means {
    pub(super) coding: Coding,
    pub(super) stop: Arc<CancelToken>,
    /// Raw bytes read of all inputs.
    pub(super) consumed: Arc<AtomicU64>,
    /// Whether to warn of bytes that are ignored.
    pub(super) verbosity: Verbosity,
}

/// The input being read.
pub(super) struct Current {
    pub(super) name: Arc<str>,
    /// Its number, from 0.
    pub(super) number: usize,
    /// Raw bytes read before its first.
    pub(super) consumed_before: u64,
    bytes: InputBytes,
    /// Raw bytes of it that were added to `consumed`.
    counted: u64,
    pub(super) records: u64,
    pub(super) columns: Option<Arc<Places>>,
    /// The content of its header, if it has one.
    pub(super) header: Option<Arc<[u8]>>,
    /// Its first record, header or not, has been read.
    pub(super) is_begun: bool,
}

/// The source of an input's bytes.
enum InputBytes {
    Opened(Box<Opened>),
    Unpacked(Box<UnpackedFile>),
}

impl Current {
    /// Opens the input with this number, unless it is `unpacked` already. None if the program must stop before its first
    /// bytes arrive.
    pub(super) fn open(
        source: &Source,
        number: usize,
        unpacked: Option<UnpackedFile>,
        means: &Means,
    ) -> Result<Option<Self>> {
        let bytes = match unpacked {
            Some(file) => InputBytes::Unpacked(Box::new(file)),
            None => match Opened::new(source, 0, means.coding, &means.stop) {
                Ok(opened) => InputBytes::Opened(Box::new(opened)),
                Err(_) if means.stop.is_cancelled() => return Ok(None),
                Err(error) => return Err(Failure::io(source.name(), &error)),
            },
        };
        let mut current = Self {
            name: source.name().into(),
            number,
            consumed_before: means.consumed.load(Ordering::Relaxed),
            bytes,
            counted: 0,
            records: 0,
            columns: None,
            header: None,
            is_begun: false,
        };
        current.count(means);
        Ok(Some(current))
    }

    /// The checksum of the raw bytes so far.
    pub(super) fn sum(&self) -> Checksum {
        match &self.bytes {
            InputBytes::Opened(opened) => opened.sum(),
            InputBytes::Unpacked(file) => file.chunk.sum,
        }
    }

    /// Whether bytes or the end of the input arrive within this time.
    pub(super) fn comes_within(&self, time: Duration, stop: &CancelToken) -> bool {
        let InputBytes::Opened(opened) = &self.bytes else { return true };
        opened.waiting.as_ref().is_none_or(|file| stop.comes_within(file, time))
    }

    /// Reads some bytes; none at the end. The failure is none if the program must stop.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        means: &Means,
    ) -> Result<usize, Option<Failure>> {
        let read = match &mut self.bytes {
            InputBytes::Opened(opened) => opened.read(buffer),
            InputBytes::Unpacked(file) => file.read(buffer),
        };
        self.count(means);
        match read {
            Err(error) if ends_before_others(&error) => {
                let what = "other bytes follow the end of the gzip data, and are ignored";
                means.verbosity.say(format_args!("{}: {what}", self.name));
                Ok(0)
            }
            Err(_) if means.stop.is_cancelled() => Err(None),
            read => read.map_err(|error| Some(Failure::io(&self.name, &error))),
        }
    }

    /// Counts the raw bytes that were read.
    fn count(&mut self, means: &Means) {
        let offset = match &self.bytes {
            InputBytes::Opened(opened) => opened.offset(),
            InputBytes::Unpacked(file) => file.chunk.offset,
        };
        means.consumed.fetch_add(offset - self.counted, Ordering::Relaxed);
        self.counted = offset;
    }
}
