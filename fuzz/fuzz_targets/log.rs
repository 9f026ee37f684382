//! Any bytes as the log that follows a real snapshot: an error, or a state that was committed; and a writer
//! finds what a reader finds.
//!
//! Bytes as they are; or changes to a real log; or frames of anything, whose checksums are right
//! unless they have a flaw.

#![no_main]

#[expect(dead_code, reason = "it writes whole logs too")]
#[path = "../../crates/coua-store/tests/store/text.rs"]
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, KeyHash, Load};
use coua_store::{Notes, Options};
use libfuzzer_sys::fuzz_target;
use text::{checksum, frame, note, numbers, run};

#[derive(Arbitrary, Debug)]
struct Plan {
    has_window: bool,
    log: Log,
}

#[derive(Arbitrary, Debug)]
enum Log {
    Bytes(Vec<u8>),
    Changed { edits: Vec<(u16, u8)>, length: Option<u16>, more: Vec<u8> },
    Frames(Vec<Frame>),
}

#[derive(Arbitrary, Debug)]
struct Frame {
    kind: Kind,
    flaw: Option<Flaw>,
}

#[derive(Arbitrary, Debug)]
enum Kind {
    Changes(Vec<Change>),
    Notes(Vec<Entry>),
    Commit,
    Payload(u8, Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Change {
    Insert(Vec<u16>),
    Remove(Vec<u16>),
    Turn(u64),
    Generation(u64),
    Any(u8, Vec<u64>),
}

#[derive(Arbitrary, Debug)]
struct Entry {
    name: String,
    /// None if it is removed.
    value: Option<Vec<u8>>,
}

#[derive(Arbitrary, Debug)]
enum Flaw {
    Sequence(u64),
    OtherFilter,
    OtherTransaction,
    Byte(u16, u8),
    Cut(u8),
    Zeros(u16),
}

/// Names and values, in the order of the names.
type Noted = BTreeMap<String, Vec<u8>>;

/// What was committed: the filter's bytes and the notes, for each commit.
type States = Vec<(Vec<u8>, Noted)>;

/// A snapshot, the log that came after it, and the states on the way.
struct Real {
    snapshot: Vec<u8>,
    log: Vec<u8>,
    states: States,
}

fuzz_target!(|plan: Plan| {
    let real = &real()[usize::from(plan.has_window)];
    let (log, states) = match &plan.log {
        Log::Bytes(bytes) => (bytes.clone(), None),
        Log::Changed { edits, length, more } => {
            (changed(&real.log, edits, *length, more), Some(real.states.clone()))
        }
        Log::Frames(frames) => (forged(real, frames), model(real, frames)),
    };
    let folder = folder();
    let path = folder.path().join("seen.coua");
    let file = [&real.snapshot[..], &log].concat();
    fs::write(&path, &file).expect("space");
    let read = Options::new().read(&path).ok();
    let read = read.map(|view| (bytes_of(&view.filter), noted(&view.notes)));
    let store = Options::new().expecting(0).write(&path).ok();
    assert_eq!(read.is_some(), store.is_some(), "readers and writers agree");
    if let Log::Frames(frames) = &plan.log
        && let Some(states) = &states
        && frames.iter().all(|frame| frame.flaw.is_none())
    {
        assert!(read.as_ref() == states.last(), "the last commit counts");
    }
    if let Log::Frames(frames) = &plan.log
        && has_foreign_frame(frames)
    {
        assert!(read.is_none(), "a frame of another place, filter, or transaction");
    }
    let (Some(read), Some(mut store)) = (read, store) else {
        // What is refused is left as it is.
        assert!(fs::read(&path).expect("it is there") == file);
        return;
    };
    assert!(read == (bytes_of(store.filter()), noted(store.notes())));
    assert!(states.is_none_or(|states| states.contains(&read)), "this was never committed");
    store.insert("one more").expect("it grows");
    store.set_note("one more", b"value").expect("it is short");
    store.commit().expect("space");
    let after = (bytes_of(store.filter()), noted(store.notes()));
    drop(store);
    let view = Options::new().read(&path).expect("it was written");
    assert!(after == (bytes_of(&view.filter), noted(&view.notes)));
});

fn folder() -> tempfile::TempDir {
    // Where waiting for the disk takes no time, if there is such a place.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

fn noted(notes: &Notes) -> Noted {
    notes.iter().map(|(name, note)| (name.to_owned(), note.to_vec())).collect()
}

/// Without a window and with one.
fn real() -> &'static [Real; 2] {
    static REAL: OnceLock<[Real; 2]> = OnceLock::new();
    REAL.get_or_init(|| [false, true].map(Real::new))
}

impl Real {
    fn new(has_window: bool) -> Self {
        let template = CuckooFilter::new();
        let filter = if has_window {
            Generations::from_template(
                Window::new(Clock::Arrival, 1000, 4).expect("a window"),
                template,
            )
        } else {
            template.into()
        };
        let folder = folder();
        let path = folder.path().join("seen.coua");
        let mut store = Options::new().create(&path, || filter).expect("space");
        let mut states = Vec::new();
        store.commit().expect("space");
        let snapshot = fs::read(&path).expect("it was written");
        states.push((bytes_of(store.filter()), Noted::new()));
        for round in 1..4 {
            store.advance(round * 300);
            store.insert_batch(&hashes(round)).expect("it grows");
            store.remove_batch(&hashes(round)[..20]);
            store.set_note("round", &round.to_le_bytes()).expect("it is short");
            store.set_note(&round.to_string(), b"").expect("it is short");
            store.remove_note(&(round - 1).to_string());
            store.commit().expect("space");
            states.push((bytes_of(store.filter()), noted(store.notes())));
        }
        drop(store);
        let log = fs::read(&path).expect("it was written").split_off(snapshot.len());
        Self { snapshot, log, states }
    }
}

fn hashes(round: u64) -> Vec<KeyHash> {
    (0..100).map(|n| hash_of(100 * round + n)).collect()
}

fn hash_of(number: u64) -> KeyHash {
    KeyHash::from_u64((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn changed(real: &[u8], edits: &[(u16, u8)], length: Option<u16>, more: &[u8]) -> Vec<u8> {
    let mut log = real.to_vec();
    for &(at, bits) in edits {
        let at = usize::from(at) % log.len();
        log[at] ^= bits;
    }
    let length = length.map_or(log.len(), |length| usize::from(length).min(log.len()));
    log.truncate(length);
    log.extend_from_slice(more);
    log
}

fn forged(real: &Real, frames: &[Frame]) -> Vec<u8> {
    let (mut log, mut heads) = (Vec::new(), Vec::new());
    for (number, Frame { kind, flaw }) in frames.iter().enumerate() {
        let (kind, mut payload) = payload_of(kind);
        if kind == 2 {
            let other = u64::from(matches!(flaw, Some(Flaw::OtherTransaction)));
            payload = numbers(&[checksum(&heads) ^ other]);
            heads.clear();
        }
        let sequence = match flaw {
            Some(Flaw::Sequence(sequence)) => *sequence,
            _ => number as u64,
        };
        // Any other bytes have another checksum where a snapshot has its own.
        let snapshot =
            if matches!(flaw, Some(Flaw::OtherFilter)) { &real.log } else { &real.snapshot };
        let frame = frame(kind, sequence, snapshot, &payload);
        if kind != 2 {
            heads.extend(&frame[40..48]);
        }
        let begin = log.len();
        log.extend(frame);
        spoil(&mut log, begin, real.snapshot.len(), flaw.as_ref());
    }
    log
}

/// The states that the commits lead to if no frame has a flaw; none if that cannot be said here.
fn model(real: &Real, frames: &[Frame]) -> Option<States> {
    let mut filter = Load::new().bytes::<CuckooFilter>(&real.snapshot).ok()?;
    let mut states = vec![(real.snapshot.clone(), Noted::new())];
    let mut entries = Vec::new();
    for frame in frames {
        match &frame.kind {
            Kind::Changes(changes) => {
                changes.iter().try_for_each(|change| repeat(&mut filter, change))?;
            }
            Kind::Notes(more) => entries.extend(more),
            Kind::Commit => {
                let mut bytes = Vec::new();
                filter.write_to(&mut bytes).expect("memory takes every byte");
                let mut notes = states.last().expect("the first").1.clone();
                entries.drain(..).for_each(|entry| enter(&mut notes, entry));
                states.push((bytes, notes));
            }
            Kind::Payload(..) => return None,
        }
    }
    Some(states)
}

fn enter(notes: &mut Noted, Entry { name, value }: &Entry) {
    match value {
        Some(value) => notes.insert(name.clone(), value.clone()),
        None => notes.remove(name),
    };
}

fn repeat(filter: &mut CuckooFilter, change: &Change) -> Option<()> {
    let all = |numbers: &[u16]| -> Vec<KeyHash> {
        numbers.iter().map(|&number| hash_of(u64::from(number))).collect()
    };
    match change {
        Change::Insert(numbers) => filter.insert_batch(&all(numbers)).ok(),
        Change::Remove(numbers) => {
            filter.remove_batch(&all(numbers));
            Some(())
        }
        Change::Turn(_) | Change::Generation(_) | Change::Any(..) => None,
    }
}

/// Whether the first flaw is one that no crash leaves.
fn has_foreign_frame(frames: &[Frame]) -> bool {
    let mut flaws = frames.iter().enumerate().filter_map(|(number, frame)| {
        frame.flaw.as_ref().map(|flaw| match flaw {
            Flaw::Sequence(sequence) => *sequence != number as u64,
            Flaw::OtherFilter => true,
            Flaw::OtherTransaction => matches!(frame.kind, Kind::Commit),
            Flaw::Byte(..) | Flaw::Cut(_) | Flaw::Zeros(_) => false,
        })
    });
    flaws.next() == Some(true)
}

fn payload_of(kind: &Kind) -> (u32, Vec<u8>) {
    match kind {
        Kind::Changes(changes) => (1, changes.iter().flat_map(bytes_of_change).collect()),
        Kind::Notes(entries) => (3, entries.iter().flat_map(bytes_of_entry).collect()),
        Kind::Commit => (2, Vec::new()),
        Kind::Payload(kind, payload) => (u32::from(*kind), payload.clone()),
    }
}

fn bytes_of_change(of: &Change) -> Vec<u8> {
    let all = |hashes: &[u16]| -> Vec<u64> {
        hashes.iter().map(|&number| hash_of(u64::from(number)).to_u64()).collect()
    };
    match of {
        Change::Insert(hashes) => run(1, &all(hashes)),
        Change::Remove(hashes) => run(2, &all(hashes)),
        Change::Turn(clock) => run(3, &[*clock]),
        Change::Generation(number) => run(4, &[*number]),
        Change::Any(kind, hashes) => run(u32::from(*kind), hashes),
    }
}

fn bytes_of_entry(Entry { name, value }: &Entry) -> Vec<u8> {
    note(name.as_bytes(), value.as_deref())
}

/// Spoils the frame that begins here in a log that follows a snapshot of so many bytes.
fn spoil(log: &mut Vec<u8>, begin: usize, snapshot: usize, flaw: Option<&Flaw>) {
    let length = log.len() - begin;
    match flaw {
        Some(Flaw::Byte(at, bits)) => log[begin + usize::from(*at) % length] ^= bits,
        Some(Flaw::Cut(bytes)) => log.truncate(begin + length.saturating_sub(usize::from(*bytes))),
        Some(Flaw::Zeros(at)) => {
            // A sector of the file, as far as it lies in this frame.
            let sector = (snapshot + begin + usize::from(*at) % length) / 512 * 512;
            let end = log.len().min((sector + 512).saturating_sub(snapshot));
            log[sector.saturating_sub(snapshot).max(begin)..end].fill(0);
        }
        Some(Flaw::Sequence(_) | Flaw::OtherFilter | Flaw::OtherTransaction) | None => {}
    }
}
