//! One frame: a head with its own checksum, a payload, and a mark at the end.

use xxhash_rust::xxh3::xxh3_64;

use crate::damage::Damage;
use crate::fields::{Fields, put_u32, put_u64};

pub(super) const MAGIC: [u8; 4] = *b"FRAM";
/// Never zero, so that the last sector of a frame is never all zero.
const END_MAGIC: [u8; 8] = *b"FRAM-END";
pub(crate) const HEAD_BYTES: u64 = 48;
pub(crate) const END_BYTES: u64 = 8;
/// Writers cut their changes into much smaller pieces.
pub(crate) const MOST_PAYLOAD: u64 = 64 << 20;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes, valid once they are committed.
    Changes,
    /// Commits the changes before it, with the progress.
    Commit,
    /// As a commit, if the snapshot that it names has replaced the one of this journal.
    Checkpoint,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) sequence: u64,
    /// The checksum of the snapshot to which the journal belongs.
    pub(crate) snapshot: u64,
    pub(crate) payload_bytes: u64,
    payload_sum: u64,
}

impl Head {
    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        HEAD_BYTES + self.payload_bytes + END_BYTES
    }

    /// Appends a frame.
    pub(crate) fn write(
        out: &mut Vec<u8>,
        kind: Kind,
        sequence: u64,
        snapshot: u64,
        payload: &[u8],
    ) {
        let begin = out.len();
        out.extend_from_slice(&MAGIC);
        put_u32(
            out,
            match kind {
                Kind::Changes => 1,
                Kind::Commit => 2,
                Kind::Checkpoint => 3,
            },
        );
        for number in [sequence, snapshot, payload.len() as u64, xxh3_64(payload)] {
            put_u64(out, number);
        }
        let sum = xxh3_64(&out[begin..]);
        put_u64(out, sum);
        out.extend_from_slice(payload);
        out.extend_from_slice(&END_MAGIC);
    }

    /// None if these are not the bytes of a head.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Result<Self, Damage>> {
        let (covered, sum) = bytes.get(..HEAD_BYTES as usize)?.split_at(HEAD_BYTES as usize - 8);
        if covered[..4] != MAGIC || Fields::new(sum).u64()? != xxh3_64(covered) {
            return None;
        }
        let mut fields = Fields::new(&covered[4..]);
        let kind = match fields.u32()? {
            1 => Kind::Changes,
            2 => Kind::Commit,
            3 => Kind::Checkpoint,
            found => {
                return Some(Err(Damage::Field { name: "frame kind", found: u64::from(found) }));
            }
        };
        let head = Self {
            kind,
            sequence: fields.u64()?,
            snapshot: fields.u64()?,
            payload_bytes: fields.u64()?,
            payload_sum: fields.u64()?,
        };
        if head.payload_bytes > MOST_PAYLOAD {
            let found = head.payload_bytes;
            return Some(Err(Damage::Field { name: "payload length", found }));
        }
        Some(Ok(head))
    }

    /// The payload, if it and the mark at the end, which `rest` is, are what the head says.
    pub(crate) fn payload<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let (payload, end) = rest.split_at_checked(self.payload_bytes as usize)?;
        (end == END_MAGIC && xxh3_64(payload) == self.payload_sum).then_some(payload)
    }
}
