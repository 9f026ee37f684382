//! Snapshots used in place: the same answers and the same bytes as loaded ones, and the file stays as
//! it was.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use coua::inspect::Contents;
use coua::{CuckooFilter, KeyHash, KeyHasher, Load, LoadError};

use crate::counting::{ENDLESS, measured, measured_load};
use crate::forge::{FIELDS, Forgery, ROWS, SHORTEST};
use crate::samples::{bytes_of, samples, segmented};
use coua_dev::cases::sample;
use coua_dev::random::Random;

/// A filter of a few megabytes, whose segments have been split.
fn large() -> CuckooFilter {
    let mut filter = CuckooFilter::new();
    filter.insert_batch(&Random::new(7).many(600_000, KeyHash::from_u64)).expect("it grows");
    filter
}

fn saved(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("space for it");
    file
}

fn check(mut file: &File) -> Result<(), LoadError> {
    Contents::read(&mut file)?.check(&mut file)
}

fn map(path: &Path) -> CuckooFilter {
    Load::new().map::<CuckooFilter>(path).expect("a filter file")
}

/// The same operations, of every kind.
fn use_it(filter: &mut CuckooFilter, seed: u64) {
    let random = &mut Random::new(seed);
    let hashes = random.many(2_000, KeyHash::from_u64);
    let _full = filter.insert_batch(&hashes);
    filter.remove_batch(&hashes[..700]);
    let _full = filter.insert_unique_batch(&hashes[500..]);
    for &hash in &hashes[..20] {
        for _ in 0..5 {
            let _full = filter.insert(hash);
        }
    }
}

fn answers(filter: &CuckooFilter, hashes: &[KeyHash]) -> (Vec<bool>, Vec<u64>) {
    let present = filter.contains_batch(hashes);
    let counts = filter.count_batch(hashes);
    (present, counts)
}

#[test]
fn a_mapped_filter_is_the_loaded_one() {
    let mut all = samples();
    all.push(("large", large()));
    for (name, filter) in all {
        let bytes = bytes_of(&filter);
        let file = saved(&bytes);
        let (mut mapped, mut loaded) = (map(file.path()), filter);
        assert!(bytes_of(&mapped) == bytes, "{name}");
        let asked = [
            Random::new(5).many(3_000, KeyHash::from_u64),
            Random::new(7).many(3_000, KeyHash::from_u64),
        ]
        .concat();
        assert_eq!(answers(&mapped, &asked), answers(&loaded, &asked), "{name}");
        for round in 0..3 {
            use_it(&mut mapped, round);
            use_it(&mut loaded, round);
            assert!(bytes_of(&mapped) == bytes_of(&loaded), "{name}: round {round}");
            assert_eq!(answers(&mapped, &asked), answers(&loaded, &asked), "{name}");
        }
        mapped.compact().unwrap();
        loaded.compact().unwrap();
        assert!(bytes_of(&mapped) == bytes_of(&loaded), "{name}: compacted");
        assert!(fs::read(file.path()).unwrap() == bytes, "{name}: the file was written");
    }
}

#[test]
fn a_mapped_filter_grows() {
    let mut original = large();
    let file = saved(&bytes_of(&original));
    let (mut mapped, more) = (map(file.path()), Random::new(8).many(900_000, KeyHash::from_u64));
    mapped.insert_batch(&more).unwrap();
    original.insert_batch(&more).unwrap();
    assert!(mapped.segments() > map(file.path()).segments());
    assert!(bytes_of(&mapped) == bytes_of(&original));
    assert!(bytes_of(&mapped.try_clone().unwrap()) == bytes_of(&original));
}

#[test]
fn a_mapped_filter_outlives_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let old = large();
    fs::write(&path, bytes_of(&old)).unwrap();
    let mapped = map(&path);
    let new = folder.path().join("new.coua");
    fs::write(&new, bytes_of(&CuckooFilter::new())).unwrap();
    fs::rename(&new, &path).unwrap();
    assert!(bytes_of(&mapped) == bytes_of(&old));
    fs::remove_file(&path).unwrap();
    assert!(bytes_of(&mapped) == bytes_of(&old));
}

