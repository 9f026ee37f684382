//! Chunks put together, and chunks that do not belong together.

use super::*;
use crate::cuckoo::inserts::Copies;
use crate::cuckoo::own::OwnCuckoo;
use crate::cuckoo::request::Request;

fn filter(items: u32) -> OwnCuckoo {
    let words: [&[u8]; 5] = [b"1024", b"EXPANSION", b"2", b"HASHBITS", b"60"];
    let blueprint = Request::of_reserve(&words).unwrap().complete([7; 16]).unwrap();
    let mut own = OwnCuckoo::of(blueprint).unwrap();
    let keys: Vec<[u8; 4]> = (0..items).map(u32::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
    own.insert(&keys, Copies::Add, None);
    own
}

fn dump(own: &OwnCuckoo) -> Vec<(i64, Vec<u8>)> {
    let mut chunks: Vec<(i64, Vec<u8>)> = Vec::new();
    loop {
        let position = chunks.last().map(|(end, _)| Position::decode(*end).unwrap());
        let Some(chunk) = chunk_behind(own, position).unwrap() else { return chunks };
        assert!(chunk.1.len() <= CHUNK && (1..1 << 53).contains(&chunk.0));
        chunks.push(chunk);
    }
}

#[test]
fn chunks_put_together_are_the_filter() {
    // 5 M items of 6 bytes are two chunks.
    let own = filter(5_000_000);
    let chunks = dump(&own);
    assert!(chunks.len() >= 2);
    let mut incomplete = Incomplete::<OwnCuckoo>::default();
    let mut loaded = None;
    for (end, chunk) in &chunks {
        assert!(loaded.is_none());
        loaded = incomplete.take(Position::decode(*end).unwrap(), chunk, None).unwrap();
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    own.write(&mut first).unwrap();
    loaded.unwrap().write(&mut second).unwrap();
    assert!(first == second);
    let mut rewritten = Vec::new();
    for_each(&own, |_, chunk| rewritten.push(chunk.to_vec())).unwrap();
    assert!(rewritten.concat() == first);
}

#[test]
fn a_dump_notices_that_the_filter_changed() {
    let mut own = filter(100);
    let (first, _) = chunk_behind(&own, None).unwrap().unwrap();
    own.insert(&[b"more"], Copies::Add, None);
    let refused = chunk_behind(&own, Position::decode(first));
    assert_eq!(refused, Err(Refusal::ChangedSince));
}

#[test]
fn positions_that_no_dump_has_are_refused() {
    for number in [0, -1, i64::MIN, i64::MAX, 1 << 52, 1 << 40] {
        assert_eq!(Position::decode(number), None, "{number}");
    }
    let own = filter(100);
    let beyond = Position::encode(1 << 39, own.changes());
    assert_eq!(chunk_behind(&own, Position::decode(beyond)), Err(Refusal::Position));
}

#[test]
fn chunks_that_are_cut_repeated_or_damaged_are_refused_and_change_nothing() {
    let own = filter(10_000);
    let (end, chunk) = dump(&own).remove(0);
    let position = Position::decode(end).unwrap();
    let mut incomplete = Incomplete::<OwnCuckoo>::default();
    let cut = incomplete.take(position, &chunk[..chunk.len() - 1], None).err();
    assert_eq!(cut, Some(Refusal::Position));
    for at in [9, 70, 200, chunk.len() - 1] {
        let mut damaged = chunk.clone();
        damaged[at] ^= 1;
        let refused = incomplete.take(position, &damaged, None).err();
        assert_eq!(refused, Some(Refusal::NotLoaded), "{at}");
    }
    let limited = incomplete.take(position, &chunk, Some(1_000)).err();
    assert_eq!(limited, Some(Refusal::KeyMemory { limit: 1_000 }));
    assert!(incomplete.take(position, &chunk, None).unwrap().is_some());
}

/// Gigabytes are not copied for the sake of a chunk.
#[test]
fn what_has_arrived_stays_where_it_is() {
    let own = filter(20_000_000);
    let chunks = dump(&own);
    assert!(chunks.len() >= 6);
    let mut incomplete = Incomplete::<OwnCuckoo>::default();
    let mut before: Vec<*const u8> = Vec::new();
    let mut between = Vec::new();
    for (end, chunk) in &chunks[..chunks.len() - 1] {
        assert!(incomplete.take(Position::decode(*end).unwrap(), chunk, None).unwrap().is_none());
        let mut now = Vec::new();
        incomplete.for_each(|_, chunk| now.push(chunk.as_ptr()));
        assert_eq!(now[..before.len()], before);
        before = now;
        between.push(chunk.clone());
    }
}

#[test]
fn chunks_may_be_cut_anywhere() {
    let own = filter(300_000);
    let mut image = Vec::new();
    own.write(&mut image).unwrap();
    for size in [300, 5_000, 65_536, 100_000] {
        let mut incomplete = Incomplete::<OwnCuckoo>::default();
        let (mut end, mut loaded) = (0, None);
        for chunk in image.chunks(size) {
            assert!(loaded.is_none());
            end += chunk.len() as u64;
            loaded = incomplete.take(Position { end, changes: 0 }, chunk, None).unwrap();
            if loaded.is_none() {
                let mut again = Vec::new();
                incomplete.for_each(|_, chunk| again.extend_from_slice(chunk));
                assert!(again == image[..end as usize]);
            }
        }
        let mut again = Vec::new();
        loaded.unwrap().write(&mut again).unwrap();
        assert!(again == image, "{size}");
    }
}
