//! The module's settings, with RedisBloom's names and defaults where it has them; and the module's counters, which
//! `INFO coua` shows.

use std::sync::atomic::AtomicU64;

use crate::redisbloom::Limits;
use crate::server::{Call, Setting, Unit};

/// The largest capacity of a new filter: 2^30 items. It may grow further.
pub(crate) const MOST_CAPACITY: i64 = 1 << 30;

/// Default capacity of a cuckoo filter.
pub(crate) static CF_INITIAL_SIZE: Setting =
    Setting::new(c"cf-initial-size", Unit::Number, 1024, 2..=MOST_CAPACITY);
/// Default BUCKETSIZE.
pub(crate) static CF_BUCKET_SIZE: Setting =
    Setting::new(c"cf-bucket-size", Unit::Number, 2, 1..=255);
/// Default MAXITERATIONS.
pub(crate) static CF_MAX_ITERATIONS: Setting =
    Setting::new(c"cf-max-iterations", Unit::Number, 20, 1..=65_535);
/// Default EXPANSION.
pub(crate) static CF_EXPANSION_FACTOR: Setting =
    Setting::new(c"cf-expansion-factor", Unit::Number, 1, 0..=32_768);
/// The most sub-filters of an imported cuckoo filter.
pub(crate) static CF_MAX_EXPANSIONS: Setting =
    Setting::new(c"cf-max-expansions", Unit::Number, 32, 1..=65_535);
/// Bytes of memory that a key may take; 0 = no limit.
pub(crate) static KEY_MEMORY_LIMIT: Setting =
    Setting::new(c"key-memory-limit", Unit::Bytes, 0, 0..=i64::MAX);

/// All of them.
pub(crate) const ALL: &[&Setting] = &[
    &CF_INITIAL_SIZE,
    &CF_BUCKET_SIZE,
    &CF_MAX_ITERATIONS,
    &CF_EXPANSION_FACTOR,
    &CF_MAX_EXPANSIONS,
    &KEY_MEMORY_LIMIT,
];

/// The limit of memory per key, if there is one.
pub(crate) fn key_memory_limit() -> Option<u64> {
    u64::try_from(KEY_MEMORY_LIMIT.value()).ok().filter(|&limit| limit > 0)
}

/// The limit of memory per key for a call: `None` if it repeats an earlier decision.
pub(crate) fn key_memory_limit_of(call: &Call<'_>) -> Option<u64> {
    // In this order, because most servers have no limit, and the second check is slow.
    key_memory_limit().filter(|_| !call.is_replicated())
}

/// The limits of filters of the other module in a call that may take `memory_limit` bytes for a key.
pub(crate) fn limits_of(call: &Call<'_>, memory_limit: Option<u64>) -> Limits {
    let limits = limits(memory_limit);
    if call.is_replicated() { Limits { sub_filters: u32::MAX, ..limits } } else { limits }
}

/// The limits of RedisBloom filters: the settings of this server, or fixed ones for a command that was accepted
/// elsewhere.
pub(crate) fn limits(key_memory_limit: Option<u64>) -> Limits {
    let sub_filters = u32::try_from(CF_MAX_EXPANSIONS.value()).unwrap_or(u32::MAX);
    let default = Limits::default();
    Limits { bytes: key_memory_limit.unwrap_or(u64::MAX).min(default.bytes), sub_filters }
}

/// Items that were inserted since the module was loaded.
pub(crate) static INSERTED: AtomicU64 = AtomicU64::new(0);
/// Items that were removed.
pub(crate) static REMOVED: AtomicU64 = AtomicU64::new(0);
/// Items that were refused because a filter was full or memory was short.
pub(crate) static REFUSED: AtomicU64 = AtomicU64::new(0);
/// How often a filter grew.
pub(crate) static GROWTHS: AtomicU64 = AtomicU64::new(0);
/// How often one command moved all items of a filter without a window to another table.
pub(crate) static REBUILDS: AtomicU64 = AtomicU64::new(0);