#[test]
fn opening_costs_no_memory_for_the_segments() {
    let file = saved(&bytes_of(&large()));
    let (filter, cost) = measured(|| map(file.path()));
    assert_eq!(filter.len(), 600_000);
    assert!(cost.heap < 100_000, "{} bytes", cost.heap);
}

/// Damage in a segment is what mapping leaves to `read` and `Contents::check`; elsewhere it is found.
#[test]
fn damage_beside_the_segments_is_found_at_once() {
    for (name, filter) in samples() {
        let mut bytes = bytes_of(&filter);
        if bytes.len() > 20_000 {
            continue;
        }
        let original = Forgery(bytes.clone());
        let first = original.segment(0).unwrap().start;
        let side = original.get("overflow table offset") as usize;
        for at in 0..bytes.len() {
            bytes[at] ^= 4;
            let file = saved(&bytes);
            let open = File::open(file.path()).unwrap();
            assert!(check(&open).is_err(), "{name}: byte {at}");
            let mapped = Load::new().map::<CuckooFilter>(file.path());
            assert_eq!(mapped.is_ok(), (first..side).contains(&at), "{name}: byte {at}");
            bytes[at] ^= 4;
        }
    }
}

#[test]
fn checking_names_the_damaged_segment() {
    let bytes = bytes_of(&segmented());
    let forgery = Forgery(bytes.clone());
    let check = |bytes: &[u8]| check(&File::open(saved(bytes).path()).unwrap());
    check(&bytes).unwrap();
    for row in 0..forgery.rows() {
        let mut damaged = bytes.clone();
        damaged[forgery.segment(row).unwrap().start + 99] ^= 1;
        let error = check(&damaged).unwrap_err();
        let wanted = format!("segment {row}");
        assert!(matches!(&error, LoadError::Checksum { part } if *part == wanted), "{error}");
    }
    let cut = check(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(cut, LoadError::Length { .. }), "{cut}");
}

