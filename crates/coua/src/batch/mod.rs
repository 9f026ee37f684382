//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two means. Keys are located, and their buckets prefetched, long before they are served
//! ([`Prefetcher`]). And inserts take two passes, so that eviction chains run interleaved: while one waits for
//! its next bucket, others step ([`insert`]).

mod chains;
mod deferred;
mod insert;
mod lookup;
mod remove;
