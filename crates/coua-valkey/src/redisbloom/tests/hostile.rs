//! Whatever arrives, the answer is a filter within its limits or an error.

use coua::IfPresent::AddCopy;
use proptest::prelude::*;

use super::super::{CompactionPosition, InsertError, Limits, LoadError, PeerCuckoo};
use super::dump::{Reader, encoding_of, value_of};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };

fn text(item: u32) -> Vec<u8> {
    item.to_string().into_bytes()
}

fn cuckoo() -> PeerCuckoo {
    let mut filter = PeerCuckoo::with_capacity(64, 2, 20, 2).unwrap();
    for item in 0..450 {
        filter.insert(&text(item), AddCopy, &LIMITS).unwrap();
    }
    assert!(filter.remove(&text(7)));
    filter
}

/// Uses a filter that was read, in every way.
fn use_cuckoo(mut filter: PeerCuckoo) {
    assert!(filter.slots() <= LIMITS.bytes);
    for item in (0..60).map(text) {
        let counted = filter.count(&item);
        assert_eq!(filter.contains(&item), counted > 0);
        if filter.insert(&item, AddCopy, &LIMITS).is_ok() {
            assert!(filter.contains(&item));
            assert!(filter.remove(&item));
        }
    }
    filter.compact();
    let value = value_of(&filter);
    let mut reader = Reader::of_value(&value);
    PeerCuckoo::read(&mut reader, encoding_of(&filter), &LIMITS).unwrap();
}

fn try_all(bytes: &[u8], encoding: u32) {
    let cuckoos = [
        PeerCuckoo::from_header(bytes, &LIMITS),
        PeerCuckoo::read_from(bytes, &LIMITS),
        PeerCuckoo::read(&mut Reader::of_value(bytes), encoding, &LIMITS),
    ];
    cuckoos.into_iter().flatten().for_each(use_cuckoo);
}

/// Everything that a filter can be read from.
fn sound() -> [Vec<u8>; 3] {
    let cuckoo = cuckoo();
    let mut stored = Vec::new();
    cuckoo.write_to(&mut stored).unwrap();
    [cuckoo.header(), value_of(&cuckoo), stored]
}

#[test]
fn every_byte_of_sound_dumps_may_be_any() {
    for bytes in sound() {
        for at in 0..bytes.len().min(400) {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                try_all(&bytes, 4);
            }
        }
    }
}

#[test]
fn dumps_that_are_cut_off_are_refused() {
    let cuckoo = cuckoo();
    let value = value_of(&cuckoo);
    // The last byte says that the value ends, and is not the filter's.
    for end in 0..value.len() - 1 {
        let read = PeerCuckoo::read(&mut Reader::of_value(&value[..end]), 4, &LIMITS);
        assert_eq!(read.unwrap_err(), LoadError::Unreadable, "{end} bytes");
    }
    let mut stored = Vec::new();
    cuckoo.write_to(&mut stored).unwrap();
    for end in 0..stored.len() {
        assert!(PeerCuckoo::read_from(&stored[..end], &LIMITS).is_err(), "{end} bytes");
    }
    let header = cuckoo.header();
    for end in 0..header.len() {
        assert!(PeerCuckoo::from_header(&header[..end], &LIMITS).is_err(), "{end} bytes");
    }
}

/// A header of a cuckoo filter with one field replaced.
fn header_with(at: usize, field: &[u8]) -> Result<PeerCuckoo, LoadError> {
    let mut header = cuckoo().header();
    header[at..at + field.len()].copy_from_slice(field);
    PeerCuckoo::from_header(&header, &LIMITS)
}