#[test]
fn files_of_other_lengths_are_refused() {
    let bytes = bytes_of(&samples()[1].1);
    for length in [0, 1, 100, 192, 320, bytes.len() - 1] {
        assert!(
            Load::new().map::<CuckooFilter>(saved(&bytes[..length]).path()).is_err(),
            "{length}"
        );
    }
    let longer = saved(&[&bytes[..], &[0]].concat());
    assert!(matches!(
        Load::new().map::<CuckooFilter>(longer.path()),
        Err(LoadError::Length { .. })
    ));
    assert!(matches!(
        Load::new().map::<CuckooFilter>(Path::new("/no/such")),
        Err(LoadError::Io(_))
    ));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_mapped_is_read() {
    let bytes = bytes_of(&samples()[1].1);
    let (reader, mut writer) = std::io::pipe().unwrap();
    let whole = bytes.clone();
    let writing = std::thread::spawn(move || writer.write_all(&whole));
    let pipe = File::from(std::os::fd::OwnedFd::from(reader));
    let filter = Load::new().map_file::<CuckooFilter>(&pipe).unwrap();
    assert!(bytes_of(&filter) == bytes);
    writing.join().unwrap().unwrap();
}

#[test]
fn a_secret_key_is_asked_for() {
    let key = [7; 16];
    let mut keyed = CuckooFilter::builder().hasher(KeyHasher::SipHash13 { key }).build().unwrap();
    keyed.insert("a").unwrap();
    let bytes = bytes_of(&keyed);
    let file = saved(&bytes);
    let with = [
        Load::new().key(key).map::<CuckooFilter>(file.path()),
        Load::new().key(key).bytes::<CuckooFilter>(&bytes),
        Load::new().key(key).reader::<CuckooFilter>(&bytes[..]),
        Load::new().key(key).file::<CuckooFilter>(file.as_file()),
    ];
    for filter in with {
        assert!(filter.unwrap().contains("a"));
    }
    let other = [9; 16];
    let wrong = [
        Load::new().key(other).map::<CuckooFilter>(file.path()),
        Load::new().key(other).bytes::<CuckooFilter>(&bytes),
        Load::new().key(other).reader::<CuckooFilter>(&bytes[..]),
    ];
    assert!(wrong.iter().all(|result| matches!(result, Err(LoadError::WrongKey))));
    assert!(matches!(Load::new().map::<CuckooFilter>(file.path()), Err(LoadError::KeyNeeded)));
    check(&File::open(file.path()).unwrap()).unwrap();
}

/// Maps forged bytes; what opens is put to use.
fn survive(bytes: &[u8], what: &dyn Fn() -> String) -> bool {
    let file = saved(bytes);
    let (result, cost) =
        measured_load(bytes.len(), || Load::new().map::<CuckooFilter>(file.path()));
    assert!(cost.heap < 8 * bytes.len() as u64 + 100_000, "{}: {} bytes", what(), cost.heap);
    let Ok(mut filter) = result else { return false };
    let start = Instant::now();
    let hashes = Random::new(9).many(100, KeyHash::from_u64);
    let before = answers(&filter, &hashes);
    for &hash in &hashes {
        let _full = filter.insert(hash);
    }
    assert_eq!(before.0.len(), 100);
    let _full = filter.insert_batch(&hashes);
    for &hash in &hashes {
        while filter.remove(hash) {}
    }
    filter.remove_batch(&Random::new(5).many(20_000, KeyHash::from_u64));
    drop(filter.try_clone());
    assert!(bytes_of(&filter).len() >= SHORTEST);
    assert!(start.elapsed() < ENDLESS, "{}: {:?}", what(), start.elapsed());
    assert!(fs::read(file.path()).expect("it can be read") == bytes, "{}", what());
    true
}

#[test]
fn forged_headers_and_rows() {
    for (name, filter) in samples() {
        let original = Forgery(bytes_of(&filter));
        if original.0.len() > 20_000 {
            continue;
        }
        let rows = [(ROWS, 4), (ROWS + 4, 4), (ROWS + 8, 4), (ROWS + 16, 8)];
        let fields = FIELDS.iter().map(|&(_, at, width)| (at, width)).chain(rows);
        for (at, width) in fields {
            for bit in sample(0..8 * width, [13, 3]) {
                for value in [1u64 << bit, u64::MAX >> bit, original.read(at, width) ^ (1 << bit)] {
                    let mut forged = original.clone();
                    forged.write(at, width, value);
                    survive(forged.seal(), &|| format!("{name}: {at} = {value}"));
                }
            }
        }
    }
}

#[test]
fn more_slots_in_use_than_there_are() {
    let mut forged = Forgery(bytes_of(&samples()[1].1));
    let more = 1 << 20;
    for field in ["len", "stored"] {
        let value = forged.get(field);
        forged.set(field, value + more);
    }
    forged.write(ROWS + 4, 4, forged.read(ROWS + 4, 4) + more);
    let error = Load::new().map::<CuckooFilter>(saved(forged.seal()).path()).unwrap_err();
    assert!(matches!(error, LoadError::Field { name: "slots in use", .. }), "{error}");
}

#[test]
fn segments_of_other_bytes() {
    let random = &mut Random::new(4);
    let mut opened = 0;
    for round in 0..300 {
        let all = samples();
        let (name, filter) = &all[random.below(5) as usize];
        let mut forged = Forgery(bytes_of(filter));
        let range = forged.segment(0).unwrap();
        if round % 2 == 0 {
            forged.scramble(random, range);
        } else {
            forged.0[range].fill_with(|| random.next() as u8);
        }
        opened += u64::from(survive(&forged.0, &|| format!("{name}: round {round}")));
        opened += u64::from(survive(forged.seal(), &|| format!("{name}: round {round}, sealed")));
    }
    assert!(opened > 300, "{opened}");
}
