//! The value of a key: a filter of this module, one of RedisBloom, or one of
//! which not all chunks have arrived. The same for both kinds of filters.

mod chunks;
pub(crate) mod creation;
pub(crate) mod dump;
mod filter;
pub(crate) mod insertion;
mod memory;

use std::ffi::{CStr, c_int};
use std::io::{self, Read, Write};
use std::mem::size_of;

use crate::error::{CommandError, RdbError};
use crate::parse::{ArgumentList, Options};
use crate::redisbloom::{Limits, PeerFilter};
use crate::server::{AppendOnly, Call, Key, RdbReader, Reply, TypeSlot, ValueType, block_bytes};
use crate::settings::{key_memory_limit, limits};
use chunks::{Incomplete, piece_of};

pub(crate) use filter::{
    FRONT, FilterImage, MAGIC, MOST_PARTS, NativeFilter, Outcome, Outcomes, PART, SIPHASH_1_3,
    XXH3, checksum, first_change, u32_at, u64_at,
};
pub(crate) use memory::{MemoryCharge, release};

/// A kind of filters: cuckoo filters, or Bloom filters.
pub(crate) trait FilterKind: Send + Sized + 'static {
    /// The filters of this module.
    type Native: NativeFilter<Copies = Self::Copies>;
    /// The filters of RedisBloom.
    type Imported: PeerFilter + Send + 'static;
    /// The options of a command for a new filter.
    type Request: Default;
    /// The name of the type: RedisBloom's, so that its dump files can be loaded.
    const NAME: &'static CStr;
    /// The command that loads chunks.
    const LOAD_COMMAND: &'static CStr;
    /// The event of a loaded chunk.
    const LOADED: &'static CStr;

    /// Options that an inserting command may have before its items.
    const OPTIONS: &'static [&'static str];
    /// The command that creates an empty filter.
    const RESERVE: &'static CStr;
    /// The event of a new filter.
    const CREATED: &'static CStr;

    /// The server's handle of the type.
    fn slot() -> &'static TypeSlot;

    /// Takes the value of one of the options.
    fn take(
        request: &mut Self::Request,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError>;

    /// Which items an insert takes.
    type Copies: Copy;
    /// The event of inserted items.
    const ADDED: &'static CStr;

    /// Inserts an item into a RedisBloom filter, and returns the outcome.
    fn insert_imported(
        imported: &mut Self::Imported,
        item: &[u8],
        copies: Self::Copies,
        limits: &Limits,
    ) -> Outcome;

    /// The command that replicates the inserted items of a partly refused batch.
    fn rest(copies: Self::Copies) -> Rest;

    /// Advances the clock of a filter with a window, before it changes.
    fn advance_clock(_call: &Call<'_>, _key: &mut Key<'_, Value<Self>>) {}

    /// Refuses contradictory options.
    fn check(request: &Self::Request) -> Result<(), CommandError>;

    /// Builds the filter, with `random` as the key of its hash unless one is given, and `defaults`
    /// for the rest. Also returns the words after the key with which [`RESERVE`](Self::RESERVE) builds the
    /// same filter on any server.
    fn build(
        request: &Self::Request,
        random: [u8; 16],
        defaults: Defaults,
        limit: Option<u64>,
    ) -> Result<(Self::Native, ArgumentList), CommandError>;
}

/// A command that replicates the inserted items of a partly refused batch.
pub(crate) struct Rest {
    /// Its name.
    pub(crate) command: &'static CStr,
    /// Its words between the key and the items.
    pub(crate) words: &'static [&'static str],
}

/// The source of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defaults {
    /// The settings of this server.
    Settings,
    /// The built-in defaults. A primary does not replicate options that equal them.
    BuiltIn,
}

/// The encoding of values that this module writes. RedisBloom counts its own
/// from 0 on; 1023 is the maximum.
const ENCODING: c_int = 1000;
/// Bytes that take as long to free as a piece of memory.
const BYTES_PER_EFFORT: usize = 64 << 10;
/// The first bytes of a stored incomplete image.
const PART_MAGIC: [u8; 8] = *b"CouaPart";
/// The first bytes before a stored RedisBloom filter.
const PEER_MAGIC: [u8; 8] = *b"CouaPeer";

/// The value of a key.
pub(crate) enum Value<K: FilterKind> {
    /// A filter of this module.
    Native(K::Native),
    /// A filter of RedisBloom.
    Imported(K::Imported),
    /// A filter of this module of which some chunks are missing.
    Incomplete(Incomplete<K::Native>),
}

