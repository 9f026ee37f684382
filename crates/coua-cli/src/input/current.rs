//! The input that is being read.

use crate::input::ahead::Ahead;
use crate::input::decompress::{DecoderLimit, ends_before_others};
use crate::input::lane::{Next, Weighed};
use crate::input::opened::{Chunk, Opened, ReadFrom};
use crate::input::{Coding, Source};
use crate::record::Places;
use crate::runs::Checksum;
use crate::terminal::message::reason;
use crate::terminal::{CancelToken, Failure, Result, Verbosity};
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shared state for reading all inputs.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) coding: Coding,
    pub(super) stop: Arc<CancelToken>,
    /// Raw bytes read of all inputs.
    pub(super) consumed: Arc<AtomicU64>,
    /// Inputs that are unpacked before their turn, if any.
    pub(super) ahead: Option<Arc<Ahead>>,
    /// Whether to warn of bytes that are ignored.
    pub(super) verbosity: Verbosity,
}

/// The input being read.
pub(super) struct Current {
    source: Source,
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
    /// Unpacked before its turn; the bytes before this place were read.
    Ahead(Weighed<Chunk>, usize),
    End(Checksum),
}

impl Current {
    /// Opens the input with this number. None if the program must stop before its first bytes arrive.
    pub(super) fn open(source: &Source, number: usize, means: &Means) -> Result<Option<Self>> {
        let is_ahead = means.ahead.as_ref().is_some_and(|ahead| ahead.claim(number, source));
        let mut current = Self {
            source: source.clone(),
            name: source.name().into(),
            number,
            consumed_before: means.consumed.load(Ordering::Relaxed),
            bytes: InputBytes::Ahead(Weighed::default(), 0),
            counted: 0,
            records: 0,
            columns: None,
            header: None,
            is_begun: false,
        };
        let opened = if is_ahead {
            current.advance(means)
        } else {
            current.reopen(ReadFrom::default(), means)
        };
        match opened {
            Ok(()) => Ok(Some(current)),
            Err(_) if means.stop.is_cancelled() => Ok(None),
            Err(error) => Err(Failure::io(&current.name, &error)),
        }
    }

    /// The checksum of the raw bytes so far.
    pub(super) fn sum(&self) -> Checksum {
        match &self.bytes {
            InputBytes::Opened(opened) => opened.sum(),
            InputBytes::Ahead(chunk, _) => chunk.it.sum,
            InputBytes::End(sum) => *sum,
        }
    }

    pub(super) fn would_wait(&self, stop: &CancelToken) -> bool {
        match &self.bytes {
            InputBytes::Opened(opened) => {
                opened.waiting.as_ref().is_some_and(|file| stop.would_wait(file))
            }
            _ => false,
        }
    }

    /// Whether bytes or the end of the input arrive within this time.
    pub(super) fn comes_within(&self, time: Duration, stop: &CancelToken) -> bool {
        match &self.bytes {
            InputBytes::Opened(opened) => {
                opened.waiting.as_ref().is_none_or(|file| stop.comes_within(file, time))
            }
            _ => true,
        }
    }

    /// Reads some bytes; none at the end. The failure is none if the program must stop.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        means: &Means,
    ) -> Result<usize, Option<Failure>> {
        loop {
            let read = match &mut self.bytes {
                InputBytes::Opened(opened) => opened.read(buffer),
                InputBytes::Ahead(chunk, at) => {
                    let rest = &chunk.it.bytes[*at..];
                    let read = buffer.len().min(rest.len());
                    buffer[..read].copy_from_slice(&rest[..read]);
                    *at += read;
                    Ok(read)
                }
                InputBytes::End(_) => Ok(0),
            };
            self.count(means);
            let changed = match (read, &self.bytes) {
                (Ok(0), InputBytes::Ahead(..)) => self.advance(means),
                (Err(_), InputBytes::Opened(opened)) if opened.is_limited => {
                    self.reopen(opened.read_from(), means)
                }
                (Ok(read), _) => return Ok(read),
                (Err(error), _) if ends_before_others(&error) => {
                    let what = "other bytes follow the end of the gzip data, and are ignored";
                    means.verbosity.say(format_args!("{}: {what}", self.name));
                    return Ok(0);
                }
                (Err(error), _) => Err(error),
            };
            changed.map_err(|error| {
                let is_stopped = means.stop.is_cancelled();
                (!is_stopped).then(|| self.unreadable(&error))
            })?;
        }
    }

    /// Continues with the next part that was unpacked before.
    fn advance(&mut self, means: &Means) -> io::Result<()> {
        let sum = self.sum();
        let next = means.ahead.as_ref().map_or(Next::End, |ahead| ahead.next(self.number));
        self.bytes = match next {
            Next::Chunk(chunk) => InputBytes::Ahead(chunk, 0),
            Next::Opened(opened) => InputBytes::Opened(opened),
            Next::Unread(from) => return self.reopen(from, means),
            Next::End => InputBytes::End(sum),
            Next::Stopped => return Err(io::Error::other("stopped")),
        };
        self.count(means);
        Ok(())
    }

    /// Continues to read from there, without unpacking ahead.
    fn reopen(&mut self, from: ReadFrom, means: &Means) -> io::Result<()> {
        let Means { coding, stop, .. } = means;
        let opened = Opened::new(&self.source, from, *coding, DecoderLimit::NONE, stop)?;
        self.bytes = InputBytes::Opened(Box::new(opened));
        self.count(means);
        Ok(())
    }

    /// Counts the raw bytes that were read.
    fn count(&mut self, means: &Means) {
        let offset = match &self.bytes {
            InputBytes::Opened(opened) => opened.offset(),
            InputBytes::Ahead(chunk, _) => chunk.it.offset,
            InputBytes::End(_) => return,
        };
        let news = offset.saturating_sub(self.counted);
        self.counted += news;
        means.consumed.fetch_add(news, Ordering::Relaxed);
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        let compression = match &self.bytes {
            InputBytes::Opened(opened) => opened.compression(),
            _ => None,
        };
        match compression {
            // The decoders' errors have no OS error number.
            Some(kind)
                if error.raw_os_error().is_none() && error.kind() != ErrorKind::Unsupported =>
            {
                let reason = reason(error);
                let is_whole = reason.contains("memory");
                let what = if is_whole { "no memory to decompress" } else { "broken" };
                Failure::at(&self.name, format_args!("{what} {kind} data: {reason}"))
            }
            _ => Failure::io(&self.name, error),
        }
    }
}
