//! The size of a planned filter, and of others for comparison.

#![expect(unsafe_code, reason = "the names of exported functions")]

use coua::CuckooFilter;
use coua::sizing::peers;
use serde::Serialize;

use crate::state::with;

/// Bytes; missing where a structure cannot reach the rate.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sizes {
    cuckoo: Option<u64>,
    bloom: Option<u64>,
    blocked_bloom: Option<u64>,
    quotient: Option<u64>,
    binary_fuse: Option<u64>,
    hash_set: u64,
}

/// Plans for `items` items at this false-positive rate (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn plan(items: f64, rate: f64) -> i32 {
    let sizes = sizes(items as u64, rate);
    with(|state| state.answer(&sizes, 0))
}

fn sizes(items: u64, rate: f64) -> Sizes {
    let cuckoo =
        CuckooFilter::builder().capacity(items).rate(rate).plan().ok().map(|plan| plan.bytes);
    Sizes {
        cuckoo,
        bloom: peers::bloom(items, rate),
        // A block of 256 bits reaches low rates only by being almost empty.
        blocked_bloom: peers::blocked_bloom(items, rate)
            .filter(|&bytes| bytes < items.saturating_mul(125).max(1 << 20)),
        quotient: peers::quotient(items, rate),
        binary_fuse: peers::binary_fuse(items, rate),
        hash_set: peers::hash_set(items, 8),
    }
}
