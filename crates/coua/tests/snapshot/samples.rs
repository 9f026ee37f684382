//! Small filters of every kind, with everything that a snapshot can hold.

use coua::{CuckooFilter, KeyHash, WhenFull};

use coua_dev::random::Random;

pub(crate) fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

/// Named filters; each also as its bytes.
pub(crate) fn samples() -> Vec<(&'static str, CuckooFilter)> {
    let build = CuckooFilter::builder;
    let fixed = build().capacity(60).rate(0.01).max_evictions(0);
    let packed = build().capacity(40).hash_bits(25);
    let wide = build().capacity(100).hash_bits(64);
    let full = build().capacity(30).rate(0.3).when_full(WhenFull::Refuse);
    let mut samples = vec![
        ("empty", build().capacity(1).rate(0.1).build().expect("valid")),
        ("fixed", fixed.build().expect("valid")),
        ("packed", packed.max_evictions(1).build().expect("valid")),
        ("wide", wide.when_full(WhenFull::ExceedRate).build().expect("valid")),
        ("full", full.build().expect("valid")),
    ];
    for (_, filter) in &mut samples[1..] {
        let mut random = Random::new(5);
        for _ in 0..filter.capacity() {
            let _full = filter.insert(KeyHash::from_u64(random.next()));
        }
        let twelve = KeyHash::from_u64(random.next());
        for _ in 0..12 {
            let _full = filter.insert(twelve);
        }
    }
    samples.push(("segments", segmented()));
    samples
}

/// Segments of different depths: only hashes of the lower half make it split.
pub(crate) fn segmented() -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(56_000).hash_bits(20);
    let mut filter = builder.build().expect("valid");
    let mut random = Random::new(6);
    while filter.segments() < 6 {
        let hash = coua::KeyHash::from_u64(random.next() >> 1);
        filter.insert(hash).expect("it grows");
    }
    filter
}
