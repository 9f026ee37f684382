//! The law: with n items, a filter of H hash bits says "yes" to an absent key with probability
//! n / 2^H. And the plan: a filter made for n items takes them, in the bytes that were planned.

use std::ops::RangeInclusive;

use coua::window::When;
use coua::{CuckooFilter, Filter, IfPresent, Insertion, KeyHash, WhenFull};

use coua_dev::cases::{few_usual_or_all, sample};
use coua_dev::instruction_sets;
use coua_dev::random::Random;

/// Asks for hashes that were never inserted, and compares the share of "yes" with the law. At least so
/// many, and enough to expect 25 times "yes".
///
/// Two of n items may fall together, so that the exact share is 1 - (1 - 2^-H)^n; n / 2^H is its
/// first term, and its upper bound.
fn check_rate(filter: &CuckooFilter, queries: u64, what: &str) {
    let share = filter.len() as f64 / filter.hash_bits().exp2();
    let exact = -(-share).exp_m1();
    let queries = queries.max((25.0 / exact) as u64);
    let random = &mut Random::new(0xfeed);
    let mut wrong = 0;
    let mut hashes = Vec::new();
    for _ in 0..queries.div_ceil(4096) {
        hashes.clear();
        hashes.extend((0..4096).map(|_| KeyHash::from_u64(random.next())));
        let answers = filter.contains_batch(&hashes);
        wrong += answers.iter().filter(|&&present| present).count() as u64;
    }
    let asked = (queries.div_ceil(4096) * 4096) as f64;
    // Chance in the queries, and in how many of the items fall together.
    let cells = filter.hash_bits().exp2();
    let together = cells * ((-share).exp() - (1.0 + share) * (-2.0 * share).exp());
    let variance = asked * exact * (1.0 - exact) + (asked / cells).powi(2) * together;
    let deviation = variance.sqrt().max(1.0);
    let wrong = wrong as f64;
    assert!(
        (wrong - asked * exact).abs() < 5.0 * deviation,
        "{what}: {wrong} wrong of {asked}, {:.1} expected: {filter:?}",
        asked * exact
    );
    assert!(wrong < asked * filter.false_positive_rate() + 5.0 * deviation, "{what}");
}

fn fill(filter: &mut CuckooFilter, random: &mut Random, items: u64) {
    let mut left = items;
    while left > 0 {
        let hashes = random.many(left.min(10_000) as usize, KeyHash::from_u64);
        filter.insert_batch(&hashes).expect("room for what was planned");
        left -= hashes.len() as u64;
    }
}

#[test]
fn the_rate_of_a_planned_filter_is_the_stated_one() {
    let queries = 400_000;
    for (items, rate) in
        [(100, 0.3), (1_000, 0.05), (1_000, 0.01), (30_000, 0.1), (30_000, 1e-3), (200_000, 1e-4)]
    {
        let builder = CuckooFilter::builder();
        let mut filter = builder.capacity(items).rate(rate).build().unwrap();
        let random = &mut Random::new(items);
        for _ in 0..3 {
            fill(&mut filter, random, items / 3);
            check_rate(&filter, queries, "planned");
        }
        assert!(filter.false_positive_rate() <= rate);
        // Where the narrowest fingerprint does more than asked for, no bit can be saved.
        let wasted = filter.false_positive_rate() < rate / 2.1;
        assert!(!wasted || rate > 0.04, "{filter:?}");
    }
}

#[test]
fn the_rate_stays_with_the_hash_bits_through_growth() {
    // Above `most` the fingerprints would be at their narrowest; below `fewest` "yes" is too rare.
    for (bits, fewest, most) in [(22, 0, 15_000), (28, 900, 920_000), (31, 15_000, 920_000)] {
        let builder = CuckooFilter::builder();
        let mut filter = builder.capacity(1_000).hash_bits(bits).build().unwrap();
        let random = &mut Random::new(u64::from(bits));
        let start = filter.slots();
        // Before growth, and after at least so many doublings.
        for (items, doublings) in [(900, 0), (1_800, 1), (15_000, 3), (920_000, 9)] {
            if items > most {
                break;
            }
            let more = items - filter.len();
            fill(&mut filter, random, more);
            assert!(filter.slots() >= start << doublings, "{items}: {filter:?}");
            assert!(doublings > 0 || filter.slots() == start, "{items}: {filter:?}");
            if items >= fewest {
                check_rate(&filter, 400_000, "growth");
            }
        }
    }
}

