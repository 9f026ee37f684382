//! Keys in batches and one by one, not their hashes, for every filter that takes both.

/// Some of as many keys are there twice.
pub(crate) fn keys(size: usize) -> Vec<String> {
    (0..size).map(|number| format!("key {}", number % (size * 3 / 5 + 1))).collect()
}

/// Those, and new ones between them.
pub(crate) fn more(keys: &[String]) -> Vec<String> {
    keys.iter().flat_map(|key| [key.clone(), format!("{key}!")]).collect()
}

/// The same answers, and after every call that changes something the same bytes. A macro, for the filters
/// have calls of the same names and no trait.
macro_rules! check_batches_of_keys {
    ($build:expr, $bytes:expr) => {
        let builder = CuckooFilter::builder();
        let builder = builder.capacity(100).hash_bits(40);
        for size in [1, 2, 63, 64, 65, 500, 1000] {
            #[allow(unused_mut, reason = "some filters are changed through shared references")]
            let [mut single, mut batched] = [(); 2].map(|()| $build(builder.clone()));
            let keys = crate::keys::keys(size);
            let (more, gone) = (crate::keys::more(&keys), &crate::keys::more(&keys)[..=size]);

            batched.insert_batch(&keys).unwrap();
            for key in &keys {
                single.insert(key).unwrap();
            }
            assert!($bytes(&single) == $bytes(&batched), "{size}");

            let outcomes = batched.insert_unique_batch(&more).unwrap();
            let one_by_one = more.iter().map(|key| single.insert_unique(key).unwrap());
            assert!(outcomes.into_iter().eq(one_by_one), "{size}");
            assert!($bytes(&single) == $bytes(&batched), "{size}");

            let answers = batched.contains_batch(&more);
            assert_eq!(answers, vec![true; more.len()], "{size}");
            let counts = batched.count_batch(&keys);
            assert!(counts.into_iter().eq(keys.iter().map(|key| single.count(key))));

            let answers = batched.remove_batch(gone);
            assert!(answers.into_iter().eq(gone.iter().map(|key| single.remove(key))));
            assert!($bytes(&single) == $bytes(&batched), "{size}");
        }
    };
}
