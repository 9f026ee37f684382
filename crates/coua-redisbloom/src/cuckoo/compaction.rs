//! Giving memory back after removals: items of newer sub-filters move into older ones.
//!
//! A compaction goes through the slots of each sub-filter, the newest one first, and frees the last ones once they are
//! empty, as the peer does. It can be done in steps, each of which takes about as long, whatever the filter's size.

use super::PeerCuckoo;
use super::sub_filter::SubFilter;

/// `remove` compacts by itself as long as that asks at most this many pairs of buckets of
/// [`SMALL_BUCKET`] slots, or as much of larger ones: a few milliseconds. The peer has no such limit, and
/// holds up its server.
const MAX_COMPACTION: u64 = 1 << 19;
/// Buckets of fewer slots take as long to ask: for their memory.
const SMALL_BUCKET: u64 = 8;
/// What a step does: it looks at this many slots, or asks older sub-filters for room for 32 times fewer fingerprints.
const STEP: u64 = 1 << 19;
/// Asking an older sub-filter for room takes as long as looking at so many slots, as its buckets are not in the
/// processor's caches.
const ASKING: u64 = 32;

/// Where a compaction goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the sub-filter that is being emptied.
    pub sub_filter: u64,
    /// Its slot.
    pub slot: u64,
}

/// What a step of a compaction has done.
#[derive(Debug)]
pub struct Compaction {
    /// Whether an item was moved, or memory freed.
    pub has_changed: bool,
    /// Where the next step begins; none after the last one.
    pub next: Option<Position>,
    /// Memory that is not used any more. To give it back may take the system a while.
    pub freed: Vec<Vec<u8>>,
}

impl PeerCuckoo {
    /// Moves items from newer sub-filters into older ones, and frees those at the end that have become
    /// empty. Takes its time with a large filter.
    pub fn compact(&mut self) {
        let mut next = self.compact_step(None).next;
        while next.is_some() {
            next = self.compact_step(next).next;
        }
    }

    /// A step of [`compact`](Self::compact), from a position on, or from the beginning: some milliseconds at most. What it
    /// does follows from the filter and the position alone.
    pub fn compact_step(&mut self, from: Option<Position>) -> Compaction {
        let mut done = Compaction { has_changed: false, next: None, freed: Vec::new() };
        let mut left = STEP;
        let newest = self.sub_filters.len() - 1;
        let (mut number, mut slot) = (newest, 0);
        if let Some(from) = from {
            number = from.sub_filter.min(newest as u64) as usize;
            slot = from.slot as usize;
        }
        while number > 0 {
            let before = self.sub_filters[number].used();
            let stopped = self.drain(number, slot, &mut left);
            done.has_changed |= self.sub_filters[number].used() < before;
            done.freed.extend(self.free_empty());
            if let Some(slot) = stopped {
                done.next = Some(Position { sub_filter: number as u64, slot: slot as u64 });
                break;
            }
            // Several may have been empty.
            (number, slot) = ((number - 1).min(self.sub_filters.len() - 1), 0);
        }
        done.has_changed |= !done.freed.is_empty();
        if done.next.is_none() {
            done.has_changed |= self.has_compacted();
        }
        done
    }

    /// Compacts a small filter when more than a tenth of its items have gone; up to the first sub-filter that could not be
    /// emptied, as those before it cannot be freed.
    pub(super) fn compact_after_removal(&mut self) {
        let is_due = self.deletes as f64 > self.items as f64 * 0.10;
        if self.sub_filters.len() == 1 || !is_due || self.pairs() > MAX_COMPACTION {
            return;
        }
        let mut newest = self.sub_filters.len() - 1;
        while newest > 0 {
            self.drain(newest, 0, &mut { u64::MAX });
            if !self.sub_filters[newest].is_empty() {
                break;
            }
            self.free_empty();
            newest = self.sub_filters.len() - 1;
        }
        self.has_compacted();
    }

    /// Pairs of small buckets that a compaction asks at most.
    fn pairs(&self) -> u64 {
        let slots = self.sub_filters.iter().map(|sub_filter| sub_filter.slots().len() as u64);
        slots
            .zip(0..)
            .map(|(slots, older)| slots.saturating_mul(older))
            .fold(0, u64::saturating_add)
            .saturating_mul(u64::from(self.shape.bucket_size).max(SMALL_BUCKET))
            / SMALL_BUCKET
    }

    /// Moves what can be moved out of a sub-filter, from a slot on, until nothing is `left` of the time; the slot that is
    /// next then.
    fn drain(&mut self, number: usize, slot: usize, left: &mut u64) -> Option<usize> {
        let bucket_size = u64::from(self.shape.bucket_size).max(SMALL_BUCKET);
        let asking = ASKING * number as u64 * bucket_size / SMALL_BUCKET;
        let (older, rest) = self.sub_filters.split_at_mut(number);
        let drained = rest.first_mut()?;
        for slot in slot..drained.slots().len() {
            if drained.is_empty() {
                break;
            }
            if *left == 0 {
                return Some(slot);
            }
            let is_used = drained.move_into(older, slot);
            *left = left.saturating_sub(if is_used { asking } else { 1 });
        }
        None
    }

    /// Takes out the newest sub-filters that are empty, but not the first.
    fn free_empty(&mut self) -> Vec<Vec<u8>> {
        let used = self.sub_filters.iter().rposition(|sub_filter| !sub_filter.is_empty());
        let left = used.map_or(1, |newest| newest + 1);
        self.sub_filters.drain(left..).map(SubFilter::into_slots).collect()
    }

    /// Notes the end of a compaction; whether that changes anything.
    fn has_compacted(&mut self) -> bool {
        let before = (self.items, self.deletes);
        self.items = self.items.min(self.slots());
        self.deletes = 0;
        (self.items, self.deletes) != before
    }
}
