//! A block: some whole records of one input. And a budget of bytes for blocks with giant records: the queues between
//! threads count blocks, which bounds the memory only if all blocks have the same size.

use crate::runs::Checksum;
use crate::terminal::{Failure, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes in a block, unless a record is longer. Block, hashes and answers together fit the
/// second-level cache of one core.
pub(crate) const BLOCK: usize = 256 * 1024;

/// Bytes in a block where threads share the filter: they wait for each other less often, and each shard has more keys,
/// whose evictions are interleaved.
pub(crate) const LARGE_BLOCK: usize = 4 * BLOCK;

/// From this size on, a block holds a giant record: its memory is limited, and freed afterwards.
pub(crate) const GIANT_BLOCK: usize = 2 * LARGE_BLOCK + 1;

/// Whole records of one input. Blocks are recycled, so nothing is allocated per record.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// All initialized; the records are the first `ends.last()` bytes.
    pub(crate) bytes: Vec<u8>,
    /// Where each record ends, its separator included. It begins where the one before ends.
    pub(crate) ends: Vec<usize>,
    /// The input's name.
    pub(crate) name: Arc<str>,
    /// The input's number, from 0.
    pub(crate) input: usize,
    /// Records of the input before this block.
    pub(crate) records_before: u64,
    /// Where the CSV columns of the key are.
    pub(crate) columns: Option<Arc<Places>>,
    /// The number of first records that are a CSV header and the lines before it.
    pub(crate) leading: usize,
    /// Which header that is.
    pub(crate) header: Header,
    /// The content of the input's header, if it has one. A record that equals it is a header too: files were joined.
    pub(crate) header_again: Option<Arc<[u8]>>,
    /// How the last record ends.
    pub(crate) ending: BlockEnd,
    /// The input has no more bytes at the moment, so the output should be flushed.
    pub(crate) drained: bool,
    /// The failure that ends the input after this block.
    pub(crate) failure: Option<Failure>,
    /// Raw bytes read from all inputs when this block was complete.
    pub(crate) consumed: u64,
    /// Raw bytes of the inputs before this one.
    pub(crate) consumed_before: u64,
    /// The checksum of the raw bytes of this input.
    pub(crate) sum: Checksum,
    /// The block's share of the budget, if it has grown for a giant record.
    pub(crate) share: Option<Share>,
}

/// A part of a list of fields or columns, which are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    One(usize),
    /// This one, and all after it.
    From(usize),
}

impl Item {
    pub(crate) fn highest(self) -> usize {
        match self {
            Self::One(number) => number,
            Self::From(_) => usize::MAX,
        }
    }
}

/// The columns of the key and of the time in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Those of the key, in its order.
    pub(crate) key: Vec<Item>,
    pub(crate) time: Option<usize>,
    /// If the key is all columns but some of a header: a digest of their names, which is part of the key.
    pub(crate) names: Option<String>,
}

impl Places {
    /// The highest column.
    pub(crate) fn highest(&self) -> usize {
        let all = self.key.iter().map(|item| item.highest()).chain(self.time);
        all.max().unwrap_or(0)
    }
}

/// How the last record of a block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    #[default]
    Separator,
    /// The input ended without a separator.
    EndOfInput,
    /// The input ended within quotes.
    OpenQuote,
}

/// The kind of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Header {
    #[default]
    First,
    /// That of a later file.
    Further,
    /// Repeated within a file: files were joined.
    Repeated,
}

/// The failure for a record that is too long for the memory.
pub(crate) fn no_memory(name: &str, bytes: usize) -> Failure {
    Failure::at(name, format_args!("no memory for a record of more than {bytes} bytes"))
}

