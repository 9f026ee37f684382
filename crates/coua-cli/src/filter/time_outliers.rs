//! Records whose time is so far ahead that a window would forget everything: usually a wrong year.
//!
//! Such a record is held until the time of the next one confirms it or shows that it is an outlier. It is new in either
//! case. Times near the present need no confirmation.

use crate::clock::present as present_time;
use crate::filter::op::Op;
use crate::pipeline::Batch;
use crate::terminal::counted;
use coua::window::{Clock, Generations, When, Window};
use coua::{BatchFull, Insertion, KeyHash};

/// The held record, and the count of outliers.
#[derive(Debug, Default)]
pub(super) struct TimeOutliers {
    held: Option<Held>,
    left_out: u64,
    first_left_out: Option<String>,
}

#[derive(Debug)]
struct Held {
    hash: KeyHash,
    time: u64,
    /// For messages.
    name: String,
}

/// The keys to insert instead of a batch.
#[derive(Debug, Default)]
pub(super) struct CheckedKeys {
    hashes: Vec<KeyHash>,
    times: Vec<u64>,
    /// The place of each key in the batch; `None` for a held record of an earlier batch.
    places: Vec<Option<usize>>,
    /// The number of keys of the batch.
    keys: usize,
}

impl TimeOutliers {
    /// Restores the record that an earlier run has held, from its [`note`](Self::note).
    pub(super) fn with_held(note: Option<&[u8]>) -> Self {
        let held = note.and_then(|note| {
            let (hash, time) = note.split_first_chunk()?;
            Some(Held {
                hash: KeyHash::from_u64(u64::from_le_bytes(*hash)),
                time: u64::from_le_bytes(time.try_into().ok()?),
                name: "a record of an earlier run".to_owned(),
            })
        });
        Self { held, ..Self::default() }
    }

    /// The held record, for the next run.
    pub(super) fn note(&self) -> Option<[u8; 16]> {
        let Held { hash, time, .. } = self.held.as_ref()?;
        let mut note = [0; 16];
        note[..8].copy_from_slice(&hash.to_u64().to_le_bytes());
        note[8..].copy_from_slice(&time.to_le_bytes());
        Some(note)
    }

    /// The keys to insert instead of those of a batch; `None` to insert them unchanged.
    pub(super) fn check(&mut self, filter: &Generations, batch: &Batch) -> Option<CheckedKeys> {
        let window = filter.window().filter(|window| window.clock() == Clock::Given)?;
        let (hashes, times) = (&batch.keys.hashes, &batch.keys.times);
        let (first, latest) = (*times.first()?, *times.iter().max()?);
        let mut present = Present { clock: filter.clock(), window };
        let mut begin = present;
        begin.advance(if begin.clock > 0 { 0 } else { first });
        if self.held.is_none() && !begin.forgets_all(latest) {
            return None;
        }
        let believed = present_time().saturating_sub(window.length() + window.step());
        let mut checked = CheckedKeys { keys: hashes.len(), ..CheckedKeys::default() };
        let name = |place| batch.block.record_name(batch.keys.record_of_hash(place));
        // The place of the held record, if it is in this batch.
        let mut held_at = None;
        for (place, (hash, time)) in hashes.iter().zip(times).enumerate() {
            let is_ahead = present.forgets_all(*time);
            if let Some(held) = self.held.take() {
                if is_ahead {
                    checked.push(held.hash, held.time, None);
                    present.advance(held.time);
                } else {
                    self.left_out += 1;
                    // A record's name needs a pass over the whole batch.
                    let first = || held_at.map_or(held.name, name);
                    self.first_left_out.get_or_insert_with(first);
                }
            }
            if present.forgets_all(*time) && *time < believed {
                self.held = Some(Held { hash: *hash, time: *time, name: String::new() });
                held_at = Some(place);
            } else {
                checked.push(*hash, *time, Some(place));
                present.advance(*time);
            }
        }
        if let (Some(held), Some(place)) = (&mut self.held, held_at) {
            held.name = name(place);
        }
        Some(checked)
    }

    /// The message about the outliers.
    pub(super) fn note_left_out(&self) -> Option<String> {
        let first = self.first_left_out.as_ref()?;
        let records = counted(self.left_out, "record");
        Some(format!(
            "{first}: dated more than a window after its neighbors; not remembered: {records}"
        ))
    }

    /// The message about the held record, which the next run may confirm.
    pub(super) fn note_held(&self) -> Option<String> {
        let Held { name, .. } = self.held.as_ref()?;
        Some(format!(
            "{name}: dated more than a window after the records before it; remembered once the next record \
             confirms the time"
        ))
    }
}

/// The present time of a filter that takes its time from the items.
#[derive(Clone, Copy, Debug)]
struct Present {
    clock: u64,
    window: Window,
}

impl Present {
    /// Whether the filter would forget all its items at `time`. False without items.
    fn forgets_all(self, time: u64) -> bool {
        self.clock > 0
            && time.saturating_sub(self.clock) >= self.window.length() + self.window.step()
    }

    fn advance(&mut self, time: u64) {
        self.clock = self.clock.max(time - time % self.window.step());
    }
}

impl CheckedKeys {
    fn push(&mut self, hash: KeyHash, time: u64, place: Option<usize>) {
        self.hashes.push(hash);
        self.times.push(time);
        self.places.push(place);
    }

    /// Hashes, and their times.
    pub(super) fn parts(&self) -> (&[KeyHash], When<'_>) {
        (&self.hashes, When::Each(&self.times))
    }

    /// Turns the outcomes of the inserted keys into those of the batch. A held record is new.
    pub(super) fn restore(
        &self,
        outcomes: &mut Vec<Insertion>,
        result: Result<(), BatchFull>,
        op: Op,
    ) -> Result<(), BatchFull> {
        let result = result.map_err(|mut stopped| {
            let mut rest = self.places[stopped.done..].iter().flatten();
            stopped.done = rest.next().copied().unwrap_or(self.keys);
            stopped
        });
        if op == Op::Dedup || op == Op::AddNew {
            let mut all = vec![Insertion::Inserted; self.keys];
            for (place, outcome) in self.places.iter().zip(&*outcomes) {
                if let Some(place) = place {
                    all[*place] = *outcome;
                }
            }
            *outcomes = all;
        }
        result
    }
}
