//! Forged bytes, with correct checksums: an error, or a filter that answers wrongly but does nothing
//! worse: no panic, no endless loop, no memory without end.

use std::time::Instant;

use coua::{CuckooFilter, KeyHash, Load, LoadError};

use crate::counting::{ENDLESS, measured_load};
use crate::forge::{FIELDS, Forgery, ROW, ROWS};
use crate::samples::{bytes_of, samples, segmented};
use coua_dev::cases::sample;
use coua_dev::random::Random;

fn forgeries() -> Vec<(&'static str, Forgery)> {
    samples().into_iter().map(|(name, filter)| (name, Forgery(bytes_of(&filter)))).collect()
}

/// Values that break arithmetic: zeros, ones, powers of two and their neighbors, the ends.
fn extremes(real: u64) -> impl Iterator<Item = u64> {
    let near = [real.wrapping_sub(1), real.wrapping_add(1), real.wrapping_mul(2), real / 2];
    let powers = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, !(1 << bit)]);
    near.into_iter().chain(sample(powers, [13, 4])).chain([
        u64::MAX,
        u64::MAX / 24,
        u64::MAX - 31,
        u64::MAX - 191,
    ])
}

/// Loads forged bytes; what loads is put to every use.
fn survive(bytes: &[u8], what: &dyn Fn() -> String) -> bool {
    let (result, cost) = measured_load(bytes.len(), || Load::new().bytes::<CuckooFilter>(bytes));
    assert!(cost.heap < 8 * bytes.len() as u64 + 100_000, "{}: {} bytes", what(), cost.heap);
    assert!(cost.time < ENDLESS, "{}: {:?}", what(), cost.time);
    let Ok(filter) = result else { return false };
    let start = Instant::now();
    exercise(filter, &mut Random::new(9));
    assert!(start.elapsed() < ENDLESS, "{}: {:?}", what(), start.elapsed());
    true
}

/// What loads must save and load again, whatever was done to it.
fn assert_loads(filter: &CuckooFilter, after: &str) {
    if let Err(refused) = Load::new().bytes::<CuckooFilter>(&bytes_of(filter)) {
        panic!("{after}: {refused}");
    }
}

/// Every operation once or a few times; only panics and endless work are wrong.
fn exercise(mut filter: CuckooFilter, random: &mut Random) {
    let hashes = random.many(100, KeyHash::from_u64);
    filter.contains_batch(&hashes);
    filter.count_batch(&hashes);
    assert!(format!("{filter:?}").len() < 1000);
    assert_loads(&filter, "loaded");
    if let Ok(copy) = filter.try_clone() {
        let _refused = filter.merge(&copy);
        assert_loads(&filter, "merged");
    }
    for rate in [0.01, 0.5] {
        drop(filter.convert(rate));
    }
    let _refused = filter.insert_batch(&hashes);
    let _refused = filter.insert_unique_batch(&hashes);
    for &hash in &hashes {
        for _ in 0..3 {
            let _refused = filter.insert(hash);
        }
    }
    assert_loads(&filter, "inserted");
    filter.remove_batch(&hashes);
    let _refused = filter.reserve(1_000);
    assert_loads(&filter, "reserved");
    filter.compact().expect("memory for a smaller table");
    for &hash in &hashes[..50] {
        while filter.count(hash) < 1_000 && filter.remove(hash) {}
    }
    let _refused = filter.insert_batch(&hashes);
    assert_loads(&filter, "removed and inserted");
    filter.clear();
    assert!(filter.is_empty());
}

/// Fields of which another value may make another sound filter of the same bytes.
const MAY_DIFFER: [&str; 8] = [
    "seed",
    "buckets",
    "low bits",
    "resolution",
    "bits",
    "when full",
    "max evictions",
    "max items",
];

#[test]
fn every_field_with_every_extreme_value() {
    for (name, original) in forgeries() {
        for (field, at, width) in FIELDS {
            let real = original.read(at, width);
            let mask = u64::MAX >> (64 - 8 * width);
            for value in extremes(real).map(|value| value & mask).filter(|&value| value != real) {
                let mut forged = original.clone();
                forged.write(at, width, value);
                let what = || format!("{name}: {field} {real} -> {value}");
                let loaded = survive(forged.seal(), &what);
                // Segments that were split may have been split more often.
                let may_differ =
                    MAY_DIFFER.contains(&field) || (name, field) == ("segments", "base depth");
                assert!(!loaded || may_differ, "{} was loaded", what());
            }
        }
    }
}

