//! Decides from a few numbers whether to append to the log or write a new snapshot, now or in the background.

/// A log of up to this many bytes may follow any snapshot, however small.
const LEAST_LOG: u64 = 1 << 20;

/// A snapshot of this size or more is written in the background. Writing a smaller one takes no longer than a
/// usual commit of the program, which has the records of a few seconds, eight bytes each.
const LEAST_BACKGROUND: u64 = 16 << 20;

/// Below this many bytes of log no commit waits, however small the filter: opening replays them in seconds.
const LEAST_WAIT: u64 = 256 << 20;

/// A snapshot of up to this many bytes is rewritten at the end, so that no log follows it.
const SMALL: u64 = 1 << 20;

/// Limits chosen by the user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of log at which a new snapshot begins; none: depends on the snapshot.
    pub(crate) max_log: Option<u64>,
    /// Filters of this size or more are written in the background.
    pub(crate) background_from: u64,
    /// While a snapshot is written in the background, the log may grow to this size, or to the size of the filter.
    pub(crate) most_waiting: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_log: None, background_from: LEAST_BACKGROUND, most_waiting: LEAST_WAIT }
    }
}

/// How to make the changes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// In the log.
    Append,
    /// In the log; then a thread begins a new snapshot.
    Background,
    /// In a new snapshot, which the commit writes.
    Rewrite,
}

/// The numbers that decide; sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitInputs {
    pub(crate) limits: Limits,
    /// The snapshot; 0 if there is none.
    pub(crate) snapshot: u64,
    /// The filter in memory, from which the next snapshot is made.
    pub(crate) filter: u64,
    /// The log with all changes, including uncommitted ones.
    pub(crate) log: u64,
    /// The notes, which follow any snapshot.
    pub(crate) notes: u64,
    /// A thread is writing a snapshot.
    pub(crate) is_at_work: bool,
}

impl CommitInputs {
    /// The size of the present snapshot, or of the next one if that will be larger.
    pub(crate) fn largest(&self) -> u64 {
        self.snapshot.max(self.filter)
    }

    fn log_limit(&self) -> u64 {
        let quarter = (self.snapshot + self.notes) / 4;
        self.limits.max_log.unwrap_or_else(|| self.notes + quarter.max(LEAST_LOG))
    }

    /// How to commit. Calls `available` for the free memory (none if unknown) only if it matters.
    pub(crate) fn growth(&self, available: impl FnOnce() -> Option<u64>) -> Growth {
        if self.log < self.log_limit() {
            return Growth::Append;
        }
        let is_large = self.snapshot > 0 && self.largest() >= self.limits.background_from;
        if !is_large || self.log >= self.largest().max(self.limits.most_waiting) {
            return Growth::Rewrite;
        }
        if self.is_at_work {
            return Growth::Append;
        }
        // A thread has a filter of its own. A quarter is left to other programs.
        let has_memory = available().is_none_or(|bytes| self.largest() <= bytes / 4 * 3);
        if has_memory { Growth::Background } else { Growth::Rewrite }
    }

    /// Whether to end with a new snapshot, if there is space for one.
    pub(crate) fn is_rewritten_at_end(&self) -> bool {
        self.snapshot <= SMALL || self.log >= self.log_limit()
    }

    /// Whether the log stays below its limit with `changes` more changes.
    pub(crate) fn has_room_for(&self, changes: u64) -> bool {
        // 8 bytes per change, and as much again for the frames of small commits.
        self.log.saturating_add(changes.saturating_mul(16)) <= self.log_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// With sizes in MiB.
    fn commit_inputs(sizes: [u64; 4]) -> CommitInputs {
        let [snapshot, filter, log, notes] = sizes.map(|size| size * MIB);
        let limits = Limits::default();
        CommitInputs { limits, snapshot, filter, log, notes, is_at_work: false }
    }

    #[test]
    fn commits_append_until_a_snapshot_costs_less() {
        use Growth::{Append, Background, Rewrite};
        let plenty = Some(u64::MAX);
        let none = Some(0);
        // Snapshot, filter, log, notes; at work; available memory.
        let table = [
            ([0, 1, 0, 0], false, plenty, Append),
            // 1 MiB after a small snapshot, a quarter after a large one.
            ([1, 1, 1, 0], false, plenty, Rewrite),
            ([4, 4, 1, 0], false, plenty, Rewrite),
            ([12, 12, 2, 0], false, plenty, Append),
            ([12, 12, 3, 0], false, plenty, Rewrite),
            ([400, 400, 99, 0], false, plenty, Append),
            ([400, 400, 100, 0], false, plenty, Background),
            // Notes do not count.
            ([4, 4, 3, 2], false, plenty, Append),
            ([4, 4, 1, 2], false, plenty, Append),
            // The first snapshot is not made from a file.
            ([0, 400, 300, 0], false, plenty, Rewrite),
            // The next snapshot may be the first large one.
            ([12, 15, 3, 0], false, plenty, Rewrite),
            ([12, 16, 3, 0], false, plenty, Background),
            // While a thread is at work, up to the size of the filter and 256 MiB.
            ([20, 20, 255, 0], true, plenty, Append),
            ([20, 20, 256, 0], true, plenty, Rewrite),
            ([20, 20, 256, 0], false, plenty, Rewrite),
            ([20, 300, 299, 0], true, plenty, Append),
            ([20, 300, 300, 0], true, plenty, Rewrite),
            // A thread has a filter of its own.
            ([400, 400, 100, 0], false, none, Rewrite),
            ([400, 400, 100, 0], false, None, Background),
            ([300, 300, 100, 0], false, Some(400 * MIB), Background),
            ([301, 301, 100, 0], false, Some(400 * MIB), Rewrite),
            ([299, 300, 100, 0], false, Some(400 * MIB), Background),
            ([300, 301, 100, 0], false, Some(400 * MIB), Rewrite),
            // No matter while one is at work, and before it is due.
            ([400, 400, 100, 0], true, none, Append),
            ([400, 400, 99, 0], false, none, Append),
        ];
        for (numbers, is_at_work, available, expected) in table {
            let growth = CommitInputs { is_at_work, ..commit_inputs(numbers) }.growth(|| available);
            assert_eq!(growth, expected, "{numbers:?}, {is_at_work}, {available:?}");
        }
    }

    #[test]
    fn limits_decide() {
        let growth = |limits: Limits, log| {
            CommitInputs { limits, ..commit_inputs([12, 12, log, 0]) }.growth(|| None)
        };
        let limits = Limits { max_log: Some(2 * MIB), ..Limits::default() };
        assert_eq!([1, 2].map(|log| growth(limits, log)), [Growth::Append, Growth::Rewrite]);
        let limits = Limits { background_from: 0, ..limits };
        assert_eq!(growth(limits, 2), Growth::Background);
        let limits = Limits { most_waiting: 0, ..limits };
        assert_eq!([11, 12].map(|log| growth(limits, log)), [Growth::Background, Growth::Rewrite]);
    }

    #[test]
    fn small_filters_end_without_a_log() {
        let at_end =
            |snapshot, log| commit_inputs([snapshot, snapshot, log, 0]).is_rewritten_at_end();
        assert!(at_end(1, 0) && !at_end(2, 0));
        assert!(!at_end(400, 99) && at_end(400, 100));
    }

    #[test]
    fn room_is_for_small_commits() {
        let has_room = |changes| commit_inputs([4, 4, 0, 0]).has_room_for(changes);
        assert!(has_room(1 << 16) && !has_room((1 << 16) + 1) && !has_room(u64::MAX));
    }
}
