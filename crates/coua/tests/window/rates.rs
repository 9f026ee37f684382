//! The stated rate holds over all generations together.

use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, Full, KeyHash};

use super::plain::hash;
use coua_dev::random::nth;

#[test]
fn the_rate_holds_over_all_generations() {
    const ITEMS: u64 = 90_000;
    let template =
        CuckooFilter::builder().capacity(1_000).max_items(ITEMS).rate(0.01).build().unwrap();
    let window = Window::new(Clock::Arrival, 800, 8).unwrap();
    let mut seen = Generations::from_template(window, template);
    for round in 0..9 {
        seen.advance(round * 100);
        let hashes: Vec<KeyHash> = (0..ITEMS / 9).map(|n| hash(round << 32 | n)).collect();
        seen.insert_batch(&hashes).unwrap();
    }
    assert_eq!((seen.len(), seen.generations().count()), (ITEMS, 9));
    assert!(seen.false_positive_rate() <= 0.01);
    let absent: Vec<KeyHash> = (0..200_000).map(|n| KeyHash::from_u64(nth(1 << 60 | n))).collect();
    let present = seen.contains_batch(&absent);
    let wrong = present.iter().filter(|present| **present).count() as f64;
    let expected = seen.false_positive_rate() * 200_000.0;
    assert!((wrong - expected).abs() < 5.0 * expected.sqrt(), "{wrong} for {expected}");

    // One more item, wherever it goes, would be too many; when the oldest are gone there is room.
    let full: Full = seen.insert_unique("one more").unwrap_err();
    assert_eq!((full.items, full.max_items), (ITEMS, ITEMS));
    seen.advance(900);
    seen.insert_unique("one more").unwrap();
}
