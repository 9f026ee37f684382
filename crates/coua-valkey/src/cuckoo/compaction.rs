//! Frees memory, within the time that a command may take.
//!
//! A step depends only on the filter and on its start position. The primary sends both to its replicas,
//! where the step does the same.

use coua::{CuckooFilter, KeyHash};
use xxhash_rust::xxh3::Xxh3;

use crate::parse::integer;

/// Nanoseconds that a step may take; the next constants are approximate costs in nanoseconds.
const MOST: u64 = 2_500_000;
/// Per slot and item of a rebuilt filter.
const PER_SLOT: u64 = 4;
const PER_ITEM: u64 = 25;
/// The number of items that are rebuilt in this time, whatever the load of their filter.
pub(super) const QUICKLY_REBUILT: u64 = 1 << 16;
/// Per slot of two joined segments.
const PER_SLOT_JOINED: u64 = 30;
/// Per filter or segment examined.
const LOOK: u64 = 100;

/// Where a compaction continues: in which part of a filter (a generation of a filter with a window, or a
/// RedisBloom sub-filter), and from which hash or slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactionPosition {
    pub(crate) part: u64,
    pub(crate) from: u64,
}

impl CompactionPosition {
    /// Parses two words of a command.
    pub(crate) fn of(words: [&[u8]; 2]) -> Option<Self> {
        let [part, from] = words.map(|word| integer(word).map(i64::cast_unsigned));
        Some(Self { part: part?, from: from? })
    }

    /// Formats them as words of a command.
    pub(crate) fn arguments(self) -> [String; 2] {
        [self.part, self.from].map(|number| number.cast_signed().to_string())
    }
}

/// The result of a compaction step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compaction {
    pub(crate) has_changed: bool,
    /// Where the next step continues; `None` at the end.
    pub(crate) next: Option<CompactionPosition>,
}

/// The time left in a step.
pub(super) struct Time(u64);

impl Time {
    /// A full step.
    pub(super) fn all() -> Self {
        Self(MOST)
    }

    fn spend(&mut self, nanoseconds: u64) {
        self.0 = self.0.saturating_sub(nanoseconds);
    }

    /// How many segments of a filter may be joined with their siblings in this time.
    pub(super) fn joins(&self, filter: &CuckooFilter) -> usize {
        (self.0 / join_time(filter)).max(1) as usize
    }
}

/// Whether a rebuild takes no longer than a command may.
pub(super) fn is_quickly_rebuilt(filter: &CuckooFilter) -> bool {
    rebuild_time(filter) <= MOST
}

fn rebuild_time(filter: &CuckooFilter) -> u64 {
    let of_items = filter.len().saturating_mul(PER_ITEM);
    LOOK.saturating_add(filter.slots().saturating_mul(PER_SLOT)).saturating_add(of_items)
}

fn join_time(filter: &CuckooFilter) -> u64 {
    filter.slots() / filter.segments() as u64 * PER_SLOT_JOINED
}

/// Compacts a filter, or a generation, from a hash on, while time is left. Returns whether it changed, and the
/// hash where the next step continues.
pub(super) fn compact(
    filter: &mut CuckooFilter,
    from: u64,
    time: &mut Time,
) -> (bool, Option<u64>) {
    if is_quickly_rebuilt(filter) {
        let takes = rebuild_time(filter);
        if takes > time.0 {
            return (false, Some(from));
        }
        time.spend(takes);
        // A rebuilt filter may have grown back at once.
        let before = contents(filter);
        filter.compact();
        return (contents(filter) != before, None);
    }
    let (mut has_changed, mut next) = (false, Some(from));
    while let Some(from) = next.filter(|_| time.0 > 0) {
        let takes = join_time(filter);
        next = filter.compact_step(KeyHash::from_u64(from)).map(KeyHash::to_u64);
        // After a join, the same segment comes next, because it may have split again.
        let has_joined = next.is_some_and(|next| next <= from);
        has_changed |= has_joined;
        time.spend(if has_joined { takes } else { LOOK });
    }
    (has_changed, next)
}

/// A checksum of the whole filter.
fn contents(filter: &CuckooFilter) -> Option<u64> {
    let mut sum = Xxh3::new();
    filter.write_to(&mut sum).ok().map(|()| sum.digest())
}
