//! How much room to make in a filter whose number of items nobody has said.
//!
//! Growth by itself is right but costs time: each rebuild or split touches every item again. With
//! regular files the number of items can be foreseen: what share of the bytes has been read, how
//! many items they brought, and how many of the latest records were new. First occurrences get rarer
//! as a stream goes on, so the first forecasts, made of the first records, are taken by less than
//! half; too much room would never be given back.

/// No forecast before this many records: the beginning of a file is not typical.
const FIRST_RECORDS: u64 = 20_000;
/// Share of a forecast to make room for while little of the input is known.
const EARLY_TRUST: f64 = 0.4;
/// Share of the input from which on forecasts are trusted.
const KNOWN_ENOUGH: f64 = 0.25;
/// Above this share of its capacity a filter is nearly full.
const NEARLY_FULL: f64 = 0.97;

/// A moment of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    /// Raw bytes read.
    pub(crate) consumed: u64,
    pub(crate) records: u64,
    /// Items in the filter.
    pub(crate) items: u64,
    /// Items that the filter has room for.
    pub(crate) capacity: u64,
}

/// Foresees the number of items.
#[derive(Debug)]
pub(crate) struct Forecast {
    total_bytes: u64,
    /// The present stretch of the input, over which new items are counted, and the one before.
    latest: Moment,
    before: Moment,
}

impl Forecast {
    /// None if the inputs' size is not known.
    pub(crate) fn new(total_bytes: Option<u64>) -> Option<Self> {
        let (latest, before) = (Moment::default(), Moment::default());
        total_bytes.map(|total_bytes| Self {
            total_bytes,
            latest,
            before,
        })
    }

    /// How many more items to make room for, if it is time for that.
    pub(crate) fn advise(&mut self, now: Moment) -> Option<u64> {
        // Stretches of a sixteenth: rates of new items are counted over one or two of them.
        if now.consumed.saturating_sub(self.latest.consumed) > self.total_bytes / 16 {
            self.before = self.latest;
            self.latest = now;
        }
        let nearly_full = now.items as f64 > now.capacity as f64 * NEARLY_FULL;
        if !nearly_full || now.records < FIRST_RECORDS {
            return None;
        }
        let expected = self.expected_more(now);
        (expected > now.items / 50).then_some(expected)
    }

    /// Items that the rest of the input will bring.
    fn expected_more(&self, now: Moment) -> u64 {
        let read = now.consumed as f64;
        let rest = (self.total_bytes as f64 - read).max(0.0);
        let stretch = (now.consumed - self.before.consumed).max(1) as f64;
        let fresh = (now.items.saturating_sub(self.before.items)) as f64 / stretch;
        let expected = rest * fresh;
        if read < self.total_bytes as f64 * KNOWN_ENOUGH {
            (expected * EARLY_TRUST) as u64
        } else {
            expected as u64
        }
    }
}
