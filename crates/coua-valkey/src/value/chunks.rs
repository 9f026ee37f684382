//! A filter of this module in chunks: SCANDUMP, LOADCHUNK, and the append-only file.
//!
//! The chunks of a filter's image follow each other without gaps. The position that comes with a
//! chunk is its end, plus one so that it is never 0, and above that some bits of the number of
//! changes that the filter has seen: so a dump notices that the filter changed under it. Positions
//! stay below 2^53, which every client can hold.

use std::io::{self, Read, Write};

use coua_image as image;

use crate::cuckoo::{NativeCuckoo, is_begun};
use crate::error::{CommandError, RdbError};
use crate::redisbloom::{Chunk, ChunkError, PeerCuckoo};
use crate::server::Pieces;

/// Bytes of a chunk. Servers may close connections with commands or replies above 1 MiB.
pub(super) const CHUNK: usize = 512 << 10;
/// A chunk shorter than this is joined with the next one.
const SMALL: usize = 64 << 10;
/// Bits of a position for the offset: up to 1 TiB.
const END_BITS: u32 = 40;
/// Bits of a position for the number of changes.
const CHANGE_BITS: u32 = 12;

/// A position in a dump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DumpPosition {
    end: u64,
    changes: u64,
}

impl DumpPosition {
    /// Decodes the number that a client sends: the end of the previous chunk.
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

/// The chunk after a position (`None` for the first one), and its own position; none at the end.
pub(super) fn chunk_behind(
    native: &NativeCuckoo,
    position: Option<DumpPosition>,
) -> Result<Option<(i64, Vec<u8>)>, CommandError> {
    let mut start = 0;
    if let Some(position) = position {
        if DumpPosition::decode(DumpPosition::encode(position.end, native.changes()))
            != Some(position)
        {
            return Err(CommandError::ChangedSince);
        }
        start = position.end;
    }
    let mut buffer = ChunkBuffer::of(native)?;
    match native.write_from(start, &mut buffer).map_err(|error| error.kind()) {
        // The buffer stops the stream when it is full.
        Ok(()) | Err(io::ErrorKind::WriteZero) => {}
        Err(io::ErrorKind::InvalidInput) => return Err(CommandError::Position),
        Err(_) => return Err(CommandError::Defect),
    }
    let end = start + buffer.bytes.len() as u64;
    let chunk = (DumpPosition::encode(end, native.changes()), buffer.bytes);
    Ok(if chunk.1.is_empty() { None } else { Some(chunk) })
}

/// Writes a filter as chunks of an append-only file.
pub(super) fn for_each(native: &NativeCuckoo, mut each: impl FnMut(i64, &[u8])) -> io::Result<()> {
    let mut end = 0;
    let mut chunks = Pieces::new(CHUNK, |chunk: &[u8]| {
        end += chunk.len() as u64;
        each(DumpPosition::encode(end, 0), chunk);
    });
    native.write(&mut chunks)?;
    chunks.finish();
    Ok(())
}

/// Keeps one chunk of a stream, then stops the stream.
struct ChunkBuffer {
    bytes: Vec<u8>,
    room: usize,
}

impl ChunkBuffer {
    /// A buffer with room for a chunk, or for a whole small filter.
    fn of(native: &NativeCuckoo) -> Result<Self, CommandError> {
        let front = image::overhead_of(native.pieces() as u32);
        let room = native.memory_bytes().saturating_add(front).min(CHUNK as u64) as usize;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|_| CommandError::NoMemory)?;
        Ok(Self { bytes, room })
    }
}

impl Write for ChunkBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        // 0 if the chunk is full, which ends the stream.
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A filter of which not all chunks have arrived.
#[derive(Default)]
pub(crate) struct Incomplete {
    /// The chunks in order. They do not move when more arrive: they may be gigabytes.
    chunks: Vec<Vec<u8>>,
}

impl Incomplete {
    /// Reads the stored chunks, to the end of the input. They must be what `take` leaves, because a rewritten append-only
    /// file sends them to it.
    pub(super) fn read(input: &mut dyn Read) -> Result<Self, RdbError> {
        let refused = RdbError::Field("beginning of a filter");
        let mut incomplete = Self::default();
        loop {
            let mut chunk = Vec::new();
            if Read::take(&mut *input, CHUNK as u64).read_to_end(&mut chunk)? == 0 {
                return if is_begun(incomplete.head()) { Ok(incomplete) } else { Err(refused) };
            }
            let end = incomplete.len() + chunk.len() as u64;
            if !matches!(incomplete.take(DumpPosition { end, changes: 0 }, &chunk, None), Ok(None))
            {
                return Err(refused);
            }
        }
    }

