//! One frame: a head with its own checksum, a payload, and a mark at the end.

use xxhash_rust::xxh3::xxh3_64;

use super::{put_u32, put_u64, take_u32, take_u64};
use crate::error::Damage;

pub(super) const MAGIC: [u8; 4] = *b"FRAM";
/// Never zero, so that the last sector of a frame is never all zero.
const END_MAGIC: [u8; 8] = *b"FRAM-END";
pub(crate) const HEAD_BYTES: u64 = 48;
pub(crate) const END_BYTES: u64 = 8;
/// Writers divide their changes into much smaller pieces.
pub(crate) const MOST_PAYLOAD: u64 = 64 << 20;

/// The kind of a frame, with its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes of the filter, valid once they are committed.
    Changes = 1,
    /// Commits the frames before it.
    Commit = 2,
    /// Changes of the notes, valid once they are committed.
    Notes = 3,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        let all = [Self::Changes, Self::Commit, Self::Notes];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) sequence: u64,
    /// The checksum of the snapshot to which the frame belongs.
    pub(crate) snapshot: u64,
    pub(crate) payload_bytes: u64,
    payload_sum: u64,
    /// The checksum of all other fields.
    pub(super) sum: u64,
}

impl Head {
    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        HEAD_BYTES + self.payload_bytes + END_BYTES
    }

    /// Appends a frame. Returns the checksum of its head.
    pub(super) fn write(
        out: &mut Vec<u8>,
        kind: Kind,
        sequence: u64,
        snapshot: u64,
        payload: &[u8],
    ) -> u64 {
        let begin = out.len();
        out.extend_from_slice(&MAGIC);
        put_u32(out, kind as u32);
        for number in [sequence, snapshot, payload.len() as u64, xxh3_64(payload)] {
            put_u64(out, number);
        }
        let sum = xxh3_64(&out[begin..]);
        put_u64(out, sum);
        out.extend_from_slice(payload);
        out.extend_from_slice(&END_MAGIC);
        sum
    }

    /// None if these bytes are not a head.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Result<Self, Damage>> {
        let (covered, sum) = bytes.get(..HEAD_BYTES as usize)?.split_last_chunk()?;
        let sum = u64::from_le_bytes(*sum);
        if covered[..4] != MAGIC || sum != xxh3_64(covered) {
            return None;
        }
        let mut fields = &covered[4..];
        let number = take_u32(&mut fields)?;
        let Some(kind) = Kind::of(number) else {
            return Some(Err(Damage::Kind { found: number }));
        };
        let head = Self {
            kind,
            sequence: take_u64(&mut fields)?,
            snapshot: take_u64(&mut fields)?,
            payload_bytes: take_u64(&mut fields)?,
            payload_sum: take_u64(&mut fields)?,
            sum,
        };
        if head.payload_bytes > MOST_PAYLOAD {
            let found = head.payload_bytes;
            return Some(Err(Damage::Field { name: "payload length", found }));
        }
        Some(Ok(head))
    }

    /// Whether `rest` is its payload and the mark at the end.
    pub(super) fn is_followed_by(&self, rest: &[u8]) -> bool {
        let (payload, end) = rest.split_at(self.payload_bytes as usize);
        end == END_MAGIC && xxh3_64(payload) == self.payload_sum
    }
}

/// The digest of a transaction's frames, which its commit frame stores: a copy of a file that is being written
/// may have the first frames of a transaction that was rolled back, and the last of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransactionDigest {
    heads: Vec<u8>,
}

impl TransactionDigest {
    /// Adds a frame by the checksum of its head.
    pub(crate) fn add(&mut self, head: u64) {
        put_u64(&mut self.heads, head);
    }

    /// The payload of the frame that commits the frames so far. Begins the next transaction.
    pub(crate) fn commit(&mut self) -> [u8; 8] {
        let sum = xxh3_64(&self.heads);
        self.clear();
        sum.to_le_bytes()
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
    }
}
