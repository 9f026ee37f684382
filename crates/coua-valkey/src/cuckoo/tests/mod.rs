//! Tests of cuckoo filters as values.

mod replicas;

use std::cell::Cell;

use coua::{IfPresent, KeyHasher};

use crate::cuckoo::{CuckooRequest, NativeCuckoo, Outcome};
use crate::error::CommandError;
use crate::redisbloom::CompactionPosition;

fn filter(words: &[&[u8]]) -> NativeCuckoo {
    NativeCuckoo::of(CuckooRequest::of_reserve(words).unwrap().complete([1; 16]).unwrap()).unwrap()
}

/// Inserts under a limit until an item is refused, and returns the number inserted.
fn fill(native: &mut NativeCuckoo, limit: u64) -> u64 {
    for block in 0..100_000u32 {
        let keys: Vec<_> = (0..500).map(|key| (block * 500 + key).to_le_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        if native
            .insert(&keys, IfPresent::AddCopy, Some(limit))
            .iter()
            .any(|o| *o != Outcome::Inserted)
        {
            return native.len();
        }
    }
    panic!("{limit} bytes have no end");
}

#[test]
fn a_filter_that_grows_ends_within_the_limit_and_uses_most_of_it() {
    for limit in [10_000, 100_000, 1_000_000, 2_150_000, 4_000_000, 6_000_000, 12_000_000] {
        let mut native = filter(&[b"1024", b"EXPANSION", b"2"]);
        fill(&mut native, limit);
        let bytes = native.memory_bytes();
        // Small filters double.
        let least = if limit < 500_000 { limit / 3 } else { limit - limit / 8 };
        assert!(bytes <= limit && bytes >= least, "{bytes} of {limit}");
    }
}

#[test]
fn what_needs_no_memory_is_not_refused() {
    for limit in [10_000, 100_000, 6_000_000] {
        let mut native = filter(&[b"1024", b"EXPANSION", b"2"]);
        let count = fill(&mut native, limit) as u32;
        let keys: Vec<_> = (0..count / 2).map(u32::to_le_bytes).collect();
        let outcomes = native.insert(&keys, IfPresent::Skip, Some(limit));
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Present), "{limit}");
        let items: Vec<_> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        native.remove(&items);
        for key in 1..count / 4 {
            let inserted =
                native.insert(&[(key + (1 << 30)).to_le_bytes()], IfPresent::AddCopy, Some(limit));
            assert_eq!(inserted[..], [Outcome::Inserted], "{limit}");
        }
    }
}

#[test]
fn a_filter_that_just_fits_takes_the_items_it_was_made_for() {
    for capacity in ["10000", "1000000"] {
        let mut native = filter(&[capacity.as_bytes()]);
        let limit = native.memory_bytes();
        let items = fill(&mut native, limit);
        assert!(items as f64 > 0.97 * capacity.parse::<f64>().unwrap(), "{items} of {capacity}");
    }
}

/// A replica has no limit, though it may have had one before.
#[test]
fn the_limit_of_a_command_is_not_that_of_the_next() {
    for words in [&[b"100".as_slice()][..], &[b"100", b"WINDOW", b"52w"]] {
        let [mut one, mut other] = [filter(words), filter(words)];
        let keys: Vec<_> = (0..20_000u32).map(u32::to_le_bytes).collect();
        other.insert(&keys[100..], IfPresent::AddCopy, None);
        one.insert(&keys[..100], IfPresent::AddCopy, Some(10_000));
        assert_eq!(one.merge(&other, None), Ok(()));
    }
}

/// Field *age from* of docs/format.md.
#[test]
fn a_window_that_counts_from_when_items_were_last_seen_is_refused() {
    const SNAPSHOT: usize = 64;
    const AGE_FROM: usize = 136;
    const SUM: usize = 184;
    let mut image = Vec::new();
    filter(&[b"100", b"WINDOW", b"1h"]).write_from(0, &mut image).unwrap();
    let read = |image: &[u8]| {
        let magic = *image.first_chunk().unwrap();
        NativeCuckoo::read(magic, &mut &image[8..]).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(read(&image), Ok(()));
    let snapshot = &mut image[SNAPSHOT..];
    snapshot[AGE_FROM] = 1;
    let sum = KeyHasher::default().hash(&snapshot[..SUM]).to_u64().to_le_bytes();
    snapshot[SUM..SUM + 8].copy_from_slice(&sum);
    let (end, trailer) = (snapshot.len() - 16, snapshot.len() - 32);
    let whole = [&snapshot[..SUM + 8], &snapshot[trailer..end]].concat();
    let sum = KeyHasher::default().hash(&whole).to_u64().to_le_bytes();
    snapshot[end..end + 8].copy_from_slice(&sum);
    assert!(read(&image).unwrap_err().contains("from when items were last seen"));
}

/// An item that counts how often it is read.
struct Counted([u8; 4], Cell<u32>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.1.set(self.1.get() + 1);
        &self.0
    }
}

