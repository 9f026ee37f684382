//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two techniques: keys are located, and their buckets prefetched, long before they are processed
//! ([`Prefetcher`]); and inserts take two passes, so that eviction chains are interleaved: while one waits for
//! its next bucket, others step ([`insert`]).

mod chains;
mod deferred;
mod insert;
mod lookup;
mod remove;

pub(crate) use chains::Refusals;

#[cfg(test)]
pub(crate) use insert::LOOKUPS;
