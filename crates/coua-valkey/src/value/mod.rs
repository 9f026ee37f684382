//! What a key holds: a filter of this module, one that was made by the other module, or one of which
//! not all chunks have arrived. The same for both kinds of filters.

mod charge;
mod chunks;
pub(crate) mod creation;
pub(crate) mod dump;
pub(crate) mod image;
mod imported;
pub(crate) mod insertion;

use std::ffi::{CStr, c_int};
use std::io::{self, Read, Write};
use std::mem::size_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use charge::Charge;
use chunks::FRONT;
pub(crate) use chunks::Incomplete;
pub(crate) use creation::Creates;

use crate::refusal::{LoadRefusal, Refusal};
use crate::server::{AppendOnly, NativeType, RdbReader, TypeSlot, block_bytes, random_bytes};
use crate::settings::{key_memory_limit, limits};
use coua_redisbloom::{self as peer, Chunk, ChunkError, Limits};

/// The encoding of values that this module writes. The module that it stands in for counts its own
/// from 0 on; 1023 is the last that there is.
const ENCODING: c_int = 1000;
/// Bytes that take as long to free as a piece of memory does.
const BYTES_PER_EFFORT: usize = 64 << 10;
/// The first bytes of what is kept of an image that has not arrived as a whole.
const PART_MAGIC: [u8; 8] = *b"CouaPart";
/// The first bytes before a filter of the other module.
const PEER_MAGIC: [u8; 8] = *b"CouaPeer";

/// What a filter begins to count its changes from: another number each time that one is made or read, so
/// that a dump does not go on in another filter than it began in.
pub(crate) fn first_change() -> u64 {
    /// Odd and without pattern: the numbers of two filters differ in the bits that positions show.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static RANDOM: OnceLock<u64> = OnceLock::new();
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    let number = FILTERS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let random = RANDOM.get_or_init(|| u64::from_le_bytes(random_bytes()));
    // Positions show the lowest bits, and the highest of a product are the most varied.
    number.wrapping_add(*random).rotate_left(16)
}

/// A filter of this module as the value of a key.
pub(crate) trait OwnFilter: Send + Sized + 'static {
    /// Writes its image, all that makes it what it is, without the first `start` bytes;
    /// `InvalidInput` if there are not as many.
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()>;

    /// Writes its image.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image, of which these bytes were read already. Memory grows with what arrives.
    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, LoadRefusal>;

    /// The length of the whole image, once enough of its beginning is there to tell.
    fn image_length(begun: &[u8]) -> Option<u64>;

    /// Whether these bytes begin an image.
    fn is_begun(bytes: &[u8]) -> bool;

    /// A number that is another one after every change.
    fn changes(&self) -> u64;

    /// Bytes of memory, the same in a copy.
    fn memory_bytes(&self) -> u64;

    /// Bytes that the allocator has given for them, without the value's own.
    fn allocated_bytes(&self) -> u64;

    /// How many pieces of memory it consists of.
    fn pieces(&self) -> usize;

    /// A copy, if there is memory for it.
    fn try_clone(&self) -> Option<Self>;
}

/// A filter of the other module as the value of a key.
pub(crate) trait ImportedFilter: Send + Sized + 'static {
    /// Reads what the other module dumped.
    fn of_dump(
        input: &mut RdbReader,
        encoding: u32,
        limits: &Limits,
    ) -> Result<Self, peer::LoadError>;
    /// Reads what `write_to` wrote.
    fn read_from(input: &mut dyn Read, limits: &Limits) -> Result<Self, peer::LoadError>;
    /// Writes it as a stream of bytes.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()>;
    /// A filter as the header of a dump describes it, still empty.
    fn of_header(header: &[u8], limits: &Limits) -> Result<Self, peer::LoadError>;
    /// The header.
    fn header(&self) -> Vec<u8>;
    /// The piece at a position.
    fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError>;
    /// Puts a piece into its place.
    fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Result<(), ChunkError>;
    /// Bytes of memory.
    fn memory_bytes(&self) -> u64;
    /// How many pieces of memory it consists of.
    fn pieces(&self) -> usize;
    /// A copy, if there is memory for it.
    fn try_clone(&self) -> Option<Self>;
}

/// A kind of filters.
pub(crate) trait Kind: Send + Sized + 'static {
    /// Those of this module.
    type Own: OwnFilter;
    /// Those of the other module.
    type Imported: ImportedFilter;
    /// The name of the type: the other module's, so that its dump files can be loaded.
    const NAME: &'static CStr;
    /// The command that loads chunks.
    const LOAD_COMMAND: &'static CStr;
    /// The event of a loaded chunk.
    const LOADED: &'static CStr;

    /// Where the server's name for the type is kept.
    fn slot() -> &'static TypeSlot;
}

