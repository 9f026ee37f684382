//! How much room to make in a filter if the number of items is not given.
//!
//! A filter grows automatically, but each growth moves some of its items, and on average a quarter of its memory is
//! room for later items. For regular files the number of items can be estimated instead, from the share of the bytes
//! read so far and the share of new records. New records get rarer as a stream goes on; the forecast assumes that their
//! share keeps falling by the same factor per record as last. (For records drawn at random from a fixed set that is
//! exactly right. For word-like frequencies the estimate is too low, and the filter grows; for a file that repeats
//! itself after a while it is too high.)
//!
//! A forecast only replaces a growth of the filter that would take more memory. So a file needs no more memory than the
//! same records from a pipe, and a wrong forecast never changes an answer.

use coua::CuckooFilter;

/// The share of the input between the first marks.
const FIRST_STEP: f64 = 1.0 / 256.0;
/// With fewer records of the whole input a forecast is useless, and the filter grows quickly.
const FEWEST_RECORDS: u64 = 50_000;
/// Room beyond the forecast: its usual error, without that of a small sample.
const MARGIN: f64 = 0.01;
/// The share of its capacity from which a filter is nearly full: before its first segments grow.
const NEARLY_FULL: f64 = 0.85;
/// A growth below this share of its items is left to the filter.
const SMALL_GROWTH: f64 = 0.05;

/// The state of a run at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    /// Raw bytes read.
    consumed: u64,
    records: u64,
    /// Items in the filter.
    items: u64,
    /// The capacity of the filter.
    capacity: u64,
}

/// Forecasts the number of items.
#[derive(Debug)]
pub(crate) struct Forecast {
    total_bytes: f64,
    /// The records to wait for.
    fewest_records: u64,
    /// The last moments, after equal amounts of input, oldest first.
    marks: Vec<Moment>,
    /// Bytes between two marks.
    step: f64,
    /// Records read so far.
    records: u64,
}

/// Marks kept; at twice this number, every second one is dropped.
const MARKS: usize = 16;

impl Forecast {
    /// A forecast for one of `shards` shards, which share the records equally. `None` if the size of the inputs is not
    /// known.
    pub(crate) fn new(total_bytes: Option<u64>, shards: usize) -> Option<Self> {
        let total_bytes = total_bytes? as f64;
        Some(Self {
            total_bytes,
            fewest_records: FEWEST_RECORDS / shards as u64,
            marks: vec![Moment::default()],
            step: total_bytes * FIRST_STEP,
            records: 0,
        })
    }

    /// The number of further items for which the filter should reserve room, if a forecast is due after `consumed` raw bytes in all and
    /// `records` more records.
    pub(crate) fn more_items(
        &mut self,
        consumed: u64,
        records: usize,
        filter: &CuckooFilter,
    ) -> Option<u64> {
        self.records += records as u64;
        let (records, items, capacity) = (self.records, filter.len(), filter.capacity());
        let more = self.advise(Moment { consumed, records, items, capacity })?;
        Some(more.min(filter.max_items().saturating_sub(items)))
    }

    /// The number of further items to make room for, if a forecast is due.
    fn advise(&mut self, now: Moment) -> Option<u64> {
        self.mark(now);
        let nearly_full = now.items as f64 > now.capacity as f64 * NEARLY_FULL;
        if now.records < self.fewest_records || !nearly_full {
            return None;
        }
        let margin = MARGIN + (now.records as f64).sqrt().recip();
        // After a single block of the input there is nothing to compare.
        let more = self.items_to_come(now)? * (1.0 + margin);
        let (items, room) = (now.items as f64, now.capacity.saturating_sub(now.items) as f64);
        // By itself, the filter makes room for at least as many items again.
        let is_worth_it = more > room + items * SMALL_GROWTH && more < items;
        is_worth_it.then_some(more as u64)
    }

    fn mark(&mut self, now: Moment) {
        let last = self.marks.last().map_or(0, |mark| mark.consumed);
        if ((now.consumed - last) as f64) < self.step {
            return;
        }
        self.marks.push(now);
        if self.marks.len() > 2 * MARKS {
            self.marks = self.marks.iter().step_by(2).copied().collect();
            self.step *= 2.0;
        }
    }