#[test]
fn the_rate_stays_with_the_hash_bits_whatever_is_done() {
    let build = || {
        let builder = CuckooFilter::builder();
        builder.capacity(20_000).hash_bits(24).build().unwrap()
    };
    let random = &mut Random::new(2);
    let (mut filter, mut other) = (build(), build());
    fill(&mut filter, random, 40_000);
    fill(&mut other, random, 90_000);
    filter.merge(&other).unwrap();
    check_rate(&filter, 400_000, "merge");
    filter.reserve(300_000).unwrap();
    check_rate(&filter, 400_000, "reserve");
    let coarse = filter.convert(filter.len() as f64 / 2f64.powi(21)).unwrap();
    check_rate(&coarse, 400_000, "convert to 21 bits");
    let rate = filter.convert(0.05).unwrap();
    assert!(rate.false_positive_rate() <= 0.05 && rate.false_positive_rate() > 0.025);
    check_rate(&rate, 400_000, "convert to a rate");
    filter.compact().unwrap();
    check_rate(&filter, 400_000, "compact");
}

#[test]
fn the_rate_holds_up_to_max_items() {
    let builder = CuckooFilter::builder();
    let builder = builder.capacity(100).max_items(50_000).rate(0.01);
    let mut filter = builder.clone().build().unwrap();
    fill(&mut filter, &mut Random::new(3), 50_000);
    assert!(filter.false_positive_rate() <= 0.01);
    check_rate(&filter, 400_000, "max_items");
    // Items in one cell beyond a bucket's worth cost no slot; with one slot that is every second.
    let hashes = Random::new(4).many(2_000, KeyHash::from_u64);
    assert!(filter.insert_batch(&hashes).is_err());
    let builder = builder.rate(1e-4);
    let mut beyond = builder.when_full(WhenFull::ExceedRate).build().unwrap();
    fill(&mut beyond, &mut Random::new(3), 150_000);
    check_rate(&beyond, 400_000, "beyond max_items");
}

/// However coarse the rate and small the start: all items that were announced find room.
fn check_growth(most: u64, start: u64, rate: f64) {
    let builder = CuckooFilter::builder();
    let mut filter =
        builder.capacity(start).max_items(most).rate(rate).build().expect("a valid description");
    fill(&mut filter, &mut Random::new(most ^ start), most);
    assert!(filter.false_positive_rate() <= rate, "{filter:?}");
}

