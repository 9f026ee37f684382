//! What a plan or an error says in advance, against the filter that is built.

use coua::sizing::CuckooPlan;
use coua::{BuildError, CuckooFilter, KeyHash};

use coua_dev::random::Random;

/// Every small number of items, and many of all sizes.
fn item_counts() -> impl Iterator<Item = u64> {
    let mut random = Random::new(11);
    let large = (0..2_000).map(move |_| random.magnitude(1 << 57));
    let powers = (0..=57).map(|power| 1 << power);
    (0..=300).chain(large).chain(powers)
}

fn plan_for_rate(items: u64, rate: f64) -> Result<CuckooPlan, BuildError> {
    let builder = CuckooFilter::builder();
    builder.capacity(items).rate(rate).plan()
}

fn plan_for_bits(items: u64, hash_bits: u32) -> Result<CuckooPlan, BuildError> {
    let builder = CuckooFilter::builder();
    builder.capacity(items).hash_bits(hash_bits).plan()
}

/// The smallest rate that a refusal names: in its field, and in its words.
fn named(refused: &BuildError) -> [f64; 2] {
    let BuildError::RateTooSmall { smallest, .. } = refused else {
        panic!("{refused}");
    };
    let text = refused.to_string();
    let word = text.split_once(" allows ").expect("it names a rate").1;
    let word = word.split(';').next().expect("the rate ends there");
    [*smallest, word.parse().expect("a number")]
}

#[test]
fn the_rate_that_a_refused_plan_names_is_accepted() {
    for items in item_counts() {
        let refused = plan_for_rate(items, 1e-40).unwrap_err();
        for rate in named(&refused) {
            let plan = plan_for_rate(items, rate);
            let plan = plan.unwrap_or_else(|error| panic!("{items}: {error}"));
            assert!(plan.rate <= rate);
            // It is the smallest: half of it is refused.
            assert!(plan_for_rate(items, rate / 2.2).is_err());
        }
        if items < 500 {
            let builder = CuckooFilter::builder();
            let builder = builder.capacity(items);
            let refused = builder.clone().rate(1e-40).build().unwrap_err();
            for rate in named(&refused) {
                assert!(builder.clone().rate(rate).build().is_ok(), "{items}");
            }
        }
    }
}

#[test]
fn the_rate_that_a_refused_growing_filter_names_is_accepted() {
    for items in item_counts() {
        let builder = CuckooFilter::builder();
        let builder = builder.capacity(items.min(1)).max_items(items.max(2));
        let refused = builder.clone().rate(1e-40).build().unwrap_err();
        for rate in named(&refused) {
            assert!(builder.clone().rate(rate).build().is_ok(), "{items} {rate:e}");
        }
    }
}

#[test]
fn what_no_rate_can_help_is_no_matter_of_the_rate() {
    for rate in [0.5, 1e-3] {
        let refused = plan_for_rate(u64::MAX, rate).unwrap_err();
        assert!(matches!(refused, BuildError::OutOfMemory(_)), "{refused}");
    }
}

#[test]
fn a_rate_without_items_is_told_so() {
    let builder = CuckooFilter::builder;
    let refused = builder().rate(0.01).build().unwrap_err();
    assert_eq!(refused, BuildError::RateWithoutItems { rate: 0.01 });
    assert!(refused.to_string().contains("max_items"), "{refused}");
    let refused = builder().rate(0.01).max_items(u64::MAX).build().unwrap_err();
    assert_eq!(refused, BuildError::RateWithoutItems { rate: 0.01 });
    assert!(builder().rate(0.01).max_items(100).build().is_ok());
    assert!(builder().rate(0.01).capacity(100).build().is_ok());
}

#[test]
fn a_plan_for_hash_bits_is_what_the_builder_takes() {
    for bits in [8, 16, 24, 33, 40, 57, 64] {
        for items in [1, 10, 100, 1_000, 15_000, 65_536, 100_000, 1_234_567] {
            let builder = CuckooFilter::builder();
            let builder = builder.capacity(items).hash_bits(bits);
            let plan = builder.plan().unwrap();
            let filter = builder.build().unwrap();
            let what = format!("{items} {bits} {plan:?} {filter:?}");
            assert_eq!((plan.slots, plan.segments), (filter.slots(), filter.segments() as u64));
            assert_eq!(plan.slot_bits, filter.slot_bits());
            assert!((plan.hash_bits - f64::from(bits)).abs() < 1e-9);
            let rate = items as f64 / f64::from(bits).exp2();
            assert!((plan.rate / rate.min(1.0) - 1.0).abs() < 1e-9, "{what}");
            let taken = filter.memory_bytes() as f64;
            let planned = (plan.bytes - plan.overflow_bytes) as f64;
            assert!((taken - planned).abs() <= (0.02 * planned).max(1_000.0), "{what}");
        }
    }
}

