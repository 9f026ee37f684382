//! Held against a real peer (`golden`), a plain twin (`twins`), hostile bytes (`hostile`) and
//! hand-made dumps of old encodings (`encodings`).

mod dump;
mod encodings;
mod golden;
mod hash;
mod hostile;
mod twins;

use super::sub_filter::{DEFAULT_SEED, Shape, SubFilter};
use super::{Limits, LoadError, PeerCuckoo};

impl PeerCuckoo {
    /// An empty filter as the peer reserves it: sizes are rounded up to powers of two.
    fn with_capacity(
        capacity: u64,
        bucket_size: u16,
        max_iterations: u16,
        expansion: u16,
    ) -> Result<Self, LoadError> {
        let buckets = capacity.checked_div(u64::from(bucket_size)).unwrap_or(0).max(1);
        let rounded = expansion.checked_next_power_of_two().filter(|_| expansion > 0);
        let shape = Shape {
            buckets: buckets.checked_next_power_of_two().unwrap_or(0),
            bucket_size,
            max_iterations,
            expansion: rounded.unwrap_or(expansion),
            seed: DEFAULT_SEED,
        };
        Self::build(shape, 1, &Limits::default(), |shape, size| Ok(SubFilter::empty(shape, size)?))
    }

    /// All steps of a compaction.
    fn compact(&mut self) {
        let mut next = self.compact_step(None).next;
        while next.is_some() {
            next = self.compact_step(next).next;
        }
    }
}