#[test]
fn headers_of_cuckoo_filters_say_what_is_wrong() {
    let cases: [(usize, &[u8], &str); 13] = [
        (0, &[0xff; 8], "number of items is 18446744073709551615, expected at most the number"),
        (8, &[0; 8], "number of buckets is 0, expected a power of two"),
        (8, &3_u64.to_le_bytes(), "number of buckets is 3, expected a power of two"),
        (8, &(1_u64 << 62).to_le_bytes(), "none has more than 2^32 slots"),
        (
            8,
            &(1_u64 << 30).to_le_bytes(),
            "the filter would take 2147483648 bytes, but the limit is 65536",
        ),
        (24, &[0; 8], "number of sub-filters is 0, expected 1 to 128,"),
        (24, &[129, 0, 0, 0, 0, 0, 0, 0], "number of sub-filters is 129, expected 1 to 128,"),
        (24, &[128, 0, 0, 0, 0, 0, 0, 0], "the filter would take"),
        (24, &[1, 0, 0, 0, 0, 0, 0, 0x80], "the header is 38 bytes long, expected 46"),
        (32, &[0, 0], "bucket size is 0, expected 1 to 255"),
        (34, &[0, 0], "max iterations is 0, expected 1 to 65535"),
        (36, &[3, 0], "expansion is 3, expected 0, or a power of two up to 32768"),
        (36, &[0, 0], "number of sub-filters is 4, expected 1, as the filter does not grow"),
    ];
    for (at, field, expected) in cases {
        let said = header_with(at, field).unwrap_err().to_string();
        assert!(said.contains(expected), "{said:?} should have {expected:?}");
    }
    assert!(header_with(16, &[0xff; 8]).is_ok(), "any number of deletes may be");
}

#[test]
fn chunks_without_a_place_change_nothing() {
    let mut filter = cuckoo();
    let before = value_of(&filter);
    for (at, bytes) in [
        (i64::MIN, 5),
        (-1, 5),
        (0, 5),
        (1, 5),
        (5, 5),
        (66, 5),
        (962, 5),
        (i64::MAX, 5),
        (961, 600),
        (961, 0),
    ] {
        assert_eq!(filter.load_chunk(at, &vec![9; bytes]), None, "{at}");
    }
    assert_eq!(value_of(&filter), before);
    assert!(filter.load_chunk(6, &[9; 5]).is_some());
    for asked in [-7, 0, 961, 962, i64::MAX] {
        assert_eq!(filter.slots_from(asked), None);
    }
    assert_eq!(filter.slots_from(960).map(<[u8]>::len), Some(1));
}

#[test]
fn a_filter_keeps_to_its_limits_when_it_grows() {
    let limits = Limits { bytes: 300, sub_filters: 32 };
    let mut filter = PeerCuckoo::with_capacity(64, 2, 20, 1).unwrap();
    let refused =
        (0..).find_map(|item| filter.insert(&text(item), AddCopy, &limits).err()).unwrap();
    assert_eq!(
        refused.to_string(),
        "the filter would take 320 bytes, but the limit is 300; raise the limit"
    );
    assert_eq!(filter.sub_filters(), 4);
    let limits = Limits { bytes: 1 << 20, sub_filters: 6 };
    let refused = (0..).find_map(|item| filter.insert(&text(item), AddCopy, &limits).err());
    assert_eq!(refused, Some(InsertError::GrowthLimit));
    assert_eq!(filter.sub_filters(), 6);
}

#[test]
fn a_refused_insert_changes_nothing() {
    let mut filter = PeerCuckoo::with_capacity(64, 2, 500, 0).unwrap();
    let refused =
        (0..999).find(|item| filter.insert(&text(*item), AddCopy, &LIMITS).is_err()).unwrap();
    let before = value_of(&filter);
    for item in refused..refused + 50 {
        if filter.insert(&text(item), AddCopy, &LIMITS).is_ok() {
            filter.remove(&text(item));
        }
    }
    let mut again = PeerCuckoo::read(&mut Reader::of_value(&before), 4, &LIMITS).unwrap();
    assert!(again.insert(&text(refused), AddCopy, &LIMITS).is_err());
    assert_eq!(value_of(&again), before);
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), encoding in 0..7_u32) {
        try_all(&bytes, encoding);
    }

    #[test]
    fn sound_dumps_with_damage(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        encoding in 0..7_u32,
    ) {
        let mut bytes = sound()[which].clone();
        // Most of a dump is slots, which may be anything; the fields are in front.
        let front = bytes.len().min(120);
        for (at, byte) in damage {
            bytes[at.index(front)] = byte;
        }
        try_all(&bytes, encoding);
    }

    #[test]
    fn chunks_of_any_position_and_length(
        chunks in prop::collection::vec((-10..1200_i64, 0..600_u16, any::<u8>()), 1..20),
    ) {
        let mut filter = cuckoo();
        for (position, bytes, byte) in chunks {
            let chunk = vec![byte; usize::from(bytes)];
            let start = position - i64::from(bytes);
            if filter.load_chunk(position, &chunk).is_some() {
                let read = filter.slots_from(start).unwrap();
                prop_assert_eq!(&read[..chunk.len()], &chunk[..]);
            }
        }
        use_cuckoo(filter);
    }
}