#[test]
fn a_growing_filter_reaches_its_max_items() {
    for rate in [0.9, 0.3, 0.1, 0.05, 0.02, 1e-3] {
        for (most, start) in [(10, 1), (3_000, 1), (3_000, 2_999), (70_000, 100)] {
            check_growth(most, start, rate);
        }
    }
    check_growth(1_000_000, 1_000, 0.2);
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn a_growing_filter_reaches_millions() {
    for rate in [0.9, 0.5, 0.3, 0.2, 0.1, 0.07, 0.05, 0.03, 0.02] {
        for (most, start) in [(1_300_000, 10_000), (5_000_000, 70_000)] {
            check_growth(most, start, rate);
        }
    }
}

/// Items wrongly taken for seen while n distinct ones are de-duplicated: n^2 / 2^(H + 1).
#[test]
fn wrongly_dropped_items_are_as_many_as_expected() {
    for (items, bits) in [(1_000_000u64, 32), (300_000, 29), (1_000_000, 64)] {
        let mut filter = CuckooFilter::builder().hash_bits(bits).build().unwrap();
        let random = &mut Random::new(5);
        let mut dropped = 0;
        let mut outcomes = Vec::new();
        for _ in 0..items / 1_000 {
            filter
                .insert_each(
                    &random.many(1_000, KeyHash::from_u64),
                    When::Now,
                    IfPresent::Skip,
                    &mut outcomes,
                )
                .unwrap();
            dropped += outcomes.iter().filter(|&&o| o == Insertion::AlreadyPresent).count();
        }
        let expected = (items as f64).powi(2) / f64::from(bits + 1).exp2();
        let far = (dropped as f64 - expected).abs();
        assert!(far < 5.0 * expected.sqrt().max(0.1), "{dropped} dropped, {expected:.1} expected");
    }
}

/// Bytes of an empty filter besides its table: the value itself, and a list of up to four levels.
const BYTES_BESIDE: RangeInclusive<u64> =
    size_of::<CuckooFilter>() as u64..=size_of::<CuckooFilter>() as u64 + 450;

/// Fills a filter made for `items` items; true to plan in items, bytes and bits.
fn check_capacity(items: u64, rate: f64) {
    let builder = CuckooFilter::builder();
    let builder = builder.capacity(items).rate(rate);
    let plan = builder.plan().expect("a valid description");
    let builder = builder.when_full(WhenFull::Refuse);
    let mut filter = builder.build().expect("a valid description");
    assert!(filter.capacity() >= items && filter.max_items() == items);
    assert_eq!(filter.slots(), plan.slots);
    assert_eq!(filter.slot_bits(), plan.slot_bits);
    let empty = filter.memory_bytes() as u64;
    let beside = empty.checked_sub(plan.bytes - plan.overflow_bytes);
    assert!(beside.is_some_and(|bytes| BYTES_BESIDE.contains(&bytes)), "{items}: {beside:?}");
    fill(&mut filter, &mut Random::new(items + 77), items);
    assert_eq!(filter.len(), items);
    assert!(filter.false_positive_rate() <= rate && plan.rate <= rate);
    // How many entries the overflow table has is chance: five standard deviations. A few items without a slot
    // come on top, in large filters more.
    let planned = plan.overflow_bytes as f64;
    let spare = 5.0 * (planned / 16.0).sqrt() * 40.0 + 3.0 * 40.0 + 1e-3 * plan.bytes as f64;
    let used = (filter.memory_bytes() as u64 - empty) as f64;
    assert!((used - planned).abs() <= spare, "{items}: {used}, {planned} planned: {filter:?}");
    // Slots of 6 bits and less are planned less full.
    if items >= 1_000_000 && plan.slot_bits > 6 {
        let ideal = f64::from(plan.slot_bits) / 0.95;
        let slots = 8.0 * (plan.bytes - plan.overflow_bytes) as f64 / items as f64;
        assert!((slots / ideal - 1.0).abs() < 0.01, "{slots} {ideal}");
    }
}

#[test]
fn a_filter_for_n_items_takes_n_items() {
    for rate in [0.1, 1e-3, 1e-9] {
        for items in [1, 2, 3, 5, 8, 13, 30, 100, 300, 1_000, 3_000, 10_000, 65_536] {
            check_capacity(items, rate);
        }
    }
    check_capacity(1_000_000, 1e-3);
    for rate in [0.9, 0.5, 0.2, 0.1, 0.05, 0.02] {
        check_capacity(130_000, rate);
    }
}

/// Chance weighs most in small filters: many of each.
#[test]
fn small_filters_take_their_items_every_time() {
    for items in 1..=60 {
        for seed in 0..40 {
            let builder = CuckooFilter::builder();
            let builder = builder.capacity(items).rate(0.001).when_full(WhenFull::Refuse);
            fill(&mut builder.build().unwrap(), &mut Random::new(seed << 32 | items), items);
        }
    }
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn a_filter_for_many_items_takes_them() {
    for items in [3_000_000, 10_000_000, 30_000_000] {
        check_capacity(items, 1e-3);
    }
    check_capacity(100_000_000, 1e-3);
    check_capacity(100_000_000, 1e-6);
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn the_rate_holds_in_large_filters_and_through_many_doublings() {
    let builder = CuckooFilter::builder();
    let mut filter = builder.capacity(1_000).hash_bits(34).build().unwrap();
    let random = &mut Random::new(6);
    let start = filter.slots();
    for (items, doublings) in [(10_000_000, 13), (20_000_000, 14), (40_000_000, 15)] {
        let more = items - filter.len();
        fill(&mut filter, random, more);
        assert!(filter.slots() >= start << doublings, "{items}: {filter:?}");
        // The first few doublings only made the one segment larger.
        assert!(filter.segments() >= 1 << (doublings - 3), "{items}: {filter:?}");
        check_rate(&filter, 20_000_000, "growth");
    }
}

/// A filter of n items from a reserve takes the memory of a plan, not that of a power of two.
#[test]
fn reserved_memory_follows_the_items() {
    let mut last = 0.0f64;
    for items in sample((1..=16u64).map(|step| step * 50_000), [3, 3]) {
        let builder = CuckooFilter::builder();
        let mut filter = builder.hash_bits(40).build().unwrap();
        filter.reserve(items).unwrap();
        let memory = filter.memory_bytes();
        fill(&mut filter, &mut Random::new(items), items);
        // One segment may have had to split; then a huge page is taken.
        assert!(filter.memory_bytes() <= memory + memory / 20 + (2 << 20), "{filter:?}");
        let each = memory as f64 / items as f64;
        assert!(last == 0.0 || (each / last - 1.0).abs() < 0.1, "{items}: {each} {last}");
        last = each;
    }
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    // Filters are the same with all instructions (format.rs): what is left is how many absent keys they find.
    let again = few_usual_or_all(["law::the_rate_of", "law::the_rate_of", "law::"]);
    instruction_sets::run_again_with_fewer(again, "all_of_this_with_fewer_instructions");
}