#[test]
fn items_behind_refused_ones_are_hashed_once() {
    for if_present in [IfPresent::AddCopy, IfPresent::Skip] {
        let mut native = filter(&[b"1000", b"EXPANSION", b"0"]);
        let items: Vec<_> =
            (0..10_000u32).map(|n| Counted(n.to_le_bytes(), Cell::new(0))).collect();
        let outcomes = native.insert(&items, if_present, None);
        let refused = Outcome::Refused(CommandError::Full);
        let refused = outcomes.iter().filter(|&outcome| *outcome == refused).count();
        assert!(outcomes.len() == items.len() && refused > 8_000, "{refused}");
        assert_eq!(items.iter().map(|item| item.1.get()).max(), Some(1));
    }
}

#[test]
fn a_filter_that_never_grows_takes_as_many_items_after_a_compaction() {
    for precision in [["ERROR", "0.01"], ["HASHBITS", "20"], ["HASHBITS", "64"]] {
        let [option, value] = precision.map(str::as_bytes);
        let mut native = filter(&[b"20000", b"EXPANSION", b"0", option, value]);
        let keys: Vec<_> = (0..20_000u32).map(u32::to_le_bytes).collect();
        native.insert(&keys, IfPresent::AddCopy, None);
        let items: Vec<_> = keys[500..].iter().map(<[u8; 4]>::as_slice).collect();
        native.remove(&items);
        assert!(native.compact(CompactionPosition::default()).unwrap().has_changed);
        assert_eq!(native.deleted, 0);
        assert!(!native.compact(CompactionPosition::default()).unwrap().has_changed);
        let outcomes = native.insert(&keys[500..], IfPresent::AddCopy, None);
        let refused = outcomes.iter().filter(|outcome| **outcome != Outcome::Inserted).count();
        assert_eq!(refused, 0, "{precision:?}");
    }
}

/// Counted memory is rounded up, so a rebuilt filter may take as much as before.
#[test]
fn a_filter_that_was_rebuilt_has_changed() {
    for capacity in 40..120u32 {
        let mut native = filter(&[capacity.to_string().as_bytes()]);
        let keys: Vec<_> = (0..capacity * 9 / 10).map(u32::to_le_bytes).collect();
        native.insert(&keys, IfPresent::AddCopy, None);
        let image = |native: &NativeCuckoo| {
            let mut image = Vec::new();
            native.write(&mut image).unwrap();
            image
        };
        let before = (image(&native), native.changes());
        let has_changed = native.compact(CompactionPosition::default()).unwrap().has_changed;
        assert_eq!(has_changed, image(&native) != before.0, "{capacity}");
        assert_eq!(has_changed, native.changes() != before.1, "{capacity}");
    }
}

/// The most slots of an empty filter that is rebuilt in one step.
const QUICKLY_REBUILT: u64 = 1 << 21;

/// Removals compact only a filter that is quickly rebuilt; see `compaction`.
#[test]
fn no_removal_moves_more_than_two_million_slots() {
    for items in [100_000, 1_500_000_u32] {
        let mut native = filter(&[b"1000"]);
        let keys: Vec<_> = (0..items).map(u32::to_le_bytes).collect();
        native.insert(&keys, IfPresent::AddCopy, None);
        let slots = |native: &NativeCuckoo| native.figures().slots;
        for batch in keys[..keys.len() * 9 / 10].chunks(10_000) {
            let before = slots(&native);
            native.remove(&batch.iter().map(<[u8; 4]>::as_slice).collect::<Vec<_>>());
            let moved = if native.deleted == 0 { before } else { before - slots(&native) };
            assert!(moved <= QUICKLY_REBUILT, "{before} slots, {} now", slots(&native));
        }
        assert_eq!(native.compact(CompactionPosition::default()).unwrap().next, None);
        assert!(slots(&native) < u64::from(items) / 3, "{} slots", slots(&native));
        let rest = &keys[keys.len() * 9 / 10..];
        let rest: Vec<_> = rest.iter().map(<[u8; 4]>::as_slice).collect();
        assert!(native.contains_all(&rest).into_iter().all(|it| it));
    }
}

/// As docs/valkey.md promises.
#[test]
fn a_filter_that_grows_takes_at_most_2_1_times_what_its_items_need() {
    for bits in ["64", "40", "31", "26"] {
        let mut grown = filter(&[b"1024", b"HASHBITS", bits.as_bytes()]);
        let (mut first, mut items) = (0, 6_000_u32);
        while items < 3_000_000 {
            let keys: Vec<_> = (first..items).map(u32::to_le_bytes).collect();
            grown.insert(&keys, IfPresent::AddCopy, None);
            let capacity = items.to_string();
            let words = [capacity.as_bytes(), b"HASHBITS", bits.as_bytes(), b"EXPANSION", b"0"];
            let (taken, needed) = (grown.memory_bytes(), filter(&words).memory_bytes());
            // Large ones take memory by 2 MiB.
            let step = if taken < 8 << 20 { 0 } else { 2 << 20 };
            assert!(
                taken * 10 <= needed * 21 + step * 10,
                "{bits} bits, {items} items: {taken}, {needed}"
            );
            first = items;
            items += items / 16;
        }
    }
}
