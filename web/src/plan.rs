//! The size of a planned filter, and of others for comparison.

#![expect(unsafe_code, reason = "the names of exported functions")]

use coua::CuckooFilter;
use coua::sizing::peers;

use crate::state::with;
use crate::view::array;

/// The bytes of each kind of `../page/sizes.js`, for `items` items at this false-positive rate (JSON); null where a kind
/// cannot reach the rate.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn plan(items: f64, rate: f64) -> i32 {
    let sizes = sizes(items as u64, rate)
        .map(|bytes| bytes.map_or_else(|| "null".to_owned(), |bytes| bytes.to_string()));
    with(|state| state.answer::<String>(Ok(array(sizes))))
}

fn sizes(items: u64, rate: f64) -> [Option<u64>; 6] {
    let cuckoo = CuckooFilter::builder().capacity(items).rate(rate).plan();
    // A block of 256 bits reaches low rates only by being almost empty.
    let blocked_bloom = peers::blocked_bloom(items, rate)
        .filter(|&bytes| bytes < items.saturating_mul(125).max(1 << 20));
    [
        cuckoo.ok().map(|plan| plan.bytes),
        peers::bloom(items, rate),
        blocked_bloom,
        peers::quotient(items, rate),
        peers::binary_fuse(items, rate),
        Some(peers::hash_set(items, 8)),
    ]
}
