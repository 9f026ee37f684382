//! Compressed files are unpacked ahead of their turn, one after the other, by one thread.

use crate::input::opened::{Chunk, Opened};
use crate::input::{Coding, FileState, Source};
use crate::terminal::CancelToken;
use std::io::{self, Read};
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{thread, vec};

/// The chunks of a file that may wait for their turn: 8 MiB.
const MOST_CHUNKS: usize = 128;

/// The files that are unpacked ahead, in the order of the inputs.
pub(super) struct Ahead {
    /// The numbers of their inputs.
    numbers: Peekable<vec::IntoIter<usize>>,
    files: Receiver<UnpackedFile>,
}

/// A file that is being unpacked.
pub(super) struct UnpackedFile {
    /// The state of the file before it was opened; none if it cannot be opened ahead.
    state: Option<FileState>,
    /// The chunks; the last one is empty, or an error.
    chunks: Receiver<io::Result<Chunk>>,
    /// The last chunk received. Its bytes before `read` have been read.
    pub(super) chunk: Chunk,
    read: usize,
}

impl Ahead {
    /// None if there is nothing to unpack, or no thread for it.
    pub(super) fn new(sources: &[Source], coding: Coding, stop: Arc<CancelToken>) -> Option<Self> {
        let compressed = sources.iter().enumerate().filter(|(_, source)| source.is_compressed());
        let (numbers, sources): (Vec<_>, Vec<_>) =
            compressed.map(|(number, source)| (number, source.clone())).unzip();
        if sources.is_empty() {
            return None;
        }
        // One file waits while the one before it is read.
        let (sender, files) = sync_channel(1);
        let unpack_all = move || {
            sources.iter().try_for_each(|source| unpack(source, coding, &stop, &sender));
        };
        thread::Builder::new().name("unpacker".to_owned()).spawn(unpack_all).ok()?;
        Some(Self { numbers: numbers.into_iter().peekable(), files })
    }

    /// The content of the input with this number, whose turn it is. None if it is not unpacked ahead, or was changed or
    /// replaced since it was opened.
    pub(super) fn file(&mut self, number: usize, source: &Source) -> Option<UnpackedFile> {
        self.numbers.next_if_eq(&number)?;
        let file = self.files.recv().ok()?;
        let state = if source.is_regular_file() { source.state().ok() } else { None };
        (state.is_some() && state == file.state).then_some(file)
    }
}

/// Unpacks a file. None if no file is wanted any more.
fn unpack(
    source: &Source,
    coding: Coding,
    stop: &Arc<CancelToken>,
    files: &SyncSender<UnpackedFile>,
) -> Option<()> {
    // What can be read only once is not opened before its turn.
    let state = if source.is_regular_file() { source.state().ok() } else { None };
    let is_opened = state.is_some();
    let (sender, chunks) = sync_channel(MOST_CHUNKS);
    files.send(UnpackedFile { state, chunks, chunk: Chunk::default(), read: 0 }).ok()?;
    if !is_opened {
        return Some(());
    }
    let unpacked = Opened::new(source, 0, coding, stop).and_then(|mut opened| {
        loop {
            let chunk = opened.next_chunk()?;
            let is_end = chunk.bytes.is_empty();
            if sender.send(Ok(chunk)).is_err() || is_end {
                return Ok(());
            }
        }
    });
    if let Err(error) = unpacked {
        // Without a receiver the file is not wanted.
        sender.send(Err(error)).ok();
    }
    Some(())
}

impl Read for UnpackedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.chunk.bytes.len() {
            let ended = |_| io::Error::other("the thread that unpacks it has ended");
            self.chunk = self.chunks.recv().map_err(ended)??;
            self.read = 0;
        }
        let rest = &self.chunk.bytes[self.read..];
        let read = buffer.len().min(rest.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.read += read;
        Ok(read)
    }
}
