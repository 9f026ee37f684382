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
use crate::redisbloom::PeerCuckoo;

/// Bytes of a chunk. Servers may close connections with commands or replies above 1 MiB.
pub(super) const CHUNK: usize = 512 << 10;
/// A chunk shorter than this is joined with the next one.
const SMALL: usize = 64 << 10;
/// Bits of a position for the offset: up to 1 TiB.
const END_BITS: u32 = 40;
/// Bits of a position for the number of changes.
const CHANGE_BITS: u32 = 12;

/// The end of the chunk that comes with a position; `None` if no chunk does.
fn end_of(position: i64) -> Option<u64> {
    let number = u64::try_from(position).ok()?;
    let is_known = number >> (END_BITS + CHANGE_BITS) == 0;
    (number & ((1 << END_BITS) - 1)).checked_sub(1).filter(|_| is_known)
}

/// The position of a chunk that ends here, of a filter that has seen so many changes.
pub(super) fn position_of(end: u64, changes: u64) -> i64 {
    let changes = changes & ((1 << CHANGE_BITS) - 1);
    ((changes << END_BITS) | (end + 1)).cast_signed()
}

/// The chunk after a position (0 for the first one), and its own position; none at the end.
pub(super) fn chunk_behind(
    native: &NativeCuckoo,
    position: i64,
) -> Result<Option<(i64, Vec<u8>)>, CommandError> {
    let mut start = 0;
    if position != 0 {
        start = end_of(position).ok_or(CommandError::Position)?;
        if position_of(start, native.changes()) != position {
            return Err(CommandError::ChangedSince);
        }
    }
    let mut chunk = chunk_room(native)?;
    let mut rest = &mut chunk[..];
    match native.write_from(start, &mut rest).map_err(|error| error.kind()) {
        // A full chunk stops the stream.
        Ok(()) | Err(io::ErrorKind::WriteZero) => {}
        Err(io::ErrorKind::InvalidInput) => return Err(CommandError::Position),
        Err(_) => return Err(CommandError::Defect),
    }
    let left = rest.len();
    chunk.truncate(chunk.len() - left);
    let end = start + chunk.len() as u64;
    Ok((!chunk.is_empty()).then(|| (position_of(end, native.changes()), chunk)))
}

/// Zeros for a chunk, or for a whole small filter.
fn chunk_room(native: &NativeCuckoo) -> Result<Vec<u8>, CommandError> {
    let front = image::overhead_of(native.pieces() as u32);
    let bytes = native.memory_bytes().saturating_add(front).min(CHUNK as u64) as usize;
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| CommandError::NoMemory)?;
    room.resize(bytes, 0);
    Ok(room)
}

