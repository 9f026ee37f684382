//! What the key of a cuckoo filter holds.

use std::ffi::{CStr, c_int};
use std::io;
use std::mem::size_of;

use super::chunks::{self, Incomplete};
use super::image::{self, Image};
use super::own::OwnFilter;
use crate::refusal::{LoadRefusal, Refusal};
use crate::server::{AppendOnly, Digest, NativeType, RdbReader, RdbWriter, TypeSlot};
use crate::settings::key_memory_limit;

/// The encoding of values that this module writes. The module that it stands in for counts its own
/// from 0 on; 1023 is the last that there is.
const ENCODING: c_int = 1000;

/// A cuckoo filter.
#[expect(clippy::large_enum_variant, reason = "nearly all are large, and a box costs an access")]
pub(crate) enum CuckooValue {
    /// Made by this module.
    Own(OwnFilter),
    /// Made by this module, of which some chunks have yet to come.
    Incomplete(Incomplete),
}

impl CuckooValue {
    /// The filter, of whichever kind, to be changed in ways that only this module's own know.
    pub(crate) fn own_mut(&mut self) -> Result<&mut OwnFilter, Refusal> {
        match self {
            Self::Own(own) => Ok(own),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// The filter, of whichever kind, for what only this module's own can do.
    pub(crate) fn own(&self) -> Result<&OwnFilter, Refusal> {
        match self {
            Self::Own(own) => Ok(own),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }
}

impl NativeType for CuckooValue {
    // The name that the module which this one stands in for gave its cuckoo filters: so its dump
    // files can be loaded.
    const NAME: &'static CStr = c"MBbloomCF";
    const ENCODING: c_int = ENCODING;
    const LOAD_COMMAND: &'static CStr = c"CF.LOADCHUNK";

    fn slot() -> &'static TypeSlot {
        static SLOT: TypeSlot = TypeSlot::new();
        &SLOT
    }

    fn save(&self, out: &mut RdbWriter) -> io::Result<()> {
        match self {
            Self::Own(own) => image::write(own, out),
            Self::Incomplete(incomplete) => incomplete.write(out),
        }
    }

    fn load(input: &mut RdbReader, encoding: c_int) -> Result<Self, LoadRefusal> {
        if encoding != ENCODING {
            return Err(LoadRefusal::Encoding(encoding));
        }
        let limit = if input.is_request() { key_memory_limit() } else { None };
        let value = match image::read(&mut *input, limit)? {
            Image::Filter(own) => Self::Own(own),
            Image::Incomplete(bytes) => Self::Incomplete(Incomplete::of(bytes)),
        };
        if input.is_at_end() { Ok(value) } else { Err(LoadRefusal::Trailing) }
    }

    fn rewrite(&self, out: &mut AppendOnly) -> io::Result<()> {
        match self {
            Self::Own(own) => chunks::for_each(own, |end, chunk| out.call(end, chunk)),
            Self::Incomplete(incomplete) => {
                incomplete.for_each(|end, chunk| out.call(end, chunk));
                Ok(())
            }
        }
    }

    fn digest(&self, out: &mut Digest) -> io::Result<()> {
        match self {
            Self::Own(own) => image::write(own, out),
            Self::Incomplete(incomplete) => incomplete.write(out),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Own(own) => {
                size_of::<Self>() - size_of::<OwnFilter>() + own.memory_bytes() as usize
            }
            Self::Incomplete(incomplete) => size_of::<Self>() + incomplete.bytes().len(),
        }
    }

    fn free_effort(&self) -> usize {
        match self {
            Self::Own(own) => own.filter().segments(),
            Self::Incomplete(_) => 1,
        }
    }

    fn copy(&self) -> Option<Self> {
        match self {
            Self::Own(own) => own.try_clone().ok().map(Self::Own),
            Self::Incomplete(incomplete) => incomplete.try_clone().map(Self::Incomplete),
        }
    }
}
