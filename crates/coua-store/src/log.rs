//! Changes of a filter, as the journal keeps them.

use coua::{BatchFull, CuckooFilter, KeyHash};

use crate::fields::{Fields, put_u32};

/// What was done with a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A copy was added.
    Insert,
    /// A copy was taken away.
    Remove,
}

/// Hashes in one run of changes at most.
const MOST_IN_RUN: usize = 1 << 16;

/// Changes that are not in the journal yet.
#[derive(Debug, Default)]
pub(crate) struct Log {
    bytes: Vec<u8>,
    /// The kind of the last run, and where its count stands.
    run: Option<(Change, usize)>,
}

impl Log {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.run = None;
    }

    pub(crate) fn push(&mut self, change: Change, hash: KeyHash) {
        let count_at = match self.run {
            Some((same, at)) if same == change && self.count(at) < MOST_IN_RUN => at,
            _ => self.begin(change),
        };
        let count = self.count(count_at) as u32 + 1;
        self.bytes[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
        self.bytes.extend_from_slice(&hash.to_u64().to_le_bytes());
    }

    fn begin(&mut self, change: Change) -> usize {
        put_u32(
            &mut self.bytes,
            match change {
                Change::Insert => 1,
                Change::Remove => 2,
            },
        );
        let at = self.bytes.len();
        put_u32(&mut self.bytes, 0);
        self.run = Some((change, at));
        at
    }

    fn count(&self, at: usize) -> usize {
        Fields::new(&self.bytes[at..]).u32().unwrap_or(0) as usize
    }
}

/// Why changes cannot be done again.
#[derive(Debug)]
pub(crate) enum Unrepeatable {
    /// The bytes are not what a log writes.
    Bytes,
    /// The filter refuses.
    Full(BatchFull),
}

/// Does logged changes again. On the filter they were made on this gives the same bytes.
pub(crate) fn repeat(filter: &mut CuckooFilter, log: &[u8]) -> Result<(), Unrepeatable> {
    let (mut fields, mut hashes, mut removed) = (Fields::new(log), Vec::new(), Vec::new());
    while !fields.is_at_end() {
        let change = match fields.u32() {
            Some(1) => Change::Insert,
            Some(2) => Change::Remove,
            _ => return Err(Unrepeatable::Bytes),
        };
        let count = fields.u32().filter(|&count| count as usize <= MOST_IN_RUN);
        let bytes = count.and_then(|count| fields.bytes(8 * count as usize));
        let Some(mut run) = bytes.map(Fields::new) else { return Err(Unrepeatable::Bytes) };
        hashes.clear();
        hashes.extend(std::iter::from_fn(|| run.u64()).map(KeyHash::from_u64));
        match change {
            Change::Insert => filter.insert_hash_batch(&hashes).map_err(Unrepeatable::Full)?,
            Change::Remove => filter.remove_hash_batch(&hashes, &mut removed),
        }
    }
    Ok(())
}