/// The value of a key.
pub(crate) enum Value<K: Kind> {
    /// Made by this module.
    Own(K::Own),
    /// Made by the other one.
    Imported(K::Imported),
    /// Made by this module, of which some chunks have yet to come.
    Incomplete(Incomplete<K::Own>),
}

impl<K: Kind> Value<K> {
    /// Reads what `write` wrote.
    pub(crate) fn read(input: &mut dyn Read, limits: &Limits) -> Result<Self, LoadRefusal> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        match magic {
            PEER_MAGIC => Ok(Self::Imported(K::Imported::read_from(input, limits)?)),
            PART_MAGIC => Ok(Self::Incomplete(Incomplete::read(input)?)),
            magic => K::Own::read(magic, input).map(Self::Own),
        }
    }

    /// Bytes that the allocator has given for it, with what the server has for every value of a module.
    pub(crate) fn bytes(&self) -> u64 {
        const OF_SERVER: u64 = 2 * 16;
        OF_SERVER + block_bytes(size_of::<Self>() as u64) + self.contents_bytes()
    }

    /// How many pieces of memory it consists of: more when it has grown.
    pub(crate) fn pieces(&self) -> usize {
        match self {
            Self::Own(own) => own.pieces(),
            Self::Imported(imported) => imported.pieces(),
            Self::Incomplete(_) => 1,
        }
    }

    fn contents_bytes(&self) -> u64 {
        match self {
            Self::Own(own) => own.allocated_bytes(),
            Self::Imported(imported) => imported.memory_bytes(),
            Self::Incomplete(incomplete) => incomplete.len(),
        }
    }

    /// For what only filters of this module can do.
    pub(crate) fn own(&self) -> Result<&K::Own, Refusal> {
        match self {
            Self::Own(own) => Ok(own),
            Self::Imported(_) => Err(Refusal::Imported),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }
}

impl<K: Kind> Value<K> {
    /// As [`own`](Self::own), to be changed.
    pub(crate) fn own_mut(&mut self) -> Result<&mut K::Own, Refusal> {
        match self {
            Self::Own(own) => Ok(own),
            Self::Imported(_) => Err(Refusal::Imported),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }
}

impl<K: Kind> NativeType for Value<K> {
    const NAME: &'static CStr = K::NAME;
    const ENCODING: c_int = ENCODING;

    fn slot() -> &'static TypeSlot {
        K::slot()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Own(own) => own.write(out),
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

    fn load(input: &mut RdbReader, encoding: c_int) -> Result<Self, LoadRefusal> {
        let limit = if input.is_request() { key_memory_limit() } else { None };
        if encoding != ENCODING {
            let known = u32::try_from(encoding).map_err(|_| LoadRefusal::Encoding(encoding))?;
            return Ok(Self::Imported(K::Imported::of_dump(input, known, &limits(limit))?));
        }
        // The limit is of memory; that of what is read only keeps it from growing without end.
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_add(FRONT));
        let mut limited = Limited { input, left, exceeded: false };
        let value = Self::read(&mut limited, &limits(limit));
        let is_larger = |value: &Self| match value {
            Self::Own(own) => limit.is_some_and(|limit| own.memory_bytes() > limit),
            // It has been limited already.
            Self::Imported(_) | Self::Incomplete(_) => false,
        };
        let exceeded = limited.exceeded || value.as_ref().is_ok_and(is_larger);
        if let Some(limit) = limit.filter(|_| exceeded) {
            return Err(LoadRefusal::KeyMemory { limit });
        }
        let value = value?;
        if input.is_at_end() { Ok(value) } else { Err(LoadRefusal::Trailing) }
    }

    fn rewrite(&self, out: &mut AppendOnly) -> io::Result<()> {
        match self {
            Self::Own(own) => {
                return chunks::for_each(own, |end, chunk| out.call(K::LOAD_COMMAND, end, chunk));
            }
            Self::Incomplete(incomplete) => {
                incomplete.for_each(|end, chunk| out.call(K::LOAD_COMMAND, end, chunk));
            }
            Self::Imported(imported) => {
                out.call(K::LOAD_COMMAND, 1, &imported.header());
                let mut position = 1;
                while let Ok(Some(chunk)) = dump::piece_of(imported, position) {
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
        // A large piece has many pages to give back.
        self.pieces().max(self.bytes() as usize / BYTES_PER_EFFORT)
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Own(own) => Self::Own(own.try_clone()?),
            Self::Imported(imported) => Self::Imported(imported.try_clone()?),
            Self::Incomplete(incomplete) => Self::Incomplete(incomplete.try_clone()?),
        })
    }
}

/// Ends with an error after a number of bytes.
struct Limited<'a> {
    input: &'a mut RdbReader,
    left: u64,
    exceeded: bool,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.exceeded |= read as u64 > self.left;
        self.left = self.left.saturating_sub(read as u64);
        if self.exceeded { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) }
    }
}