    /// The number of items that the rest of the input will add. It counts by records: a shard gets more of them from one
    /// byte of input than from another.
    fn items_to_come(&self, now: Moment) -> Option<f64> {
        let first = self.marks.first()?;
        let middle_at = u64::midpoint(first.records, now.records);
        let middle = self.marks.iter().min_by_key(|mark| mark.records.abs_diff(middle_at))?;
        let before = new_per_record(first, middle)?;
        let lately = new_per_record(middle, &now)?;
        if lately <= 0.0 {
            return Some(0.0);
        }
        // The middles of the two chunks are half the records so far apart.
        let distance = (now.records - first.records) as f64 / 2.0;
        let decay = (before / lately).ln().max(0.0) / distance;
        let rest_bytes = (self.total_bytes - now.consumed as f64).max(0.0);
        let rest = rest_bytes * (now.records as f64 / now.consumed as f64);
        // Half a chunk has passed since the middle of the latest one.
        let half_chunk = (now.records - middle.records) as f64 / 2.0;
        let present = lately * (-decay * half_chunk).exp();
        let reach = if decay * rest > 1e-9 { -(-decay * rest).exp_m1() / decay } else { rest };
        Some(present * reach)
    }
}

/// The share of new items among the records between two moments.
fn new_per_record(from: &Moment, to: &Moment) -> Option<f64> {
    let records = to.records.checked_sub(from.records).filter(|records| *records > 0)?;
    Some(to.items.saturating_sub(from.items) as f64 / records as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: u64 = 20_000_000;
    const RECORD_BYTES: u64 = 65;

    /// Simulates an input whose first `r` records have `items(r)` different ones; returns the capacities after each
    /// forecast.
    fn capacities(items: impl Fn(f64) -> f64) -> Vec<u64> {
        let mut forecast = Forecast::new(Some(RECORDS * RECORD_BYTES), 1).unwrap();
        let mut capacity = 15_000;
        let mut reserved = Vec::new();
        for records in (0..=RECORDS).step_by(4000) {
            let now_items = items(records as f64) as u64;
            // Without a forecast, it doubles.
            while capacity < now_items {
                capacity *= 2;
            }
            let consumed = records * RECORD_BYTES;
            let now = Moment { consumed, records, items: now_items, capacity };
            if let Some(more) = forecast.advise(now) {
                capacity = capacity.max(now_items + more);
                reserved.push(capacity);
            }
        }
        reserved
    }

    #[test]
    fn draws_from_a_fixed_set_are_estimated() {
        let set = 26.2e6;
        let reserved = capacities(|records| set * (1.0 - (-records / set).exp()));
        let truth = set * (1.0 - (-(RECORDS as f64) / set).exp());
        assert_eq!(reserved.len(), 1, "{reserved:?}");
        let ratio = reserved[0] as f64 / truth;
        assert!((1.0..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn only_new_records_are_estimated() {
        let reserved = capacities(|records| records);
        assert_eq!(reserved.len(), 1);
        assert!((RECORDS..RECORDS * 102 / 100).contains(&reserved[0]), "{reserved:?}");
    }

    #[test]
    fn only_repeats_need_no_room() {
        assert!(capacities(|records| records.min(10_000.0)).is_empty());
    }

    /// A shard's records come in lumps: its share of the input is not even.
    #[test]
    fn a_shard_needs_as_little_room_as_the_whole() {
        let (records, shards) = (600_000_u64, 8);
        let mut forecast = Forecast::new(Some(records * RECORD_BYTES), shards).unwrap();
        let (mut of_shard, mut capacity) = (0, 1_000);
        for (number, block) in (1..).zip((0..records).step_by(16_000)) {
            of_shard += 2_000 + number * 7_919 % 101 - 50;
            let consumed = (block + 16_000).min(records) * RECORD_BYTES;
            // Segments that are fuller than the average grow earlier, and others later.
            while capacity * 102 / 100 < of_shard {
                capacity *= 2;
            }
            let now = Moment { consumed, records: of_shard, items: of_shard, capacity };
            if let Some(more) = forecast.advise(now) {
                capacity = of_shard + more;
            }
        }
        let ratio = capacity as f64 / of_shard as f64;
        assert!((0.99..1.06).contains(&ratio), "{ratio}");
    }

    /// Nothing tells that the second half repeats the first.
    #[test]
    fn a_list_that_comes_twice_takes_no_more_room_than_from_a_pipe() {
        let half = RECORDS as f64 / 2.0;
        assert!(capacities(|records| records.min(half)).is_empty());
    }

    #[test]
    fn word_like_news_are_followed() {
        let reserved = capacities(|records| 30.0 * records.powf(0.75));
        let truth = 30.0 * (RECORDS as f64).powf(0.75);
        let last = *reserved.last().unwrap() as f64;
        assert!(last < truth * 1.05, "{reserved:?} for {truth}");
        assert!(reserved.len() <= 10, "{reserved:?}");
    }

    #[test]
    fn unknown_or_empty_inputs_are_left_alone() {
        assert!(Forecast::new(None, 1).is_none());
        let mut empty = Forecast::new(Some(0), 1).unwrap();
        assert_eq!(empty.advise(Moment::default()), None);
    }
}
