//! The journal: what changed since the snapshot, in frames that are there whole or not at all.
//!
//! ```text
//! header | frame | frame | ...
//! ```
//!
//! `docs/journal.md` is the normative description. A transaction is any number of frames of changes
//! and one that commits them.

mod frame;
mod scan;
mod torn;
mod write;

pub(crate) use frame::{Head, Kind, MOST_PAYLOAD};
pub(crate) use scan::{Contents, Scan};
pub(crate) use write::{Journal, Tail, Transaction};

use xxhash_rust::xxh3::xxh3_64;

use crate::damage::Damage;
use crate::fields::{Fields, put_u32, put_u64};

/// How a journal begins.
pub(crate) const MAGIC: [u8; 8] = *b"\x8aCOUJ\r\n\x1a";
/// What is written; version 1 is read too.
const VERSION: u16 = 2;
pub(crate) const HEADER_BYTES: u64 = 64;
/// Of a checkpoint's payload, before the progress.
pub(crate) const TURN_BYTES: u64 = 24;

/// Which snapshot: its whole checksum and its length. All zero before there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) checksum: u64,
    pub(crate) bytes: u64,
}

impl Identity {
    /// Bytes at the end of a snapshot that tell: the whole checksum, and the end mark (docs/format.md,
    /// section 6).
    pub(crate) const END: usize = 16;

    /// Of a snapshot of so many `bytes` that ends with these. Anything, if it is no snapshot.
    pub(crate) fn of(end: &[u8], bytes: u64) -> Self {
        let checksum = end.first_chunk().copied().unwrap_or_default();
        Self { checksum: u64::from_le_bytes(checksum), bytes }
    }
}

/// A place between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes from the beginning of the journal.
    pub(crate) at: u64,
    /// The number of the frame that follows.
    pub(crate) sequence: u64,
}

impl Mark {
    /// Where the first frame stands.
    pub(crate) const FIRST: Self = Self { at: HEADER_BYTES, sequence: 0 };
}

/// What stands at the beginning of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u16,
    pub(crate) snapshot: Identity,
}

impl Header {
    pub(crate) fn of(snapshot: Identity) -> Self {
        Self { version: VERSION, snapshot }
    }

    /// Whether a checkpoint tells from where on its snapshot lacks the changes.
    pub(crate) fn has_from(self) -> bool {
        self.version > 1
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        put_u32(&mut out, HEADER_BYTES as u32);
        put_u64(&mut out, self.snapshot.checksum);
        put_u64(&mut out, self.snapshot.bytes);
        out.resize(HEADER_BYTES as usize - 8, 0);
        let sum = xxh3_64(&out);
        put_u64(&mut out, sum);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        if bytes.len() < HEADER_BYTES as usize || bytes[..8] != MAGIC {
            return Err(Damage::NotAJournal);
        }
        let (covered, sum) = bytes.split_at(HEADER_BYTES as usize - 8);
        let mut fields = Fields::new(&covered[8..]);
        let Some(version) = fields.u16() else { return Err(Damage::NotAJournal) };
        if version == 0 || version > VERSION {
            return Err(Damage::Version { found: version });
        }
        if Fields::new(sum).u64() != Some(xxh3_64(covered)) {
            return Err(Damage::Checksum);
        }
        let reserved = fields.u16().unwrap_or(1);
        let length = fields.u32().unwrap_or(0);
        let mut number = || fields.u64().unwrap_or(0);
        let snapshot = Identity { checksum: number(), bytes: number() };
        let rest = [number(), number(), number()];
        if u64::from(length) != HEADER_BYTES {
            return Err(Damage::Field { name: "header length", found: u64::from(length) });
        }
        match rest.into_iter().chain([u64::from(reserved)]).find(|&field| field != 0) {
            Some(found) => Err(Damage::Field { name: "reserved", found }),
            None => Ok(Self { version, snapshot }),
        }
    }
}