/// A filter of which not all chunks have arrived.
#[derive(Default)]
pub(crate) struct Incomplete {
    /// The chunks in order. They do not move when more arrive: they may be gigabytes.
    chunks: Vec<Vec<u8>>,
    /// Bytes of all of them.
    pub(super) len: u64,
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
            let position = position_of(incomplete.len + chunk.len() as u64, 0);
            match incomplete.take(position, &chunk, None) {
                Ok(None) => {}
                Err(CommandError::NoMemory) => {
                    return Err(RdbError::Io(io::ErrorKind::OutOfMemory.into()));
                }
                _ => return Err(refused),
            }
        }
    }

    /// Writes the stored chunks.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.chunks.iter().try_for_each(|chunk| out.write_all(chunk))
    }

    /// The stored bytes as chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().flat_map(|chunk| chunk.chunks(CHUNK))
    }

    /// A copy, if there is memory for it.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut copy = Self::default();
        self.chunks.iter().try_for_each(|chunk| copy.append(chunk)).ok()?;
        Some(copy)
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
            self.len += bytes.len() as u64;
        }
        Ok(())
    }

    /// Truncates to `length` bytes.
    fn truncate(&mut self, length: u64) {
        self.len = length;
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
        position: i64,
        chunk: &[u8],
        limit: Option<u64>,
    ) -> Result<Option<NativeCuckoo>, CommandError> {
        let before = self.len;
        let end = before + chunk.len() as u64;
        if end_of(position) != Some(end) || chunk.is_empty() {
            return Err(CommandError::Position);
        }
        let taken = self.append(chunk).and_then(|()| {
            CommandError::check_bytes(self.least_bytes(), limit)?;
            match image::length(self.head()) {
                Some(length) if length <= end => self.complete(limit).map(Some),
                _ => Ok(None),
            }
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

    /// The least bytes of memory that the filter takes whose image has arrived so far.
    pub(super) fn least_bytes(&self) -> u64 {
        image::least_memory(self.head(), self.len)
    }

    fn complete(&self, limit: Option<u64>) -> Result<NativeCuckoo, CommandError> {
        let mut magic = [0; 8];
        let mut input = Joined { chunk: &[], rest: &self.chunks };
        input.read_exact(&mut magic).map_err(|_| CommandError::NotLoaded)?;
        let filter = NativeCuckoo::read(magic, &mut input).map_err(|refusal| match refusal {
            refusal if refusal.is_lack_of_memory() => CommandError::NoMemory,
            _ => CommandError::NotLoaded,
        })?;
        if !input.is_at_end() {
            return Err(CommandError::NotLoaded);
        }
        CommandError::check_bytes(filter.memory_bytes(), limit)?;
        Ok(filter)
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

/// The chunk at a position of a RedisBloom filter, and the next position; none at the end.
pub(super) fn peer_chunk(filter: &PeerCuckoo, position: i64) -> Option<(i64, &[u8])> {
    let rest = filter.slots_from(position)?;
    let chunk = &rest[..rest.len().min(CHUNK)];
    Some((position.saturating_add_unsigned(chunk.len() as u64), chunk))
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
            let position = chunks.last().map_or(0, |(end, _)| *end);
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
            loaded = incomplete.take(*end, chunk, None).unwrap();
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        native.write(&mut first).unwrap();
        loaded.unwrap().write(&mut second).unwrap();
        assert!(first == second);
        let mut rewritten = Vec::new();
        let value = crate::value::Value::Native(native);
        value.for_each_chunk(|_, chunk| rewritten.push(chunk.to_vec())).unwrap();
        assert!(rewritten.concat() == first);
    }

    #[test]
    fn a_dump_notices_that_the_filter_changed() {
        let mut native = filter(100);
        let (first, _) = chunk_behind(&native, 0).unwrap().unwrap();
        native.insert(&[b"more"], IfPresent::AddCopy, None);
        let refused = chunk_behind(&native, first);
        assert_eq!(refused, Err(CommandError::ChangedSince));
    }

    #[test]
    fn positions_that_no_dump_has_are_refused() {
        for number in [0, -1, i64::MIN, i64::MAX, 1 << 52, 1 << 40] {
            assert_eq!(end_of(number), None, "{number}");
        }
        let native = filter(100);
        let beyond = position_of(1 << 39, native.changes());
        assert_eq!(chunk_behind(&native, beyond), Err(CommandError::Position));
    }

    #[test]
    fn chunks_that_are_cut_repeated_or_damaged_are_refused_and_change_nothing() {
        let native = filter(10_000);
        let (end, chunk) = dump(&native).remove(0);
        let mut incomplete = Incomplete::default();
        let cut = incomplete.take(end, &chunk[..chunk.len() - 1], None).err();
        assert_eq!(cut, Some(CommandError::Position));
        for at in [9, 70, 200, chunk.len() - 1] {
            let mut damaged = chunk.clone();
            damaged[at] ^= 1;
            let refused = incomplete.take(end, &damaged, None).err();
            assert_eq!(refused, Some(CommandError::NotLoaded), "{at}");
        }
        let limited = incomplete.take(end, &chunk, Some(1_000)).err();
        assert_eq!(limited, Some(CommandError::KeyMemory { limit: 1_000 }));
        assert!(incomplete.take(end, &chunk, None).unwrap().is_some());
    }

    /// Gigabytes are not copied for the sake of a chunk.
    #[test]
    fn what_has_arrived_stays_where_it_is() {
        let native = filter(20_000_000);
        let chunks = dump(&native);
        assert!(chunks.len() >= 6);
        let mut incomplete = Incomplete::default();
        let mut before: Vec<*const u8> = Vec::new();
        for (end, chunk) in &chunks[..chunks.len() - 1] {
            assert!(incomplete.take(*end, chunk, None).unwrap().is_none());
            let now: Vec<_> = incomplete.chunks().map(<[u8]>::as_ptr).collect();
            assert_eq!(now[..before.len()], before);
            before = now;
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
                loaded = incomplete.take(position_of(end, 0), chunk, None).unwrap();
                if loaded.is_none() {
                    let again = incomplete.chunks().collect::<Vec<_>>().concat();
                    assert!(again == image[..end as usize]);
                }
            }
            let mut again = Vec::new();
            loaded.unwrap().write(&mut again).unwrap();
            assert!(again == image, "{size}");
        }
    }
}
