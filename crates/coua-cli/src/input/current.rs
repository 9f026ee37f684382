//! The input that is being read.

use crate::input::decompress::{self, Decoded};
use crate::input::decompress::{Digest, Tap};
use crate::input::{Coding, Source};
use crate::terminal::message::reason;
use crate::terminal::{CancelToken, Failure, Result};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The input being read.
pub(super) struct Current {
    pub(super) name: Arc<str>,
    /// From 0.
    pub(super) number: usize,
    /// Raw bytes read before its first.
    pub(super) consumed_before: u64,
    decoded: Decoded,
    /// The file, if reading from it may wait.
    waiting: Option<Arc<File>>,
    pub(super) records: u64,
    pub(super) columns: Option<Arc<[usize]>>,
    /// The content of its header, if it has one.
    pub(super) header: Option<Arc<[u8]>>,
    /// Its first record was seen, be it a header or not.
    pub(super) is_begun: bool,
}

impl Current {
    /// Opens the input of this number. None if the program is to stop before its first bytes have come.
    pub(super) fn open(
        source: &Source,
        number: usize,
        coding: Coding,
        stop: &Arc<CancelToken>,
        consumed: Arc<AtomicU64>,
    ) -> Result<Option<Self>> {
        let name = source.name();
        let failed = |error: io::Error| Failure::io(&name, &error);
        let file = source.open().map_err(failed)?;
        let consumed_before = consumed.load(Ordering::Relaxed);
        let tap = Tap::new(file, Arc::clone(stop), consumed).map_err(failed)?;
        let waiting = tap.waiting();
        let decoded = decompress::decoded(tap, coding);
        let mut decoded = match decoded {
            Ok(decoded) => decoded,
            Err(_) if stop.is_cancelled() => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if let Source::Start(_, bytes) = source {
            decoded.reader = Box::new(decoded.reader.take(*bytes));
        }
        Ok(Some(Self {
            name: name.into(),
            number,
            consumed_before,
            decoded,
            waiting,
            records: 0,
            columns: None,
            header: None,
            is_begun: false,
        }))
    }

    /// The checksum of all compressed bytes so far; 0 if the input is not compressed.
    pub(super) fn digest(&self) -> u64 {
        self.decoded.digest.as_ref().map_or(0, Digest::value)
    }

    pub(super) fn would_wait(&self, stop: &CancelToken) -> bool {
        self.waiting.as_ref().is_some_and(|file| stop.would_wait(file))
    }

    /// Whether there is something to read, or the input ends, before the time is over.
    pub(super) fn comes_within(&self, time: Duration, stop: &CancelToken) -> bool {
        self.waiting.as_ref().is_none_or(|file| stop.comes_within(file, time))
    }

    /// Reads some bytes; none at the end. The failure is none if the program is to stop.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        stop: &CancelToken,
    ) -> Result<usize, Option<Failure>> {
        self.decoded.reader.read(buffer).map_err(|error| {
            let is_stopped = stop.is_cancelled();
            (!is_stopped).then(|| self.unreadable(&error))
        })
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        match self.decoded.compression {
            // The decoders' errors carry no number of the operating system.
            Some(kind) if error.raw_os_error().is_none() => {
                let reason = reason(error);
                let is_whole = reason.contains("memory");
                let what = if is_whole { "no memory to decompress" } else { "broken" };
                Failure::at(&self.name, format_args!("{what} {kind} data: {reason}"))
            }
            _ => Failure::io(&self.name, error),
        }
    }
}
