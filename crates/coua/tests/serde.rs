//! Filters as values of serde's data model.

use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, KeyHasher};

#[test]
fn filters_come_back_from_json() {
    let mut filter = CuckooFilter::with_capacity(100, 0.01).unwrap();
    filter.insert("wren").unwrap();
    let text = serde_json::to_string(&filter).unwrap();
    let back: CuckooFilter = serde_json::from_str(&text).unwrap();
    assert!(back == filter && back.contains("wren"));
    let damaged = text.replacen("137", "138", 1);
    let error = serde_json::from_str::<CuckooFilter>(&damaged).unwrap_err().to_string();
    assert!(error.contains("not a Coua filter"), "{error}");

    let window = Window::new(Clock::Count, 100, 4).unwrap();
    let mut seen = Generations::new(window);
    seen.insert("wren").unwrap();
    let text = serde_json::to_string(&seen).unwrap();
    assert!(serde_json::from_str::<Generations>(&text).unwrap().contains("wren"));
}

#[test]
fn a_secret_key_is_no_part_of_a_filter() {
    let keyed =
        CuckooFilter::builder().hasher(KeyHasher::SipHash13 { key: [7; 16] }).build().unwrap();
    let text = serde_json::to_string(&keyed).unwrap();
    let error = serde_json::from_str::<CuckooFilter>(&text).unwrap_err().to_string();
    assert!(error.contains("without its secret hash key"), "{error}");
}
