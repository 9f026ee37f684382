//! Snapshots within other bytes: in a part of a file, of a block in memory, of a stream; with hostile offsets and
//! blocks that end early.

use std::io::{Cursor, Read, Write};
use std::ops::Bound;

use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, KeyHash, Load, LoadError};

use crate::samples::{bytes_of, samples};
use coua_dev::random::Random;

/// A block with a snapshot from `before` on, and as many bytes after it.
fn block(snapshot: &[u8], before: usize) -> Vec<u8> {
    let around = vec![0xa5; before];
    [&around, snapshot, &around].concat()
}

fn in_file(bytes: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("space for it");
    file
}

/// What each way of reading gives of this part of a block, as the bytes of a filter.
fn read_all(load: Load, block: &[u8]) -> [Result<Vec<u8>, LoadError>; 4] {
    let file = in_file(block);
    let owned = |filter: CuckooFilter| bytes_of(&filter);
    [
        load.bytes(block).map(owned),
        load.file(&file).map(owned),
        load.map_file(&file).map(owned),
        load.reader(block).map(owned),
    ]
}

#[test]
fn a_part_is_read_wherever_it_begins() {
    for (name, filter) in samples() {
        let snapshot = bytes_of(&filter);
        for before in [0, 1, 63, 64, 4096, 70_001] {
            let block = block(&snapshot, before);
            let (begin, end) = (before as u64, (before + snapshot.len()) as u64);
            let exact = (Bound::Excluded(begin.wrapping_sub(1)), Bound::Included(end - 1));
            let mut loads = vec![Load::new().part(begin..), Load::new().part(begin..end)];
            if before > 0 {
                loads.push(Load::new().part(exact));
            } else {
                loads.extend([Load::new().part(..), Load::new().part(..end), Load::new()]);
            }
            for load in loads {
                for (way, read) in read_all(load, &block).into_iter().enumerate() {
                    assert!(read.unwrap() == snapshot, "{name}: way {way}");
                }
            }
        }
    }
}

#[test]
fn hostile_parts_are_refused() {
    let snapshot = bytes_of(&samples()[1].1);
    let block = block(&snapshot, 128);
    let (begin, end, length) = (128, 128 + snapshot.len() as u64, block.len() as u64);
    let refused = |load: Load| {
        read_all(load, &block).map(|read| read.expect_err("a part that is no snapshot"))
    };
    // Beside the snapshot, or beyond the block.
    let beside = [0, 1, 64, 127, 129, 192, end - 32, end, length - 1, length, length + 1];
    for begin in beside.into_iter().chain([1 << 62, i64::MAX as u64, 1 << 63, u64::MAX]) {
        for error in refused(Load::new().part(begin..)) {
            assert!(matches!(error, LoadError::NotAFilter), "from {begin}: {error}");
        }
        refused(Load::new().part(begin..end));
        refused(Load::new().part((Bound::Excluded(begin), Bound::Included(u64::MAX))));
    }
    // Nothing, or less than nothing.
    let most = u64::MAX;
    for (from, until) in [(0, 0), (begin, begin), (end, begin), (most, 0), (most, most)] {
        for error in refused(Load::new().part(from..until)) {
            assert!(matches!(error, LoadError::NotAFilter), "{error}");
        }
    }
    // Too few bytes or too many.
    for wrong in [begin + 8, begin + 191, begin + 192, end - 1, end + 1, length, u64::MAX] {
        for error in refused(Load::new().part(begin..wrong)) {
            assert!(matches!(error, LoadError::Length { .. }), "up to {wrong}: {error}");
        }
    }
    refused(Load::new());
}

#[test]
fn truncated_blocks_are_refused() {
    let snapshot = bytes_of(&samples()[1].1);
    let block = block(&snapshot, 200);
    let end = 200 + snapshot.len();
    for length in (200..end).step_by(37).chain(end - 40..end) {
        for part in [Load::new().part(200..), Load::new().part(200..end as u64)] {
            for read in read_all(part, &block[..length]) {
                let error = read.unwrap_err();
                let is_right = match length {
                    200 => matches!(error, LoadError::NotAFilter),
                    _ => matches!(error, LoadError::Length { .. }),
                };
                assert!(is_right, "{length} bytes: {error}");
            }
        }
    }
}

#[test]
fn a_stream_is_read_no_further_than_its_snapshot() {
    let snapshot = bytes_of(&samples()[1].1);
    let mut stream = Cursor::new([&b"before"[..], &snapshot, b"after"].concat());
    let read: CuckooFilter = Load::new().part(6..).reader(&mut stream).unwrap();
    assert!(bytes_of(&read) == snapshot);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "after");
}

#[test]
fn generations_are_read_in_a_part() {
    let window = Window::new(Clock::Count, 4_000, 4).unwrap();
    let mut recent = Generations::new(window);
    let hashes = Random::new(2).many(6_000, KeyHash::from_u64);
    recent.insert_batch(&hashes).unwrap();
    let mut snapshot = Vec::new();
    recent.write_to(&mut snapshot).unwrap();
    let block = block(&snapshot, 77);
    let load = Load::new().part(77..77 + snapshot.len() as u64);
    let mapped: Generations = load.map_file(&in_file(&block)).unwrap();
    for filter in [&mapped, &load.reader(&block[..]).unwrap()] {
        assert_eq!(filter.count_batch(&hashes), recent.count_batch(&hashes));
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        assert!(bytes == snapshot);
    }
    assert!(matches!(load.bytes::<CuckooFilter>(&block), Err(LoadError::Window)));
}

/// A server sends a snapshot in many parts.
#[test]
fn a_part_in_the_middle_is_written_without_the_others() {
    let builder = CuckooFilter::builder().capacity(20_000_000).hash_bits(40);
    let filter = builder.build().expect("memory that is not touched");
    let writer = filter.writer();
    let time = |start: u64| {
        let begun = std::time::Instant::now();
        let full = writer.write_from(start, &mut [0; 1000][..]).expect_err("a short part");
        assert_eq!(full.kind(), std::io::ErrorKind::WriteZero);
        begun.elapsed()
    };
    let least = |start: u64| (0..3).map(|_| time(start)).min();
    let (first, middle) = (least(0), least(writer.length() / 2));
    assert!(middle < first.map(|first| first / 10), "{middle:?} and {first:?}");
}