#[test]
fn two_fields_with_extreme_values() {
    let random = &mut Random::new(3);
    let forgeries = forgeries();
    for _ in 0..20_000 {
        let (name, original) = &forgeries[random.below(5) as usize];
        let mut forged = original.clone();
        let mut changes = Vec::new();
        for _ in 0..2 + random.below(3) {
            let (field, at, width) = random.pick(&FIELDS);
            let values: Vec<u64> = extremes(original.read(at, width)).collect();
            let value = random.pick(&values);
            forged.write(at, width, value);
            changes.push((field, value));
        }
        survive(forged.seal(), &|| format!("{name}: {changes:?}"));
    }
}

#[test]
fn headers_that_fit_together_but_lie() {
    let lies: [(&str, &[(&str, u64)]); 10] = [
        (
            "2^60 segments",
            &[("segments", 1 << 60), ("part's segments", 1 << 60), ("length", 1 << 63)],
        ),
        (
            "2^27 segments",
            &[
                ("segments", 1 << 27),
                ("part's segments", 1 << 27),
                ("first segment offset", (1 << 32) + 256),
            ],
        ),
        ("no segments", &[("segments", 0), ("part's segments", 0), ("first segment offset", 256)]),
        ("no fingerprint", &[("low bits", 0), ("bits", 0)]),
        (
            "an end beyond 2^64",
            &[
                ("length", u64::MAX),
                ("overflow entries", u64::MAX / 24),
                ("part's overflow entries", u64::MAX / 24),
            ],
        ),
        ("counts that lie", &[("len", 1 << 40), ("stored", 1 << 40)]),
        ("overflowed that lie", &[("stored", 1 << 41)]),
        ("2^31 buckets", &[("buckets", 1 << 31)]),
        ("no parts", &[("parts", 0)]),
        (
            "a window",
            &[("clock", 1), ("generations", 1), ("window length", 1), ("number", u64::MAX)],
        ),
    ];
    for (name, original) in forgeries() {
        for (lie, changes) in lies {
            let mut forged = original.clone();
            for &(field, value) in changes {
                forged.set(field, value);
            }
            assert!(!survive(forged.seal(), &|| format!("{name}: {lie}")), "{name}: {lie}");
        }
    }
}

#[test]
fn depths_that_do_not_cover_the_hashes() {
    let original = Forgery(bytes_of(&segmented()));
    for row in 0..original.rows() {
        let real = original.read(ROWS + row * ROW, 4);
        for depth in [0, real.wrapping_sub(1), real + 1, 28, 29, 63, 64, u64::from(u32::MAX)] {
            let mut forged = original.clone();
            forged.write(ROWS + row * ROW, 4, depth);
            assert!(
                Load::new().bytes::<CuckooFilter>(forged.seal()).is_err(),
                "row {row}: depth {depth}"
            );
        }
    }
}

#[test]
fn rows_with_extreme_values() {
    for (name, original) in forgeries() {
        for row in 0..original.rows() {
            for (at, width) in [(0, 4), (4, 4), (8, 4), (12, 4), (16, 8)] {
                let at = ROWS + row * ROW + at;
                for value in extremes(original.read(at, width)) {
                    let mut forged = original.clone();
                    forged.write(at, width, value);
                    survive(forged.seal(), &|| format!("{name}: row {row} at {at}: {value}"));
                }
            }
        }
    }
}

/// The samples with a overflow table, and where it begins.
fn with_side() -> Vec<(&'static str, Forgery, usize)> {
    let place = |(name, forgery): (_, Forgery)| {
        let side = forgery.get("overflow table offset") as usize;
        (forgery.get("overflow entries") > 0).then_some((name, forgery, side))
    };
    let found: Vec<_> = forgeries().into_iter().filter_map(place).collect();
    assert!(found.len() >= 3);
    found
}

