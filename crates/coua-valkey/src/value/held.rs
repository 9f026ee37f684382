//! The value of a key.

use std::ffi::{CStr, c_int};
use std::io::{self, Read, Write};
use std::mem::size_of;

use super::chunks::{self, Incomplete};
use super::filter::{FRONT, Kind, MOST_PARTS, OwnFilter as _, PART};
use super::imported::piece_of;
use crate::redisbloom::{Limits, PeerFilter as _};
use crate::refusal::{LoadRefusal, Refusal};
use crate::server::{AppendOnly, NativeType, RdbReader, TypeSlot, block_bytes};
use crate::settings::{key_memory_limit, limits};

/// The encoding of values that this module writes. The module that it stands in for counts its own
/// from 0 on; 1023 is the last that there is.
const ENCODING: c_int = 1000;
/// Bytes that take as long to free as a piece of memory does.
const BYTES_PER_EFFORT: usize = 64 << 10;
/// The first bytes of what is kept of an image that has not arrived as a whole.
const PART_MAGIC: [u8; 8] = *b"CouaPart";
/// The first bytes before a filter of the other module.
const PEER_MAGIC: [u8; 8] = *b"CouaPeer";

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
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        const OF_SERVER: u64 = 2 * 16;
        OF_SERVER + block_bytes(size_of::<Self>() as u64) + self.contents_bytes()
    }

    /// How many pieces of memory it consists of: more when it has grown.
    pub(crate) fn pieces(&self) -> usize {
        match self {
            Self::Own(own) => own.pieces(),
            Self::Imported(imported) => imported.arrays().count(),
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

    /// What a filter tells, of whichever module.
    pub(crate) fn of_either<T>(
        &self,
        own: impl FnOnce(&K::Own) -> T,
        imported: impl FnOnce(&K::Imported) -> T,
    ) -> Result<T, Refusal> {
        match self {
            Self::Own(filter) => Ok(own(filter)),
            Self::Imported(filter) => Ok(imported(filter)),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// As [`of_either`](Self::of_either), of a filter that is changed.
    pub(crate) fn change_either<T>(
        &mut self,
        own: impl FnOnce(&mut K::Own) -> T,
        imported: impl FnOnce(&mut K::Imported) -> T,
    ) -> Result<T, Refusal> {
        match self {
            Self::Own(filter) => Ok(own(filter)),
            Self::Imported(filter) => Ok(imported(filter)),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
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
            return Ok(Self::Imported(K::Imported::read(input, known, &limits(limit))?));
        }
        // The limit is of memory; that of what is read only keeps it from growing without end.
        let most = |limit: u64| limit.saturating_add(FRONT + PART * MOST_PARTS);
        let left = limit.map_or(u64::MAX, most);
        let mut limited = Limited { input, left, exceeded: false };
        let value = Self::read(&mut limited, &limits(limit));
        let is_larger = |value: &Self| match value {
            Self::Own(own) => limit.is_some_and(|limit| own.memory_bytes() > limit),
            Self::Incomplete(incomplete) => limit.is_some_and(|limit| incomplete.exceeds(limit)),
            // It has been limited already.
            Self::Imported(_) => false,
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
        // A large piece has many pages to give back.
        self.pieces().max(self.bytes() as usize / BYTES_PER_EFFORT)
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Own(own) => Self::Own(own.try_clone()?),
            Self::Imported(imported) => Self::Imported(imported.try_clone().ok()?),
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