impl Block {
    /// Whether the record at this place is the input's header, and not a line before it.
    pub(crate) fn has_header_at(&self, place: usize) -> bool {
        place + 1 == self.leading && self.header_again.is_some()
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The records, each with its separator.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let record = &self.bytes[start..end];
            start = end;
            record
        })
    }

    /// The record at this place, with its separator.
    pub(crate) fn record(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Bytes of all records.
    pub(crate) fn size(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Prepares the block for records of an input, with `room` for bytes.
    pub(crate) fn begin(
        &mut self,
        name: &Arc<str>,
        room: usize,
        budget: &Arc<Budget>,
    ) -> Result<()> {
        self.shrink();
        // The content of a block must not depend on the block that used the memory before.
        self.bytes.truncate(room);
        if self.bytes.len() < room {
            self.resize(room, name, budget)?;
        }
        self.ends.clear();
        self.name = name.clone();
        self.records_before = 0;
        self.leading = 0;
        self.ending = BlockEnd::Separator;
        self.drained = false;
        self.failure = None;
        Ok(())
    }

    /// Makes room for a record longer than the block.
    pub(crate) fn grow(&mut self, name: &str, budget: &Arc<Budget>) -> Result<()> {
        self.resize(self.bytes.len().saturating_mul(2), name, budget)
    }

    fn resize(&mut self, size: usize, name: &str, budget: &Arc<Budget>) -> Result<()> {
        if size >= GIANT_BLOCK {
            self.share = Some(budget.share(self.share.take(), size));
        }
        let more = size - self.bytes.len();
        let room = self.bytes.try_reserve_exact(more);
        room.map_err(|_| no_memory(name, self.bytes.len()))?;
        self.bytes.resize(size, 0);
        Ok(())
    }

    /// Frees the memory of a giant record. Returns whether the block held one.
    pub(crate) fn shrink(&mut self) -> bool {
        let is_giant = self.share.is_some();
        if is_giant {
            *self = Self::default();
        }
        is_giant
    }

    /// Forgets the records from this place on.
    pub(crate) fn cut(&mut self, place: usize) {
        if place < self.ends.len() {
            self.ends.truncate(place);
            self.ending = BlockEnd::Separator;
        }
    }

    /// The number within its input, from 1, of the record at this place.
    pub(crate) fn record_number(&self, place: usize) -> u64 {
        self.records_before + place as u64 + 1
    }

    /// What messages call the record at this place.
    pub(crate) fn record_name(&self, place: usize) -> String {
        format!("{}: record {}", self.name, self.record_number(place))
    }
}

/// Bytes that grown blocks may have together. Two may exist in any case, so that one is filled while another
/// is processed.
const MOST: usize = 64 << 20;

/// The memory budget of the grown blocks of a run.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Bytes of all shares.
    bytes: Mutex<usize>,
    returned: Condvar,
}

/// The share of one block, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// Replaces the block's share by one of the given size. Waits until others have returned
    /// enough; they do not depend on the waiting thread, which is the only one that takes shares.
    fn share(self: &Arc<Self>, instead_of: Option<Share>, bytes: usize) -> Share {
        drop(instead_of);
        let mut others = self.bytes();
        while !fits(*others, bytes) {
            others = self.returned.wait(others).unwrap_or_else(PoisonError::into_inner);
        }
        *others += bytes;
        Share { budget: self.clone(), bytes }
    }

    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.bytes() -= self.bytes;
        self.budget.returned.notify_one();
    }
}

/// Whether a block of `bytes` bytes fits if the others have `others` bytes.
fn fits(others: usize, bytes: usize) -> bool {
    others == 0 || others.saturating_add(bytes) <= MOST.max(bytes.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_giant_record_does_not_keep_its_memory() {
        let (mut block, budget) = (Block::default(), Arc::default());
        block.begin(&"x".into(), BLOCK, &budget).unwrap();
        for size in [2 * BLOCK, 4 * BLOCK, 2 * LARGE_BLOCK] {
            block.grow("x", &budget).unwrap();
            block.shrink();
            assert_eq!(block.bytes.len(), size);
        }
        block.grow("x", &budget).unwrap();
        assert!(block.shrink());
        assert_eq!(block.bytes.capacity(), 0);
        block.begin(&"x".into(), BLOCK, &budget).unwrap();
        assert_eq!(block.bytes.len(), BLOCK);
    }

    #[test]
    fn two_blocks_fit_always_and_more_of_them_if_they_are_small() {
        assert!(fits(0, usize::MAX) && fits(1 << 40, 1 << 40) && !fits(1 << 40, 1 << 30));
        assert!(fits(MOST - 1, 1) && !fits(MOST, 1));
        assert!(fits(MOST / 4 * 3, MOST / 4) && !fits(MOST / 2 + 1, MOST / 2));
    }

    #[test]
    fn who_waits_goes_on_when_enough_is_given_back() {
        let budget = Arc::new(Budget::default());
        let [first, second] = [0; 2].map(|_| budget.share(None, MOST / 2));
        let (sender, shares) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(budget.share(None, MOST / 2)).unwrap());
            drop(first);
            let third = shares.recv().unwrap();
            assert_eq!(*budget.bytes(), MOST);
            let smaller = budget.share(Some(third), MOST / 4);
            assert_eq!(*budget.bytes(), MOST / 4 * 3);
            drop((second, smaller));
        });
        assert_eq!(*budget.bytes(), 0);
    }
}
