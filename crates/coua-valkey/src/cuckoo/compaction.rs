//! Frees memory: a filter, or each generation of one with a window, is rebuilt as a whole.
//!
//! A step depends only on the filter and on its start position. The primary sends both to its replicas,
//! where the step does the same.

use coua::CuckooFilter;

use crate::error::CommandError;
use crate::parse::integer;
use crate::redisbloom::CompactionPosition;

/// Nanoseconds after which a step begins no other generation; the next constants are approximate costs in nanoseconds.
pub(super) const STEP_TIME: u64 = 2_500_000;
/// Per slot and item of a rebuilt filter.
const PER_SLOT: u64 = 2;
const PER_ITEM: u64 = 25;
/// The number of items that are rebuilt in this time, whatever the load of their filter.
pub(super) const QUICKLY_REBUILT: u64 = 1 << 16;
/// Per filter examined.
const LOOK: u64 = 100;

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

/// Nanoseconds that a rebuild takes.
pub(super) fn rebuild_time(filter: &CuckooFilter) -> u64 {
    let of_items = filter.len().saturating_mul(PER_ITEM);
    LOOK.saturating_add(filter.slots().saturating_mul(PER_SLOT)).saturating_add(of_items)
}

/// Rebuilds a filter, or a generation, and returns whether it changed.
pub(super) fn compact(filter: &mut CuckooFilter) -> Result<bool, CommandError> {
    let before = filter.slots();
    filter.compact().map_err(|_| CommandError::NoMemory)?;
    Ok(filter.slots() != before)
}
