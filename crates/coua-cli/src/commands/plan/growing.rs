//! The memory of filters that have grown past what they were planned for.

use coua::sizing::CuckooPlan;

/// The most that a grown filter takes, in memory of one planned for its items. All segments fill, and split in
/// two, around the same number of items: just after that they are half as full as planned. The tenth is for
/// chance, and for lists of segments that double.
const MOST: f64 = 2.1;
/// Memory is taken in pieces of this size, the last of which is not full.
const PIECE: u64 = 2 << 20;

/// The least and the most bytes that a filter takes that has grown to as many items as a plan has.
pub(super) fn bytes(plan: &CuckooPlan) -> [u64; 2] {
    [plan.bytes, ((plan.bytes as f64 * MOST) as u64).saturating_add(PIECE)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::{CuckooFilter, KeyHash, Layout};

    /// The finalizer of `MurmurHash3`.
    fn mix(number: u64) -> KeyHash {
        let first = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let second = (first ^ (first >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        KeyHash::from_u64(second ^ (second >> 33))
    }

    /// From a hundred thousand items on: small filters are as large as their first table.
    #[test]
    fn a_growing_filter_stays_within_the_range() {
        for (hash_bits, layout, slots) in [
            (30, Layout::Buckets, 4),
            (40, Layout::Buckets, 4),
            (64, Layout::Buckets, 4),
            (48, Layout::Buckets, 1),
            (64, Layout::Overlapping, 2),
        ] {
            let builder = CuckooFilter::builder().hash_bits(hash_bits).layout(layout);
            let builder = builder.slots_per_bucket(slots);
            let mut filter = builder.clone().build().unwrap();
            let (mut least, mut most) = (f64::MAX, 0.0_f64);
            for items in 1..=2_400_000 {
                filter.insert(mix(items)).unwrap();
                if items < 100_000 || items % 20_000 > 0 {
                    continue;
                }
                let plan = builder.clone().capacity(items).plan().unwrap();
                let [least_bytes, most_bytes] = bytes(&plan);
                let (range, bytes) = (least_bytes..=most_bytes, filter.memory_bytes() as u64);
                assert!(range.contains(&bytes), "{items}: {bytes} is not in {range:?} {filter:?}");
                let ratio = bytes as f64 / plan.bytes as f64;
                (least, most) = (least.min(ratio), most.max(ratio));
            }
            // The range is no wider than it must be.
            assert!(least < 1.1 && most > 1.8, "{least} to {most} {filter:?}");
        }
    }
}
