//! Filters that give memory back in steps: no item is lost, equal filters stay equal, and the memory follows.
#![expect(clippy::unwrap_used, reason = "a test may")]

use coua::{CuckooFilter, KeyHash, Load};

fn mix(number: u64) -> KeyHash {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    KeyHash::from_u64((mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93))
}

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// Filters of many segments: made large, grown, with few bits, and made large and grown.
fn filters() -> impl Iterator<Item = (CuckooFilter, u64)> {
    [(1_000, 64, 300_000), (300_000, 64, 300_000), (1_000, 34, 300_000), (100_000, 40, 400_000)]
        .into_iter()
        .map(|(capacity, bits, items)| {
            let builder = CuckooFilter::builder().hash_bits(bits).capacity(capacity);
            let mut filter = builder.build().unwrap();
            let hashes: Vec<_> = (0..items).map(mix).collect();
            filter.insert_batch(&hashes).unwrap();
            (filter, items)
        })
}

fn check(filter: &CuckooFilter, items: std::ops::Range<u64>) {
    assert_eq!(filter.len(), items.end - items.start);
    assert!(items.clone().all(|item| filter.contains(mix(item))));
    let hashes: Vec<_> = items.map(mix).collect();
    assert!(filter.contains_batch(&hashes).into_iter().all(|is_there| is_there));
    let absent = (1 << 40..).map(mix).take(10_000).filter(|&hash| filter.contains(hash)).count();
    let expected = filter.false_positive_rate() * 10_000.0;
    assert!(absent as f64 <= expected + 5.0 + 5.0 * expected.sqrt(), "{absent} {expected}");
}

#[test]
fn a_filter_that_is_told_what_is_removed_shrinks_and_keeps_the_rest() {
    for (mut filter, items) in filters() {
        let (slots, bytes) = (filter.slots(), filter.memory_bytes());
        let (mut joins, mut reloaded) = (0, None);
        for item in 0..items - 1_000 {
            assert!(filter.remove(mix(item)));
            joins += u32::from(filter.compact_at(mix(item)));
            if let Some(reloaded) = &mut reloaded {
                let reloaded: &mut CuckooFilter = reloaded;
                reloaded.remove(mix(item));
                reloaded.compact_at(mix(item));
            } else if joins == 5 {
                check(&filter, item + 1..items);
                // As on a replica: segments lie elsewhere, and their list has another order.
                reloaded = Some(Load::new().bytes::<CuckooFilter>(&bytes_of(&filter)).unwrap());
            }
            if item % 5_000 == 0 {
                let left = filter.len();
                assert!(filter.slots() <= (left * 9).max(1 << 15), "{left} in {filter:?}");
            }
        }
        check(&filter, items - 1_000..items);
        // The last piece of memory for segments is taken as a whole.
        let most = bytes / 16 + (2 << 20);
        assert!(filter.slots() < slots / 8 && filter.memory_bytes() < most, "{filter:?}");
        let loaded = Load::new().bytes::<CuckooFilter>(&bytes_of(&filter)).unwrap();
        assert_eq!(bytes_of(&loaded), bytes_of(&filter));
        assert_eq!(bytes_of(&reloaded.unwrap()), bytes_of(&filter));
        // It grows again as if nothing had been.
        (0..items - 1_000).for_each(|item| filter.insert(mix(item)).unwrap());
        check(&filter, 0..items);
        // Joined segments that are divided again count as split: they split at a lower load than the planned one.
        assert!(filter.memory_bytes() < bytes * 2, "{filter:?}, {bytes} before");
    }
}

#[test]
fn steps_lead_to_a_small_filter_and_end() {
    for (mut filter, items) in filters() {
        let left = items / 20;
        (left..items).for_each(|item| assert!(filter.remove(mix(item))));
        let (segments, mut steps) = (filter.segments(), 0);
        // As on a replica: segments lie elsewhere, and their list has another order.
        let mut loaded = Load::new().bytes::<CuckooFilter>(&bytes_of(&filter)).unwrap();
        let mut next = Some(KeyHash::from_u64(0));
        while let Some(from) = next {
            next = filter.compact_step(from);
            assert_eq!(loaded.compact_step(from), next);
            steps += 1;
            if steps % 20 == 0 {
                assert_eq!(bytes_of(&loaded), bytes_of(&filter));
            }
        }
        assert!(steps < 2 * segments, "each segment is looked at, and each join: {steps}");
        assert!(filter.segments() < segments);
        check(&filter, 0..left);
        let mut rebuilt = filter.try_clone().unwrap();
        rebuilt.compact();
        assert!(filter.slots() <= (rebuilt.slots() * 3).max(1 << 14), "{filter:?} {rebuilt:?}");
    }
}

/// Segments in which many keys have copies do not join.
#[test]
fn copies_are_kept_when_segments_join() {
    // Counted copies need no slots when segments join; in narrow slots they do.
    for (bits, each, may_join) in [(64, 100, true), (42, 1_000, true), (42, 100, false)] {
        let builder = CuckooFilter::builder().hash_bits(bits).capacity(100_000);
        let mut filter = builder.build().unwrap();
        let copies = |item: u64| if item.is_multiple_of(each) { 1 + item / each % 20 } else { 1 };
        for item in 0..100_000 {
            (0..copies(item)).for_each(|_| filter.insert(mix(item)).unwrap());
        }
        let segments = filter.segments();
        for item in (0..100_000).filter(|item| item % each != 0) {
            assert!(filter.remove(mix(item)));
            filter.compact_at(mix(item));
        }
        let mut next = Some(KeyHash::from_u64(0));
        while let Some(from) = next {
            next = filter.compact_step(from);
        }
        assert_eq!(filter.segments() < segments, may_join, "{filter:?}");
        let kept = || (0..100_000).step_by(each as usize);
        assert!(kept().all(|item| filter.count(mix(item)) == copies(item)));
        for item in kept() {
            (0..copies(item)).for_each(|_| assert!(filter.remove(mix(item))));
        }
        assert!(filter.is_empty());
    }
}
