//! The value of a key: a filter of this module, one of RedisBloom, or one of
//! which not all chunks have arrived.

mod chunks;
mod dump;

use std::ffi::{CStr, c_int};
use std::io::{self, Read, Write};
use std::mem::size_of;

use coua::IfPresent;
use coua_image as image;

use crate::cuckoo::{Compaction, CuckooRequest, Defaults, NativeCuckoo, Outcome, release};
use crate::error::{CommandError, RdbError};
use crate::redisbloom::{CompactionPosition, CompactionStep, Limits, PeerCuckoo};
use crate::server::{
    AppendOnly, CommandName, RdbReader, ValueType, block_bytes, command_name, random_bytes,
};
use crate::settings::{key_memory_limit, limits};
use chunks::Incomplete;

/// The encoding of values that this module writes. RedisBloom counts its own
/// from 0 on; 1023 is the maximum.
const ENCODING: c_int = 1000;
/// Bytes that take as long to free as a piece of memory.
const BYTES_PER_EFFORT: usize = 64 << 10;
/// The first bytes of a stored incomplete image.
const PART_MAGIC: [u8; 8] = *b"CouaPart";
/// The first bytes before a stored RedisBloom filter.
const PEER_MAGIC: [u8; 8] = *b"CouaPeer";

/// The command that loads chunks.
const LOAD_COMMAND: CommandName = command_name!("loadchunk");

/// The value of a key.
pub(crate) enum Value {
    /// A filter of this module.
    Native(NativeCuckoo),
    /// A filter of RedisBloom.
    Imported(PeerCuckoo),
    /// A filter of this module of which some chunks are missing.
    Incomplete(Incomplete),
}

