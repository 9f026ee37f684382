//! Generations as files: written by `docs/format.md` alone, damaged, forged.

use std::fs;
use std::io::Write;

use coua::inspect::Contents;
use coua::window::{AgeFrom, Clock, Generations, When, Window};
use coua::{
    CuckooFilter, CuckooFilterBuilder, Filter, IfPresent, KeyHasher, Load, LoadError, WhenFull,
};

use super::forge::{Forgery, write};
use super::plain::{bytes_of, hash};

fn template() -> CuckooFilter {
    CuckooFilter::builder().capacity(20).max_items(1000).hash_bits(32).build().unwrap()
}

fn bytes_of_filter(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

fn with(keys: &[u64]) -> Vec<u8> {
    let mut filter = template();
    filter.insert_batch(&keys.iter().map(|key| hash(*key)).collect::<Vec<_>>()).unwrap();
    bytes_of_filter(&filter)
}

/// Two generations of a window of ten; the clock stands at 12.
fn honest() -> Forgery {
    let parts = vec![(u64::MAX, with(&[])), (10, with(&[1, 2, 3])), (12, with(&[4]))];
    Forgery::of(2, 10, 1000, 1200, parts)
}

pub(crate) fn made() -> Generations {
    let window = Window::new(Clock::Given, 1000, 10).unwrap();
    let mut made = Generations::from_template(window, template());
    let hashes = [1, 2, 3, 4].map(hash);
    made.insert_each(
        &hashes,
        When::Each(&[1000, 1050, 1099, 1234]),
        IfPresent::AddCopy,
        &mut Vec::new(),
    )
    .unwrap();
    made
}

#[test]
fn a_file_has_the_bytes_of_the_text() {
    assert!(bytes_of(&made()) == write(&honest()));
    let last_seen = write(&Forgery { age_from: 1, ..honest() });
    let read = Load::new().bytes::<Generations>(&last_seen).unwrap();
    assert_eq!(read.window(), made().window().map(|it| it.counted_from(AgeFrom::LastSeen)));
    assert!(bytes_of(&read) == last_seen);
}

#[test]
fn the_end_of_a_file_can_be_written() {
    let made = made();
    let bytes = bytes_of(&made);
    let writer = made.writer().unwrap();
    assert_eq!(writer.length(), bytes.len() as u64);
    let pages = (0..=bytes.len()).step_by(1024).flat_map(|page| [page, page + 1, page + 77]);
    for start in pages.chain(bytes.len() - 200..=bytes.len()).filter(|at| *at <= bytes.len()) {
        let mut rest = Vec::new();
        writer.write_from(start as u64, &mut rest).unwrap();
        assert!(rest == bytes[start..], "from {start}");
    }
    let beyond = writer.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
    assert_eq!(beyond.kind(), std::io::ErrorKind::InvalidInput);
}

/// Why readers refuse, which is the same whether they map.
fn refused(forgery: &Forgery) -> LoadError {
    let (bytes, mut file) = (write(forgery), tempfile::tempfile().unwrap());
    file.write_all(&bytes).unwrap();
    let error = Load::new().bytes::<Generations>(&bytes).unwrap_err();
    let mapping =
        Load::new().part(..bytes.len() as u64).map_file::<Generations>(&file).unwrap_err();
    assert_eq!(mapping.to_string(), error.to_string());
    error
}

#[test]
fn forged_fields_are_refused() {
    let field = |forgery: &Forgery| match refused(forgery) {
        LoadError::Field { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(field(&Forgery { clock: 0, ..honest() }), "parts");
    assert_eq!(field(&Forgery { clock: 4, ..honest() }), "clock");
    assert_eq!(field(&Forgery { kind: 3, ..honest() }), "kind");
    assert_eq!(field(&Forgery { header_bytes: 128, ..honest() }), "header length");
    assert_eq!(field(&Forgery { generations: 0, ..honest() }), "parts");
    let alone = || Forgery { parts: vec![(u64::MAX, with(&[]))], ..honest() };
    assert_eq!(field(&Forgery { generations: 0, ..alone() }), "window length");
    // A filter that never forgets has no window.
    let forever = || Forgery::of(0, 0, 0, 0, vec![(0, with(&[1]))]);
    assert!(Load::new().bytes::<Generations>(&write(&forever())).is_ok());
    assert_eq!(field(&Forgery { generations: 1, ..forever() }), "generations");
    assert_eq!(field(&Forgery { length: 1, ..forever() }), "window length");
    assert_eq!(field(&Forgery { time: 1, ..forever() }), "time");
    assert_eq!(field(&Forgery { age_from: 1, ..forever() }), "age from");
    assert_eq!(field(&Forgery { age_from: 2, ..honest() }), "age from");
    assert_eq!(field(&Forgery { parts: alone().parts, ..forever() }), "part number");
    assert_eq!(field(&Forgery { generations: 1001, ..honest() }), "window length");
    assert_eq!(field(&Forgery { length: 9, ..honest() }), "window length");
    assert_eq!(field(&Forgery { length: 1001, ..honest() }), "window length");
    assert_eq!(field(&Forgery { length: u64::MAX, ..honest() }), "window length");
    assert_eq!(field(&Forgery { time: 1201, ..honest() }), "time");
    assert_eq!(field(&Forgery { reserved: 1, ..honest() }), "reserved");
    assert_eq!(field(&Forgery { more_parts: 3_u32.wrapping_neg(), ..honest() }), "parts");
    assert_eq!(field(&Forgery { more_parts: 1000, ..honest() }), "parts");
    refused(&Forgery { more_parts: 1, ..honest() });
    assert_eq!(field(&Forgery { shift: 64, ..honest() }), "segment offset");
    assert_eq!(field(&Forgery { shift: u64::MAX - 8191, ..honest() }), "segment offset");
    let features = refused(&Forgery { features: 4, ..honest() });
    assert!(matches!(features, LoadError::Features { found: 4 }));
    // Clocks that do not fit the generations.
    assert_eq!(field(&Forgery { time: 1100, ..honest() }), "generation");
    assert_eq!(field(&Forgery { time: 2100, ..honest() }), "generation");
    assert_eq!(field(&Forgery { time: 0, ..honest() }), "generation");
    let padding = refused(&Forgery { padding: 1, ..honest() });
    assert!(matches!(padding, LoadError::Checksum { part } if part == "padding"));
}

#[test]
fn forged_parts_are_refused() {
    let with_parts = |parts: &[(u64, Vec<u8>)]| {
        refused(&Forgery { parts: parts.to_vec(), ..honest() }).to_string()
    };
    let (empty, one) = (with(&[]), with(&[1]));
    let other = |filter: CuckooFilter| bytes_of_filter(&filter);
    let kinds = [
        vec![(10, one.clone())],
        vec![(u64::MAX, one.clone())],
        vec![(u64::MAX, empty.clone()), (u64::MAX, empty.clone())],
        vec![(u64::MAX, empty.clone()), (10, one.clone()), (10, one.clone())],
        vec![(u64::MAX, empty.clone()), (11, one.clone()), (10, one.clone())],
        vec![(u64::MAX, empty.clone()), (1, one.clone())],
        vec![(u64::MAX, empty.clone()), (13, one.clone())],
        vec![(u64::MAX, empty.clone()), (10, other(CuckooFilter::new()))],
        vec![(u64::MAX, empty.clone()), (10, other(template().convert(2f64.powi(-31)).unwrap()))],
    ];
    for (at, parts) in kinds.iter().enumerate() {
        let message = with_parts(parts);
        assert!(message.contains("generation field"), "{at}: {message}");
    }
    for bytes in [Vec::new(), b"no filter".to_vec(), one[..one.len() - 100].to_vec()] {
        with_parts(&[(u64::MAX, empty.clone()), (10, bytes)]);
    }
}

#[test]
fn every_flipped_byte_and_every_prefix_is_refused() {
    let bytes = bytes_of(&made());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.coua");
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(Load::new().bytes::<Generations>(&flipped).is_err(), "byte {at}");
        assert!(Load::new().bytes::<Generations>(&bytes[..at]).is_err(), "{at} bytes");
        // The streaming check finds the same.
        if at % 7 == 0 || at > bytes.len() - 200 || at < 200 {
            for damaged in [&flipped, &bytes[..at]] {
                fs::write(&path, damaged).unwrap();
                let mut file = fs::File::open(&path).unwrap();
                let contents = Contents::read(&mut file);
                let checked = contents.and_then(|contents| contents.check(&mut file));
                assert!(checked.is_err(), "{at}");
            }
        }
    }
    assert!(Load::new().bytes::<Generations>(&[&bytes[..], b"\0"].concat()).is_err());
    // A log may follow.
    fs::write(&path, [&bytes[..], b"log"].concat()).unwrap();
    let (mut file, length) = (fs::File::open(&path).unwrap(), bytes.len() as u64);
    assert_eq!(Generations::snapshot_bytes(&file).unwrap(), length);
    Contents::read(&mut file).unwrap().check(&mut file).unwrap();
    for read in [Load::file::<Generations>, Load::map_file::<Generations>] {
        assert!(bytes_of(&read(Load::new().part(..length), &file).unwrap()) == bytes);
        assert!(read(Load::new(), &file).is_err());
    }
}

#[test]
fn other_readers_say_what_it_is() {
    let bytes = bytes_of(&made());
    let message = Load::new().bytes::<CuckooFilter>(&bytes).unwrap_err().to_string();
    assert!(message.contains("filter has a window"), "{message}");
    let mut later = bytes;
    later[8] = 2;
    let message = Load::new().bytes::<Generations>(&later).unwrap_err().to_string();
    assert!(message.contains("unknown filter format version 2 (expected 1)"), "{message}");
}

#[test]
fn a_secret_key_is_needed_and_checked() {
    let window = Window::new(Clock::Arrival, 10, 2).unwrap();
    let template =
        CuckooFilter::builder().hasher(KeyHasher::SipHash13 { key: [7; 16] }).build().unwrap();
    let mut seen = Generations::from_template(window, template);
    seen.insert_unique("a").unwrap();
    let bytes = bytes_of(&seen);
    assert!(matches!(Load::new().bytes::<Generations>(&bytes), Err(LoadError::KeyNeeded)));
    assert!(matches!(
        Load::new().key([8; 16]).bytes::<Generations>(&bytes),
        Err(LoadError::WrongKey)
    ));
    assert!(Load::new().key([7; 16]).bytes::<Generations>(&bytes).unwrap().contains("a"));
}

/// A file as version 0.1 wrote it.
#[test]
fn the_fixture_is_read_and_written_alike() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/window/fixtures/v1-generations.coua");
    if std::env::var_os("COUA_WRITE_FIXTURES").is_some() {
        fs::write(path, bytes_of(&made())).unwrap();
    }
    let bytes = fs::read(path).unwrap();
    let read = Load::new().bytes::<Generations>(&bytes).unwrap();
    assert!(bytes_of(&read) == bytes);
    let counts = read.count_batch(&[1, 2, 3, 4, 5].map(hash));
    assert_eq!(counts, [1, 1, 1, 1, 0]);
    assert!(bytes_of(&made()) == bytes);
}

/// A file's clock stands at the beginning of a generation; so does one that is set in the middle.
#[test]
fn any_clock_can_be_written_and_read() {
    for clock in [Clock::Arrival, Clock::Given, Clock::Count] {
        let window = Window::new(clock, 60_000, 6).unwrap();
        let mut seen = Generations::new(window);
        seen.set_clock(20_001);
        let expected = if clock == Clock::Count { 20_001 } else { 20_000 };
        assert_eq!(seen.clock(), expected);
        assert_eq!(Load::new().bytes::<Generations>(&bytes_of(&seen)).unwrap().clock(), expected);
    }
}

#[test]
fn generations_unlike_their_template_are_refused() {
    let window = Window::new(Clock::Count, 1_000, 4).unwrap();
    let like = || CuckooFilter::builder().hash_bits(40).capacity(100);
    let loads = |other: CuckooFilterBuilder| {
        let mut made = Generations::from_template(window, like().build().unwrap());
        made.insert("a").unwrap();
        made.filters_mut().for_each(|(_, filter)| *filter = other.clone().build().unwrap());
        assert_eq!(made.generations().count(), 1);
        let mut bytes = Vec::new();
        let written = made.write_to(&mut bytes);
        assert_eq!(written.is_ok(), Load::new().bytes::<Generations>(&bytes).is_ok());
        written.is_ok()
    };
    assert!(loads(like()) && loads(like().capacity(1_000)));
    let others = [
        like().max_evictions(7),
        like().max_items(1_000),
        like().when_full(WhenFull::Refuse),
        like().hasher(KeyHasher::Xxh3 { seed: 1 }),
        like().hash_bits(41),
        like().hash_bits(39),
    ];
    for (at, other) in others.into_iter().enumerate() {
        assert!(!loads(other), "{at}");
    }
}

#[test]
fn what_is_too_old_is_counted() {
    let window = Window::new(Clock::Given, 100, 4).unwrap();
    let mut seen = Generations::new(window);
    let (when, mut outcomes) = (When::Each(&[1_000, 5, 6, 1_001]), Vec::new());
    let keys = ["a", "b", "b", "c"].map(|key| seen.hasher().hash(key));
    seen.insert_each(&keys, when, IfPresent::Skip, &mut outcomes).unwrap();
    assert_eq!((seen.outdated(), seen.len()), (2, 2));
    let when = When::Each(&[1_000, 5, 1_001, 1_002]);
    seen.insert_each(&keys, when, IfPresent::AddCopy, &mut outcomes).unwrap();
    assert_eq!((seen.outdated(), seen.len()), (3, 5));
    assert_eq!(seen.slot_bits(), seen.template().slot_bits());
}
