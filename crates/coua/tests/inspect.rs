//! What `inspect` shows is what the filter holds.

use std::collections::BTreeMap;
use std::io::Cursor;

use coua::inspect::Contents;
use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, CuckooFilterBuilder, LoadError};

const ITEMS: u64 = 40_000;
/// Room for them, and for the copies of one more.
const CAPACITY: u64 = ITEMS + 20;

/// Filters of narrow and wide slots; the small capacity of the last ones makes them grow.
fn builders() -> Vec<CuckooFilterBuilder> {
    let new = CuckooFilter::builder;
    vec![
        new().capacity(CAPACITY).rate(0.01),
        new().capacity(CAPACITY).rate(1e-5),
        new().capacity(CAPACITY).rate(1e-9),
        new().capacity(100),
        new().capacity(20_000).hash_bits(40),
    ]
}

fn keys() -> impl Iterator<Item = [u8; 8]> {
    (0..ITEMS).map(u64::to_le_bytes)
}

fn snapshot(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes all bytes");
    bytes
}

#[test]
fn every_item_lies_where_it_is_said_to_lie() {
    for builder in builders() {
        let mut filter = builder.build().unwrap();
        keys().for_each(|key| filter.insert(key).unwrap());
        (0..20).for_each(|_| filter.insert("copies").unwrap());
        let mut file = Cursor::new(snapshot(&filter));
        let contents = Contents::read(&mut file).unwrap();
        let table = &contents.tables[0];
        assert_eq!(table.len, filter.len());
        assert_eq!(table.false_positive_rate.to_bits(), filter.false_positive_rate().to_bits());
        assert_eq!(table.segments.len(), filter.segments());
        contents.check(&mut file).unwrap();

        let mut held = BTreeMap::new();
        for number in 0..table.segments.len() {
            let slots = table.slots(&mut file, number).unwrap();
            assert_eq!(slots.len(), table.segments[number].occupied as usize);
            for slot in slots {
                let place = table.locate(slot.representative);
                let mut buckets = (slot.bucket, slot.other_bucket);
                if slot.is_alternate {
                    buckets = (slot.other_bucket, slot.bucket);
                }
                assert_eq!((place.segment, place.fingerprint), (number, slot.fingerprint));
                assert_eq!((place.primary, place.alternate), buckets);
                *held.entry(slot.representative).or_insert(0) += 1;
            }
        }
        for (representative, entry) in &table.overflow {
            *held.entry(*representative).or_insert(0) += entry.extra + entry.overflowed;
        }
        assert_eq!(held.values().sum::<u64>(), filter.len());
        for key in keys().map(|key| key.to_vec()).chain(["copies".into()]) {
            let place = table.locate(filter.hasher().hash(&key));
            assert_eq!(held[&place.representative], filter.count(&key));
        }
    }
}

#[test]
fn a_damaged_segment_is_named_and_the_others_are_shown() {
    let mut filter = CuckooFilter::builder().capacity(100_000).build().unwrap();
    keys().for_each(|key| filter.insert(key).unwrap());
    let mut bytes = snapshot(&filter);
    let contents = Contents::read(&mut Cursor::new(&bytes)).unwrap();
    let table = &contents.tables[0];
    // Where its row of the segment table says.
    let row = &bytes[192 + 64 + 3 * 32..];
    let begin = u64::from_le_bytes(*row[16..].first_chunk().unwrap()) as usize;
    bytes[begin + 100] ^= 1;
    let mut file = Cursor::new(&bytes);
    let error = table.slots(&mut file, 3).map(|_| ()).unwrap_err();
    assert!(matches!(&error, LoadError::Checksum { part } if part == "segment 3"), "{error}");
    assert!(!table.slots(&mut file, 4).unwrap().is_empty());
    assert_eq!(contents.check(&mut file).unwrap_err().to_string(), error.to_string());
    bytes[200] ^= 1;
    assert!(Contents::read(&mut Cursor::new(&bytes)).is_err());
}

#[test]
fn the_generations_of_a_window_are_shown() {
    let window = Window::new(Clock::Count, 1000, 4).unwrap();
    let mut recent = Generations::new(window);
    for key in keys().take(3000) {
        recent.insert_batch(&[key]).unwrap();
    }
    let mut bytes = Vec::new();
    recent.write_to(&mut bytes).unwrap();
    let contents = Contents::read(&mut Cursor::new(&bytes)).unwrap();
    assert_eq!((contents.window, contents.time), (Some(window), 3000));
    assert_eq!(contents.end, bytes.len() as u64);
    let numbers: Vec<_> = contents.tables.iter().map(|table| table.generation).collect();
    assert_eq!(numbers, [None, Some(8), Some(9), Some(10), Some(11)]);
    let items = contents.tables.iter().map(|table| table.len);
    assert_eq!(items.collect::<Vec<_>>(), [0, 250, 250, 250, 250]);
}