#[test]
fn overflow_tables_out_of_order_or_of_nothing() {
    for (name, original, side) in with_side() {
        let entries = original.get("overflow entries") as usize;
        for entry in 0..entries {
            let at = side + 24 * entry;
            let mut nothing = original.clone();
            nothing.write(at + 8, 8, 0);
            nothing.write(at + 16, 8, 0);
            assert!(
                Load::new().bytes::<CuckooFilter>(nothing.seal()).is_err(),
                "{name}: an empty entry"
            );
            // With all 64 bits every hash is a cell of its own.
            if name != "wide" {
                let mut elsewhere = original.clone();
                elsewhere.write(at, 8, original.read(at, 8) + 1);
                let loaded = Load::new().bytes::<CuckooFilter>(elsewhere.seal());
                assert!(loaded.is_err(), "{name}: no cell begins with this hash");
            }
            if entry > 0 {
                let mut swapped = original.clone();
                swapped.0.copy_within(at..at + 24, at - 24);
                swapped.0[at..at + 24].copy_from_slice(&original.0[at - 24..at]);
                assert!(
                    Load::new().bytes::<CuckooFilter>(swapped.seal()).is_err(),
                    "{name}: order"
                );
            }
        }
    }
}

#[test]
fn overflow_tables_with_extreme_counts() {
    for (name, original, side) in with_side() {
        for at in [side + 8, side + 16] {
            let real = original.read(at, 8);
            for value in extremes(real) {
                let mut forged = original.clone();
                forged.write(at, 8, value);
                let more = value.wrapping_sub(real);
                // The counts in the header lie in the same way.
                forged.set("len", original.get("len").wrapping_add(more));
                if at == side + 16 {
                    forged.set("stored", original.get("stored").wrapping_add(more));
                }
                survive(forged.seal(), &|| format!("{name}: overflow table at {at}: {value}"));
            }
        }
    }
}

#[test]
fn overflowed_copies_that_no_filter_has_are_refused() {
    for (name, original, side) in with_side() {
        let mut forged = original.clone();
        let more = 1 << 40;
        for (at, width) in [Forgery::field("len"), Forgery::field("stored")] {
            forged.write(at, width, original.read(at, width) + more);
        }
        forged.write(side + 16, 8, original.read(side + 16, 8) + more);
        let refused = Load::new().bytes::<CuckooFilter>(forged.seal());
        assert!(matches!(refused, Err(LoadError::Field { .. })), "{name}");
    }
}

#[test]
fn other_buckets_are_refused_with_what_was_found() {
    let filter = CuckooFilter::new();
    for (field, value) in [("layout", 1), ("slots per bucket", 2)] {
        let mut forged = Forgery(bytes_of(&filter));
        forged.set(field, value);
        let refused = Load::new().bytes::<CuckooFilter>(forged.seal()).unwrap_err();
        assert!(
            matches!(refused, LoadError::Field { name, found } if name == field && found == value),
            "{refused}"
        );
    }
}

/// In an empty filter, any other bit makes a slot that is not counted.
#[test]
fn bits_outside_slots_are_forgotten() {
    let mut outside = 0;
    for bits in 8..=64 {
        let builder = CuckooFilter::builder().hash_bits(bits).capacity(12);
        let mut filter = builder.build().unwrap();
        let empty = Forgery(bytes_of(&filter));
        filter.insert("item").unwrap();
        let mut forged = Forgery(bytes_of(&filter));
        let range = empty.segment(0).expect("the original's rows are right");
        for bit in 8 * range.start..8 * range.end {
            let mut one = empty.clone();
            one.0[bit / 8] |= 1 << (bit % 8);
            if Load::new().bytes::<CuckooFilter>(one.seal()).is_ok() {
                forged.0[bit / 8] |= 1 << (bit % 8);
                outside += 1;
            }
        }
        let loaded: CuckooFilter = Load::new().bytes(forged.seal()).unwrap();
        assert!(loaded == filter, "{bits} bits");
    }
    assert!(outside > 57 * 64, "{outside}");
}

/// With more cells than hashes there are some that no hash leads to.
#[test]
fn slots_that_no_hash_leads_to() {
    let random = &mut Random::new(5);
    let mut loaded = 0;
    let few = [12, 16, 20, 25, 33, 64].map(|bits| (bits, 300));
    for (bits, items) in [(8, 60), (8, 40_000)].into_iter().chain(few) {
        let builder = CuckooFilter::builder();
        let filter = builder.hash_bits(bits).capacity(items).build().unwrap();
        for ones in [0x11, 0x55, 0xff] {
            let mut forged = Forgery(bytes_of(&filter));
            let slots = filter.slots() / forged.rows() as u64;
            for row in 0..forged.rows() {
                for at in forged.segment(row).expect("the original's rows are right") {
                    forged.0[at] = random.next() as u8 | ones;
                }
                forged.write(ROWS + row * ROW + 4, 4, slots);
            }
            forged.set("stored", filter.slots()).set("len", filter.slots());
            let what = || format!("{bits} {items} {ones}");
            loaded += u32::from(survive(forged.seal(), &what));
        }
    }
    assert!(loaded > 20, "{loaded}");
}