    /// Writes the stored chunks.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.chunks.iter().try_for_each(|chunk| out.write_all(chunk))
    }

    /// Calls `each` with the stored bytes as chunks.
    pub(super) fn for_each(&self, mut each: impl FnMut(i64, &[u8])) {
        let mut end = 0;
        for chunk in self.chunks.iter().flat_map(|chunk| chunk.chunks(CHUNK)) {
            end += chunk.len() as u64;
            each(DumpPosition::encode(end, 0), chunk);
        }
    }

    /// A copy, if there is memory for it.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut copy = Self::default();
        self.chunks.iter().try_for_each(|chunk| copy.append(chunk)).ok()?;
        Some(copy)
    }

    /// The number of bytes that have arrived.
    pub(super) fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Appends bytes: to the last chunk while that is small, so that the first one contains the whole
    /// head of the filter, and there are not many chunks.
    fn append(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        let no_memory = |_| CommandError::NoMemory;
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

    /// Truncates to `length` bytes.
    fn truncate(&mut self, length: u64) {
        let mut left = length as usize;
        for chunk in &mut self.chunks {
            chunk.truncate(left);
            left -= chunk.len();
        }
        self.chunks.retain(|chunk| !chunk.is_empty());
    }

    /// Takes the next chunk. Returns the filter if it was the last one. Refused chunks change nothing.
    pub(super) fn take(
        &mut self,
        position: DumpPosition,
        chunk: &[u8],
        limit: Option<u64>,
    ) -> Result<Option<NativeCuckoo>, CommandError> {
        let before = self.len();
        let end = before + chunk.len() as u64;
        if position.end != end || chunk.is_empty() {
            return Err(CommandError::Position);
        }
        let appended = self.append(chunk);
        let taken = appended.and_then(|()| match limit.filter(|&limit| self.exceeds(limit)) {
            Some(limit) => Err(CommandError::KeyMemory { limit }),
            None => match image::length(self.head()) {
                Some(length) if length <= end => self.complete(limit).map(Some),
                _ => Ok(None),
            },
        });
        if taken.is_err() {
            self.truncate(before);
        }
        taken
    }

    /// The beginning, as far as it has arrived.
    fn head(&self) -> &[u8] {
        self.chunks.first().map_or(&[], Vec::as_slice)
    }

    /// Whether the image is too large for any filter within this memory limit.
    pub(super) fn exceeds(&self, limit: u64) -> bool {
        self.len() > limit.saturating_add(image::overhead(self.head()))
    }

    fn complete(&self, limit: Option<u64>) -> Result<NativeCuckoo, CommandError> {
        let mut magic = [0; 8];
        let mut input = Joined { chunk: &[], rest: &self.chunks };
        input.read_exact(&mut magic).map_err(|_| CommandError::NotLoaded)?;
        let filter = NativeCuckoo::read(magic, &mut input).map_err(|refusal| match refusal {
            RdbError::Filter(coua::LoadError::OutOfMemory(_)) => CommandError::NoMemory,
            _ => CommandError::NotLoaded,
        })?;
        if !input.is_at_end() {
            return Err(CommandError::NotLoaded);
        }
        match limit.filter(|&limit| filter.memory_bytes() > limit) {
            Some(limit) => Err(CommandError::KeyMemory { limit }),
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

/// The piece at a position, cut to the size of a chunk: RedisBloom's pieces are longer, but it accepts any size.
pub(super) fn piece_of(
    filter: &PeerCuckoo,
    position: i64,
) -> Result<Option<Chunk<'_>>, ChunkError> {
    Ok(filter.chunk(position)?.map(|Chunk { bytes, .. }| {
        let taken = bytes.len().min(CHUNK);
        Chunk { next: position.saturating_add_unsigned(taken as u64), bytes: &bytes[..taken] }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::CuckooRequest;
    use coua::IfPresent;

    fn filter(items: u32) -> NativeCuckoo {
        let words: [&[u8]; 5] = [b"1024", b"EXPANSION", b"2", b"HASHBITS", b"60"];
        let spec = CuckooRequest::of_reserve(&words).unwrap().complete([7; 16]).unwrap();
        let mut native = NativeCuckoo::of(spec).unwrap();
        let keys: Vec<[u8; 4]> = (0..items).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        native.insert(&keys, IfPresent::AddCopy, None);
        native
    }

    fn dump(native: &NativeCuckoo) -> Vec<(i64, Vec<u8>)> {
        let mut chunks: Vec<(i64, Vec<u8>)> = Vec::new();
        loop {
            let position = chunks.last().map(|(end, _)| DumpPosition::decode(*end).unwrap());
            let Some(chunk) = chunk_behind(native, position).unwrap() else { return chunks };
            assert!(chunk.1.len() <= CHUNK && (1..1 << 53).contains(&chunk.0));
            chunks.push(chunk);
        }
    }

    #[test]
    fn chunks_put_together_are_the_filter() {
        // 5 M items of 6 bytes are two chunks.
        let native = filter(5_000_000);
        let chunks = dump(&native);
        assert!(chunks.len() >= 2);
        let mut incomplete = Incomplete::default();
        let mut loaded = None;
        for (end, chunk) in &chunks {
            assert!(loaded.is_none());
            loaded = incomplete.take(DumpPosition::decode(*end).unwrap(), chunk, None).unwrap();
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        native.write(&mut first).unwrap();
        loaded.unwrap().write(&mut second).unwrap();
        assert!(first == second);
        let mut rewritten = Vec::new();
        for_each(&native, |_, chunk| rewritten.push(chunk.to_vec())).unwrap();
        assert!(rewritten.concat() == first);
    }

    #[test]
    fn a_dump_notices_that_the_filter_changed() {
        let mut native = filter(100);
        let (first, _) = chunk_behind(&native, None).unwrap().unwrap();
        native.insert(&[b"more"], IfPresent::AddCopy, None);
        let refused = chunk_behind(&native, DumpPosition::decode(first));
        assert_eq!(refused, Err(CommandError::ChangedSince));
    }

    #[test]
    fn positions_that_no_dump_has_are_refused() {
        for number in [0, -1, i64::MIN, i64::MAX, 1 << 52, 1 << 40] {
            assert_eq!(DumpPosition::decode(number), None, "{number}");
        }
        let native = filter(100);
        let beyond = DumpPosition::encode(1 << 39, native.changes());
        assert_eq!(
            chunk_behind(&native, DumpPosition::decode(beyond)),
            Err(CommandError::Position)
        );
    }

    #[test]
    fn chunks_that_are_cut_repeated_or_damaged_are_refused_and_change_nothing() {
        let native = filter(10_000);
        let (end, chunk) = dump(&native).remove(0);
        let position = DumpPosition::decode(end).unwrap();
        let mut incomplete = Incomplete::default();
        let cut = incomplete.take(position, &chunk[..chunk.len() - 1], None).err();
        assert_eq!(cut, Some(CommandError::Position));
        for at in [9, 70, 200, chunk.len() - 1] {
            let mut damaged = chunk.clone();
            damaged[at] ^= 1;
            let refused = incomplete.take(position, &damaged, None).err();
            assert_eq!(refused, Some(CommandError::NotLoaded), "{at}");
        }
        let limited = incomplete.take(position, &chunk, Some(1_000)).err();
        assert_eq!(limited, Some(CommandError::KeyMemory { limit: 1_000 }));
        assert!(incomplete.take(position, &chunk, None).unwrap().is_some());
    }

    /// Gigabytes are not copied for the sake of a chunk.
    #[test]
    fn what_has_arrived_stays_where_it_is() {
        let native = filter(20_000_000);
        let chunks = dump(&native);
        assert!(chunks.len() >= 6);
        let mut incomplete = Incomplete::default();
        let mut before: Vec<*const u8> = Vec::new();
        let mut between = Vec::new();
        for (end, chunk) in &chunks[..chunks.len() - 1] {
            assert!(
                incomplete
                    .take(DumpPosition::decode(*end).unwrap(), chunk, None)
                    .unwrap()
                    .is_none()
            );
            let mut now = Vec::new();
            incomplete.for_each(|_, chunk| now.push(chunk.as_ptr()));
            assert_eq!(now[..before.len()], before);
            before = now;
            between.push(chunk.clone());
        }
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let native = filter(300_000);
        let mut image = Vec::new();
        native.write(&mut image).unwrap();
        for size in [300, 5_000, 65_536, 100_000] {
            let mut incomplete = Incomplete::default();
            let (mut end, mut loaded) = (0, None);
            for chunk in image.chunks(size) {
                assert!(loaded.is_none());
                end += chunk.len() as u64;
                loaded = incomplete.take(DumpPosition { end, changes: 0 }, chunk, None).unwrap();
                if loaded.is_none() {
                    let mut again = Vec::new();
                    incomplete.for_each(|_, chunk| again.extend_from_slice(chunk));
                    assert!(again == image[..end as usize]);
                }
            }
            let mut again = Vec::new();
            loaded.unwrap().write(&mut again).unwrap();
            assert!(again == image, "{size}");
        }
    }
}
