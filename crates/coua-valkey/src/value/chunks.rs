//! A filter of this module in chunks: SCANDUMP, LOADCHUNK, and the append-only file.
//!
//! The chunks of a filter's image follow each other without gaps. The position that comes with a
//! chunk is its end, plus one so that it is never 0, and above that some bits of the number of changes
//! that the filter has seen: so a dump notices that the filter changed under it. Positions stay below
//! 2^53, which every client can hold.

use std::io::{self, Read, Write};
use std::marker::PhantomData;

use super::filter::{FRONT, OwnFilter, PART};
use crate::pieces::Pieces;
use crate::refusal::{LoadRefusal, Refusal};

/// Bytes of a chunk. Servers may be set to end connections with commands or answers above 1 MiB.
pub(super) const CHUNK: usize = 512 << 10;
/// Of less than this the next chunk becomes a part.
const SMALL: usize = 64 << 10;
/// Bits of a position that tell where: up to 1 TiB.
const END_BITS: u32 = 40;
/// Bits of a position that tell after how many changes.
const CHANGE_BITS: u32 = 12;

/// A position in a dump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    end: u64,
    changes: u64,
}

impl Position {
    /// Of the number that a client sends: where the chunk before ended.
    pub(super) fn decode(number: i64) -> Option<Self> {
        let number =
            u64::try_from(number).ok().filter(|number| number >> (END_BITS + CHANGE_BITS) == 0)?;
        let end = (number & ((1 << END_BITS) - 1)).checked_sub(1)?;
        Some(Self { end, changes: number >> END_BITS })
    }

    fn encode(end: u64, changes: u64) -> i64 {
        let changes = changes & ((1 << CHANGE_BITS) - 1);
        ((changes << END_BITS) | (end + 1)).cast_signed()
    }
}

/// The chunk behind a position, `None` for the first one; and its own position. Nothing at the end.
pub(super) fn chunk_behind<F: OwnFilter>(
    own: &F,
    position: Option<Position>,
) -> Result<Option<(i64, Vec<u8>)>, Refusal> {
    let mut start = 0;
    if let Some(position) = position {
        if Position::decode(Position::encode(position.end, own.changes())) != Some(position) {
            return Err(Refusal::ChangedSince);
        }
        start = position.end;
    }
    let mut window = Window::of(own)?;
    match own.write_from(start, &mut window).map_err(|error| error.kind()) {
        // It ends what it has no room for.
        Ok(()) | Err(io::ErrorKind::WriteZero) => {}
        Err(io::ErrorKind::InvalidInput) => return Err(Refusal::Position),
        Err(_) => return Err(Refusal::Defect),
    }
    let end = start + window.bytes.len() as u64;
    let chunk = (Position::encode(end, own.changes()), window.bytes);
    Ok(if chunk.1.is_empty() { None } else { Some(chunk) })
}

/// Writes a filter as chunks of an append-only file.
pub(super) fn for_each<F: OwnFilter>(own: &F, mut each: impl FnMut(i64, &[u8])) -> io::Result<()> {
    let mut end = 0;
    let mut chunks = Pieces::new(CHUNK, |chunk: &[u8]| {
        end += chunk.len() as u64;
        each(Position::encode(end, 0), chunk);
    });
    own.write(&mut chunks)?;
    chunks.finish();
    Ok(())
}

/// Keeps a chunk's worth of a stream, and stops it then.
struct Window {
    bytes: Vec<u8>,
    room: usize,
}

impl Window {
    /// With room for a chunk, or for all of a small filter.
    fn of<F: OwnFilter>(own: &F) -> Result<Self, Refusal> {
        let front = FRONT + PART * own.pieces() as u64;
        let room = own.memory_bytes().saturating_add(front).min(CHUNK as u64) as usize;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|_| Refusal::NoMemory)?;
        Ok(Self { bytes, room })
    }
}

impl Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        // 0, which ends the stream, once the chunk is full.
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A filter of which not all chunks have arrived.
pub(crate) struct Incomplete<F> {
    /// One after the other. What has arrived is not moved when more does: it may be gigabytes.
    chunks: Vec<Vec<u8>>,
    filter: PhantomData<F>,
}

impl<F> Default for Incomplete<F> {
    fn default() -> Self {
        Self { chunks: Vec::new(), filter: PhantomData }
    }
}