/// A pair of buckets of 255 slots takes as long to ask as a hundred small ones.
#[test]
fn a_removal_compacts_no_more_than_a_moment_allows() {
    let limits = Limits::default();
    let is_compacted = |buckets: u64, bucket_size: u16| {
        let capacity = buckets * u64::from(bucket_size);
        let mut filter = PeerCuckoo::with_capacity(capacity, bucket_size, 20, 1).unwrap();
        let mut items = 0;
        while filter.sub_filters() < 2 {
            filter.insert(&text(items), AddCopy, &limits).unwrap();
            items += 1;
        }
        assert!((0..items / 5).all(|item| filter.remove(&text(item))));
        filter.sub_filters() == 1
    };
    assert!(is_compacted(1 << 16, 8));
    assert!(is_compacted(1 << 8, 64));
    assert!(!is_compacted(1 << 11, 255));
}

/// Steps of a compaction look at so many slots each, and lead where a single one leads; also from
/// positions that are none.
#[test]
fn a_compaction_in_steps_is_a_compaction() {
    let limits = Limits::default();
    let mut one = PeerCuckoo::with_capacity(1 << 17, 2, 20, 2).unwrap();
    let mut items = 0;
    while one.sub_filters() < 4 {
        one.insert(&text(items), AddCopy, &limits).unwrap();
        items += 1;
    }
    assert!((0..items).filter(|item| item % 8 != 0).all(|item| one.remove(&text(item))));
    let mut other = one.try_clone().unwrap();
    one.compact();
    let (mut next, mut steps) = (None, 0);
    loop {
        let step = other.compact_step(next);
        (next, steps) = (step.next, steps + 1);
        if next.is_none() {
            break;
        }
    }
    assert!(steps > 4, "{steps}");
    assert!(one.sub_filters() < 4);
    let [one, mut other] = [one, other].map(|filter| {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        (bytes, filter)
    });
    assert!(one.0 == other.0);
    for part in [0, 1, 9, u64::MAX] {
        for from in [0, 5, u64::MAX] {
            other.1.compact_step(Some(CompactionPosition { part, from }));
        }
    }
    assert!((0..items).filter(|item| item % 8 == 0).all(|item| other.1.contains(&text(item))));
}

/// A replica that copies a filter in between goes on as the filter itself does: also where a dump
/// has stated items that were not in it, and further ones came.
#[test]
fn a_filter_that_states_items_it_lacks_goes_on_as_its_copy_does() {
    let limits = Limits::default();
    let stream = |filter: &PeerCuckoo| {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    };
    for (expansion, more) in [(0, 20), (1, 300), (2, 300)] {
        let empty = PeerCuckoo::with_capacity(64, 2, 20, expansion).unwrap();
        let mut header = empty.header();
        header[..8].copy_from_slice(&empty.slots().to_le_bytes());
        let mut one = PeerCuckoo::from_header(&header, &limits).unwrap();
        let mut copies = Vec::new();
        let items: Vec<_> = (0..more).map(text).collect();
        for item in &items {
            copies.push(PeerCuckoo::read_from(&stream(&one)[..], &limits).unwrap());
            for filter in copies.iter_mut().chain([&mut one]) {
                filter.insert(item, AddCopy, &limits).unwrap();
            }
        }
        for item in &items {
            for filter in copies.iter_mut().chain([&mut one]) {
                assert!(filter.remove(item));
            }
        }
        for filter in copies.iter_mut().chain([&mut one]) {
            filter.compact();
        }
        let expected = stream(&one);
        assert!(copies.iter().all(|copy| stream(copy) == expected), "expansion {expansion}");
    }
}