impl Value {
    /// Reads a value that `write` wrote.
    pub(crate) fn read(input: &mut dyn Read, limits: &Limits) -> Result<Self, RdbError> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        match magic {
            PEER_MAGIC => Ok(Self::Imported(PeerCuckoo::read_from(input, limits)?)),
            PART_MAGIC => Ok(Self::Incomplete(Incomplete::read(input)?)),
            magic => NativeCuckoo::read(magic, input).map(Self::Native),
        }
    }

    /// Bytes allocated for it, including the server's overhead per value.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        const OF_SERVER: u64 = 2 * 16;
        OF_SERVER + block_bytes(size_of::<Self>() as u64) + self.contents_bytes()
    }

    /// The number of its pieces of memory, which rises as it grows.
    pub(crate) fn pieces(&self) -> usize {
        match self {
            Self::Native(native) => native.pieces(),
            Self::Imported(imported) => imported.sub_filters() as usize,
            Self::Incomplete(_) => 1,
        }
    }

    /// Its false-positive rate now.
    pub(crate) fn rate(&self) -> f64 {
        self.ask(|native| native.figures().rate, PeerCuckoo::false_positive_rate).unwrap_or(0.0)
    }

    /// Whether it has more items than it keeps its rate for.
    pub(crate) fn exceeds_rate(&self) -> bool {
        self.ask(NativeCuckoo::exceeds_rate, |_| false).unwrap_or(false)
    }

    /// Queries a filter of either module.
    #[inline]
    pub(crate) fn ask<'a, T>(
        &'a self,
        native: impl FnOnce(&'a NativeCuckoo) -> T,
        imported: impl FnOnce(&'a PeerCuckoo) -> T,
    ) -> Result<T, CommandError> {
        match self {
            Self::Native(filter) => Ok(native(filter)),
            Self::Imported(filter) => Ok(imported(filter)),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// Changes a filter of either module.
    #[inline]
    pub(crate) fn change<'a, T>(
        &'a mut self,
        native: impl FnOnce(&'a mut NativeCuckoo) -> T,
        imported: impl FnOnce(&'a mut PeerCuckoo) -> T,
    ) -> Result<T, CommandError> {
        match self {
            Self::Native(filter) => Ok(native(filter)),
            Self::Imported(filter) => Ok(imported(filter)),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// The filter, or an error if it is not one of this module.
    pub(crate) fn native(&self) -> Result<&NativeCuckoo, CommandError> {
        self.ask(Ok, |_| Err(CommandError::Imported))?
    }

    /// Mutable [`native`](Self::native).
    pub(crate) fn native_mut(&mut self) -> Result<&mut NativeCuckoo, CommandError> {
        self.change(Ok, |_| Err(CommandError::Imported))?
    }

    /// Whether the item seems to be present.
    pub(crate) fn contains(&self, item: &[u8]) -> Result<bool, CommandError> {
        self.ask(|native| native.contains(item), |imported| imported.contains(item))
    }

    /// Which items seem to be present.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Result<Vec<bool>, CommandError> {
        self.ask(
            |native| native.contains_all(items),
            |imported| items.iter().map(|item| imported.contains(item)).collect(),
        )
    }

    /// Inserts an item, and returns the outcome.
    pub(crate) fn insert_one(
        &mut self,
        item: &[u8],
        if_present: IfPresent,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcome, CommandError> {
        self.change(
            |native| native.insert_item(item, if_present, limit),
            |imported| Outcome::of_imported(imported.insert(item, if_present, &limits())),
        )
    }

    /// Inserts items in order, and returns an outcome for each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        if_present: IfPresent,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Vec<Outcome>, CommandError> {
        self.change(
            |native| native.insert(items, if_present, limit),
            |imported| {
                let limits = limits();
                let insert = |item: &&[u8]| imported.insert(item, if_present, &limits);
                items.iter().map(insert).map(Outcome::of_imported).collect()
            },
        )
    }

    /// Counts the copies of each item.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Result<Vec<u64>, CommandError> {
        self.ask(
            |native| native.count_all(items),
            |imported| items.iter().map(|item| imported.count(item)).collect(),
        )
    }

    /// Removes a copy of an item, and returns whether there was one.
    pub(crate) fn remove_one(&mut self, item: &[u8]) -> Result<bool, CommandError> {
        self.change(|native| native.remove_one(item), |imported| imported.remove(item))
    }

    /// Removes a copy of each item, and returns which were present.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Result<Vec<bool>, CommandError> {
        self.change(
            |native| native.remove(items),
            |imported| items.iter().map(|item| imported.remove(item)).collect(),
        )
    }

    /// Frees memory from a position on, within the time that a command may take.
    pub(crate) fn compact(
        &mut self,
        at: Option<CompactionPosition>,
    ) -> Result<Compaction, CommandError> {
        self.change(
            |native| native.compact(at.unwrap_or_default()),
            |imported| compact_imported(imported, at),
        )?
    }

    /// Bytes that count towards the limit of a key, and were not counted while they were read.
    fn limited_bytes(&self) -> u64 {
        match self {
            Self::Native(native) => native.memory_bytes(),
            Self::Incomplete(incomplete) => incomplete.least_bytes(),
            Self::Imported(_) => 0,
        }
    }

    fn contents_bytes(&self) -> u64 {
        match self {
            Self::Native(native) => native.allocated_bytes(),
            Self::Imported(imported) => imported.memory_bytes(),
            Self::Incomplete(incomplete) => incomplete.len,
        }
    }
}

/// Runs a step of compacting a RedisBloom filter, unless chunks of it are missing.
fn compact_imported(
    filter: &mut PeerCuckoo,
    at: Option<CompactionPosition>,
) -> Result<Compaction, CommandError> {
    if filter.lacks_items() {
        return Err(CommandError::Incomplete);
    }
    let CompactionStep { has_changed, next, freed } = filter.compact_step(at);
    let bytes = freed.iter().map(Vec::len).sum();
    release(freed, bytes);
    Ok(Compaction { has_changed, next })
}

impl ValueType for Value {
    /// RedisBloom's name, so that its dump files can be loaded.
    const NAME: &'static CStr = c"MBbloomCF";
    const NAME_BESIDE: &'static CStr = c"CouaFiltr";
    const ENCODING: c_int = ENCODING;

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Native(native) => native.write(out),
            Self::Imported(imported) => {
                out.write_all(&PEER_MAGIC)?;
                imported.write_to(out)
            }
            Self::Incomplete(incomplete) => {
                out.write_all(&PART_MAGIC)?;
                incomplete.write(out)
            }
        }
    }

    fn stand_in() -> Option<Self> {
        let request = CuckooRequest::default();
        let spec = request.complete_with(random_bytes(), Defaults::BuiltIn).ok()?;
        NativeCuckoo::of(spec).ok().map(Self::Native)
    }

    fn load(input: &mut RdbReader, encoding: c_int) -> Result<Self, RdbError> {
        // In this order, because most servers have no limit, and the second check is slow.
        let limit = key_memory_limit().filter(|_| input.is_request());
        if encoding != ENCODING {
            let known = u32::try_from(encoding).map_err(|_| RdbError::Encoding(encoding))?;
            return Ok(Self::Imported(PeerCuckoo::read(input, known, &limits(limit))?));
        }
        // The limit is for memory; the limit for reading only prevents endless growth.
        let most = limit.map_or(u64::MAX, |limit| image::most_bytes(limit).saturating_add(1));
        let mut limited = Read::take(&mut *input, most);
        let value = Self::read(&mut limited, &limits(limit));
        let is_cut = limited.limit() == 0;
        let bytes = value.as_ref().map_or(0, Self::limited_bytes);
        let exceeds = |&limit: &u64| is_cut || bytes > limit;
        if let Some(limit) = limit.filter(exceeds) {
            return Err(RdbError::KeyMemory { limit });
        }
        let value = value?;
        if input.is_at_end() { Ok(value) } else { Err(RdbError::Trailing) }
    }

    fn rewrite(&self, out: &mut AppendOnly) -> io::Result<()> {
        self.for_each_chunk(|position, chunk| out.call(LOAD_COMMAND, position, chunk))
    }

    fn memory_bytes(&self) -> usize {
        self.bytes() as usize
    }

    fn free_effort(&self) -> usize {
        // A large piece has many pages to free.
        self.pieces().max(self.bytes() as usize / BYTES_PER_EFFORT)
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Native(native) => Self::Native(native.try_clone().ok()?),
            Self::Imported(imported) => Self::Imported(imported.try_clone().ok()?),
            Self::Incomplete(incomplete) => Self::Incomplete(incomplete.try_clone()?),
        })
    }
}