/// Neither of fixed size nor of stated hash bits: only the builder knows what it will be.
#[test]
fn a_builder_plans_what_it_builds() {
    for (capacity, max_items, rate) in [(1, 9, 0.5), (1_000, 1_001, 1e-9), (300_000, 1 << 40, 0.01)]
    {
        let builder = CuckooFilter::builder();
        let builder = builder.capacity(capacity).max_items(max_items).rate(rate);
        let (plan, filter) = (builder.plan().unwrap(), builder.build().unwrap());
        let what = format!("{plan:?} {filter:?}");
        assert_eq!(plan.items, capacity);
        assert_eq!((plan.slots, plan.segments), (filter.slots(), filter.segments() as u64));
        assert!((plan.hash_bits - filter.hash_bits()).abs() < 1e-9, "{what}");
        let (taken, planned) = (filter.memory_bytes() as f64, plan.bytes as f64);
        assert!((taken - planned).abs() <= (0.02 * planned).max(1_000.0), "{what}");
    }
    assert!(CuckooFilter::builder().rate(2.0).plan().is_err());
    assert!(CuckooFilter::builder().capacity(5).max_items(4).plan().is_err());
}

/// Coarse enough that many items fall together: the plan knows how large the overflow table becomes.
#[test]
fn a_filter_of_few_hash_bits_takes_the_planned_overflow_table() {
    for (bits, items) in [(17, 100_000), (18, 100_000), (20, 300_000), (22, 300_000)] {
        let plan = plan_for_bits(items, bits).unwrap();
        let builder = CuckooFilter::builder();
        let mut filter = builder.capacity(items).hash_bits(bits).build().unwrap();
        let empty = filter.memory_bytes() as f64;
        let segments = filter.segments();
        let hashes = Random::new(items).many(items as usize, KeyHash::from_u64);
        filter.insert_batch(&hashes).unwrap();
        // A segment that chance overfills splits; how many do is not planned.
        if filter.segments() == segments {
            let (taken, planned) =
                (filter.memory_bytes() as f64 - empty, plan.overflow_bytes as f64);
            // Five standard deviations of the entries, and a few overflowed items.
            let chance = 40.0 * (5.0 * (planned / 16.0).sqrt() + 0.002 * items as f64);
            assert!((taken - planned).abs() <= chance, "{taken} {plan:?} {filter:?}");
        }
    }
}

#[test]
fn plans_for_any_number_are_plans_or_errors() {
    let mut possible = 0;
    for items in item_counts().chain([1 << 60, 1 << 63, u64::MAX]) {
        for bits in 0..=70 {
            let plan = plan_for_bits(items, bits);
            let sane = (8..=64).contains(&bits);
            assert!(sane || plan.is_err(), "{bits}");
            assert!(!sane || plan.is_ok() || items > 1 << 38, "{items} {bits}");
        }
        for rate in [0.9, 0.3, 0.01, 1e-9] {
            match plan_for_rate(items, rate) {
                Ok(plan) => {
                    possible += 1;
                    assert!(plan.rate <= rate && plan.slots >= items, "{plan:?}");
                    assert!(plan.bytes > plan.overflow_bytes, "{plan:?}");
                }
                Err(refused) => {
                    assert!(items as f64 / rate > 1e17, "{items} {rate}: {refused}");
                }
            }
        }
    }
    assert!(possible > 100, "{possible} plans");
}

#[test]
fn plans_beyond_all_numbers_are_the_largest() {
    let plan = plan_for_bits(u64::MAX, 64).unwrap();
    assert_eq!(plan.slots, u64::MAX);
}

/// That all 64 bits need two segments must not cost a second table.
#[test]
fn small_filters_of_all_hash_bits_have_the_slots_of_others() {
    for items in [1_000, 5_000, 15_000, 40_000] {
        let slots_of = |hash_bits| plan_for_bits(items, hash_bits).unwrap().slots;
        // What no slot can tell of the hash, one of 257 buckets must, in each of both segments.
        let most = slots_of(40) + 2 * 258 * 4;
        assert!(slots_of(64) <= most, "{items}: {} {most}", slots_of(64));
    }
}