#[test]
fn copies_of_an_item_that_is_not_there_are_refused() {
    let mut filter = CuckooFilter::builder().hash_bits(64).capacity(10).build().unwrap();
    (0..5).for_each(|_| filter.insert("a").unwrap());
    let mut forged = Forgery(bytes_of(&filter));
    for row in 0..forged.rows() {
        let range = forged.segment(row).expect("the original's rows are right");
        forged.0[range].fill(0);
        forged.write(ROWS + row * ROW + 4, 4, 0);
    }
    forged.set("stored", 0).set("len", 4);
    let refused = Load::new().bytes::<CuckooFilter>(forged.seal());
    assert!(matches!(refused, Err(LoadError::Field { name: "overflow table entry", .. })));
}

#[test]
fn segments_of_other_bytes() {
    let random = &mut Random::new(4);
    let forgeries = forgeries();
    let mut loaded = 0;
    for round in 0..2_000 {
        let (name, original) = &forgeries[random.below(forgeries.len() as u64 - 1) as usize];
        let mut forged = original.clone();
        let row = random.below(forged.rows() as u64) as usize;
        let range = forged.segment(row).expect("the original's rows are right");
        forged.scramble(random, range);
        loaded += u64::from(load_with_right_counts(&mut forged, row, &|| {
            format!("{name}: round {round}")
        }));
    }
    assert!(loaded > 200, "only {loaded} forgeries came past the checks");
}

#[test]
fn large_segments_of_other_bytes() {
    let random = &mut Random::new(5);
    let original = Forgery(bytes_of(&segmented()));
    let mut loaded = 0;
    for round in 0..30 {
        let mut forged = original.clone();
        let row = random.below(forged.rows() as u64) as usize;
        let range = forged.segment(row).expect("the original's rows are right");
        forged.scramble(random, range);
        let what = || format!("segments: round {round}");
        loaded += u64::from(load_with_right_counts(&mut forged, row, &what));
    }
    assert!(loaded > 5, "only {loaded} forgeries came past the checks");
}

/// Tries the counts around the real ones: changed bytes fill or empty a few slots.
fn load_with_right_counts(forged: &mut Forgery, row: usize, what: &dyn Fn() -> String) -> bool {
    let original = forged.clone();
    for more in (0..=64).flat_map(|more| [more, -more]) {
        forged.write(ROWS + row * ROW + 4, 4, add(original.read(ROWS + row * ROW + 4, 4), more));
        forged.set("len", add(original.get("len"), more));
        forged.set("stored", add(original.get("stored"), more));
        if Load::new().bytes::<CuckooFilter>(forged.seal()).is_ok() {
            return survive(forged.seal(), what);
        }
    }
    false
}

fn add(value: u64, more: i64) -> u64 {
    value.wrapping_add_signed(more)
}

#[test]
fn filters_that_differ_in_a_flag_are_not_equal() {
    for (name, mut original) in forgeries() {
        let mut other = original.clone();
        let flags = ROWS + 8;
        other.write(flags, 4, 1 - original.read(flags, 4));
        let [one, two] = [&mut original, &mut other]
            .map(|file| Load::new().bytes::<CuckooFilter>(file.seal()).unwrap());
        assert!(one != two && one.clone() == one && two.clone() == two, "{name}");
    }
}

/// What is in them does not show in a copy, which takes over nothing of segments without items.
#[test]
fn bits_of_no_slot_do_not_stay_in_a_segment_without_items() {
    let mut forged = Forgery(bytes_of(&CuckooFilter::new()));
    let segment = forged.segment(0).expect("it has segments");
    forged.0[segment.end - 1] = 0xff;
    let filter = Load::new().bytes::<CuckooFilter>(forged.seal()).expect("no slot is in use");
    assert!(bytes_of(&filter) == bytes_of(&filter.clone()));
    assert!(bytes_of(&filter) == bytes_of(&CuckooFilter::new()));
}