impl<K: FilterKind> Value<K> {
    /// Reads a value that `write` wrote.
    pub(crate) fn read(input: &mut dyn Read, limits: &Limits) -> Result<Self, RdbError> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        match magic {
            PEER_MAGIC => Ok(Self::Imported(K::Imported::read_from(input, limits)?)),
            PART_MAGIC => Ok(Self::Incomplete(Incomplete::read(input)?)),
            magic => K::Native::read(magic, input).map(Self::Native),
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
            Self::Imported(imported) => imported.arrays().count(),
            Self::Incomplete(_) => 1,
        }
    }

    /// Queries a filter of either module.
    #[inline]
    pub(crate) fn ask<'a, T>(
        &'a self,
        native: impl FnOnce(&'a K::Native) -> T,
        imported: impl FnOnce(&'a K::Imported) -> T,
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
        native: impl FnOnce(&'a mut K::Native) -> T,
        imported: impl FnOnce(&'a mut K::Imported) -> T,
    ) -> Result<T, CommandError> {
        match self {
            Self::Native(filter) => Ok(native(filter)),
            Self::Imported(filter) => Ok(imported(filter)),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// The filter, or an error if it is not one of this module.
    pub(crate) fn native(&self) -> Result<&K::Native, CommandError> {
        self.ask(Ok, |_| Err(CommandError::Imported))?
    }

    /// Mutable [`native`](Self::native).
    pub(crate) fn native_mut(&mut self) -> Result<&mut K::Native, CommandError> {
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
        copies: K::Copies,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcome, CommandError> {
        self.change(
            |native| native.insert_item(item, copies, limit),
            |imported| K::insert_imported(imported, item, copies, &limits()),
        )
    }

    /// Inserts items in order, and returns an outcome for each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        copies: K::Copies,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcomes, CommandError> {
        self.change(
            |native| native.insert_items(items, copies, limit),
            |imported| {
                let limits = limits();
                let insert = |item: &&[u8]| K::insert_imported(imported, item, copies, &limits);
                items.iter().map(insert).collect()
            },
        )
    }

    fn contents_bytes(&self) -> u64 {
        match self {
            Self::Native(native) => native.allocated_bytes(),
            Self::Imported(imported) => imported.memory_bytes(),
            Self::Incomplete(incomplete) => incomplete.len(),
        }
    }
}

impl<K: FilterKind> ValueType for Value<K> {
    const NAME: &'static CStr = K::NAME;
    const ENCODING: c_int = ENCODING;

    fn slot() -> &'static TypeSlot {
        K::slot()
    }

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

    fn load(input: &mut RdbReader, encoding: c_int) -> Result<Self, RdbError> {
        // In this order, because most servers have no limit, and the second check is slow.
        let limit = key_memory_limit().filter(|_| input.is_request());
        if encoding != ENCODING {
            let known = u32::try_from(encoding).map_err(|_| RdbError::Encoding(encoding))?;
            return Ok(Self::Imported(K::Imported::read(input, known, &limits(limit))?));
        }
        // The limit is for memory; the limit for reading only prevents endless growth.
        let most = |limit: u64| limit.saturating_add(FRONT + PART * MOST_PARTS);
        let left = limit.map_or(u64::MAX, most);
        let mut limited = LimitedReader { input, left, exceeded: false };
        let value = Self::read(&mut limited, &limits(limit));
        let is_larger = |value: &Self| match value {
            Self::Native(native) => limit.is_some_and(|limit| native.memory_bytes() > limit),
            Self::Incomplete(incomplete) => limit.is_some_and(|limit| incomplete.exceeds(limit)),
            // The limit was checked before.
            Self::Imported(_) => false,
        };
        let exceeded = limited.exceeded || value.as_ref().is_ok_and(is_larger);
        if let Some(limit) = limit.filter(|_| exceeded) {
            return Err(RdbError::KeyMemory { limit });
        }
        let value = value?;
        if input.is_at_end() { Ok(value) } else { Err(RdbError::Trailing) }
    }

    fn rewrite(&self, out: &mut AppendOnly) -> io::Result<()> {
        match self {
            Self::Native(native) => {
                return chunks::for_each(native, |end, chunk| {
                    out.call(K::LOAD_COMMAND, end, chunk);
                });
            }
            Self::Incomplete(incomplete) => {
                incomplete.for_each(|end, chunk| out.call(K::LOAD_COMMAND, end, chunk));
            }
            Self::Imported(imported) => {
                out.call(K::LOAD_COMMAND, 1, &imported.header());
                let mut position = 1;
                while let Ok(Some(chunk)) = piece_of(imported, position) {
                    out.call(K::LOAD_COMMAND, chunk.next, chunk.bytes);
                    position = chunk.next;
                }
            }
        }
        Ok(())
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

/// Ends with an error after a number of bytes.
struct LimitedReader<'a> {
    input: &'a mut RdbReader,
    left: u64,
    exceeded: bool,
}

impl Read for LimitedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.exceeded |= read as u64 > self.left;
        self.left = self.left.saturating_sub(read as u64);
        if self.exceeded { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) }
    }
}

/// Runs EXISTS: a missing key has no item.
pub(crate) fn contains<K: FilterKind>(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let key = call.key::<Value<K>>(1)?;
    key.value().map_or(Ok(false), |value| value.contains(item)).map(Reply::Truth)
}

/// Runs MEXISTS.
pub(crate) fn contains_all<K: FilterKind>(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    let key = call.key::<Value<K>>(1)?;
    let absent = || Ok(vec![false; items.len()]);
    key.value().map_or_else(absent, |value| value.contains_all(items)).map(Reply::Truths)
}