impl<F> Incomplete<F> {
    /// Reads what has arrived, to the end of the input.
    pub(super) fn read(input: &mut dyn Read) -> io::Result<Self> {
        let mut incomplete = Self::default();
        loop {
            let mut chunk = Vec::new();
            if Read::take(&mut *input, CHUNK as u64).read_to_end(&mut chunk)? == 0 {
                return Ok(incomplete);
            }
            incomplete.chunks.push(chunk);
        }
    }

    /// Writes what has arrived.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.chunks.iter().try_for_each(|chunk| out.write_all(chunk))
    }

    /// What has arrived, as chunks.
    pub(super) fn for_each(&self, mut each: impl FnMut(i64, &[u8])) {
        let mut end = 0;
        for chunk in self.chunks.iter().flat_map(|chunk| chunk.chunks(CHUNK)) {
            end += chunk.len() as u64;
            each(Position::encode(end, 0), chunk);
        }
    }

    /// A copy, if there is memory for it.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut copy = Self::default();
        self.chunks.iter().try_for_each(|chunk| copy.append(chunk)).ok()?;
        Some(copy)
    }

    /// How many bytes have arrived.
    pub(super) fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Appends bytes: to the last chunk while that is small, so that the first one tells all of the
    /// filter's head, and there are not many.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let no_memory = |_| Refusal::NoMemory;
        if self.chunks.last().is_none_or(|last| last.len() >= SMALL) {
            self.chunks.try_reserve(1).map_err(no_memory)?;
            self.chunks.push(Vec::new());
        }
        if let Some(last) = self.chunks.last_mut() {
            last.try_reserve_exact(bytes.len()).map_err(no_memory)?;
            last.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Takes away all behind as many bytes.
    fn truncate(&mut self, length: u64) {
        let mut left = length as usize;
        for chunk in &mut self.chunks {
            chunk.truncate(left);
            left -= chunk.len();
        }
        self.chunks.retain(|chunk| !chunk.is_empty());
    }
}

impl<F: OwnFilter> Incomplete<F> {
    /// Takes the next chunk; the filter if it was the last one. Refused chunks change nothing.
    pub(super) fn take(
        &mut self,
        position: Position,
        chunk: &[u8],
        limit: Option<u64>,
    ) -> Result<Option<F>, Refusal> {
        let before = self.len();
        let end = before + chunk.len() as u64;
        if position.end != end || chunk.is_empty() {
            return Err(Refusal::Position);
        }
        let appended = self.append(chunk);
        let taken = appended.and_then(|()| match limit.filter(|&limit| self.exceeds(limit)) {
            Some(limit) => Err(Refusal::KeyMemory { limit }),
            None => match F::image_length(self.begun()) {
                Some(length) if length <= end => self.complete(limit).map(Some),
                _ => Ok(None),
            },
        });
        if taken.is_err() {
            self.truncate(before);
        }
        taken
    }

    /// What has arrived of the beginning.
    fn begun(&self) -> &[u8] {
        self.chunks.first().map_or(&[], Vec::as_slice)
    }

    /// Whether no filter with so much memory has an image of so many bytes.
    pub(super) fn exceeds(&self, limit: u64) -> bool {
        self.len() > limit.saturating_add(F::front(self.begun()))
    }

    fn complete(&self, limit: Option<u64>) -> Result<F, Refusal> {
        let mut magic = [0; 8];
        let mut input = Joined { chunk: &[], rest: &self.chunks };
        input.read_exact(&mut magic).map_err(|_| Refusal::NotLoaded)?;
        let filter = F::read(magic, &mut input).map_err(|refusal| match refusal {
            LoadRefusal::Filter(coua::LoadError::OutOfMemory(_)) => Refusal::NoMemory,
            _ => Refusal::NotLoaded,
        })?;
        if !input.is_at_end() {
            return Err(Refusal::NotLoaded);
        }
        match limit.filter(|&limit| filter.memory_bytes() > limit) {
            Some(limit) => Err(Refusal::KeyMemory { limit }),
            None => Ok(filter),
        }
    }
}

/// Chunks as one stream; none of them is empty.
struct Joined<'a> {
    chunk: &'a [u8],
    rest: &'a [Vec<u8>],
}

impl Joined<'_> {
    fn is_at_end(&self) -> bool {
        self.chunk.is_empty() && self.rest.is_empty()
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (true, Some((next, rest))) = (self.chunk.is_empty(), self.rest.split_first()) {
            (self.chunk, self.rest) = (next, rest);
        }
        self.chunk.read(buffer)
    }
}

#[cfg(test)]
mod tests;
