//! Smoke tests of the code with `unsafe`, small enough for Miri. The large tests are in `tests/`.

use std::iter::StepBy;

use crate::{CuckooFilter, CuckooFilterBuilder, KeyHash, KeyHasher, SharedCuckooFilter};

/// Narrow and wide buckets.
fn builders() -> impl Iterator<Item = CuckooFilterBuilder> {
    // Wide buckets that begin at a byte, and others.
    [24, 30, 56].map(|bits| CuckooFilter::builder().hash_bits(bits)).into_iter()
}

/// All of these, or in Miri, which takes long, one of `nth`.
pub(crate) fn few_in_miri<I: Iterator>(all: I, nth: usize) -> StepBy<I> {
    all.step_by(if cfg!(miri) { nth } else { 1 })
}

fn hashes(count: u64) -> Vec<KeyHash> {
    (0..count).map(|number| KeyHasher::default().hash(number)).collect()
}

#[test]
fn filters_of_every_form() {
    for builder in builders() {
        let mut filter = builder.capacity(100).build().unwrap();
        let keys = hashes(130);
        keys[..20].iter().for_each(|key| filter.insert(*key).unwrap());
        filter.insert_batch(&keys[20..]).unwrap();
        filter.insert_batch(&[keys[0]; 12]).unwrap();
        assert!(filter.count(keys[0]) >= 13, "{filter:?}");
        assert!(!filter.contains_batch(&keys).contains(&false), "{filter:?}");
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        let mut read = crate::Load::new().bytes::<CuckooFilter>(&bytes).unwrap();
        read.compact().unwrap();
        assert!(keys.iter().all(|key| read.contains(*key) && read.remove(*key)));
        assert_eq!(read.len(), 12, "{read:?}");
        drop(filter.try_clone().unwrap());
        filter.clear();
        assert!(filter.is_empty());
    }
}

#[test]
fn threads_share_filters() {
    let shared = SharedCuckooFilter::new();
    std::thread::scope(|scope| {
        for keys in hashes(60).chunks(20).map(<[_]>::to_vec) {
            let shared = &shared;
            scope.spawn(move || {
                shared.insert_batch(&keys).unwrap();
                assert!(keys.iter().all(|key| shared.contains(*key)));
            });
        }
    });
    assert!(hashes(60).iter().all(|key| shared.contains(*key)));
    assert_eq!(shared.snapshot().unwrap().len(), 60);
}
