//! Any bytes as a journal beside a real snapshot: an error, or a state that was committed; and a writer
//! finds what a reader finds.
//!
//! Bytes as they are; or changes to a real journal; or frames of anything, whose checksums are right
//! unless they have a flaw.

#![no_main]

#[path = "../../crates/coua-store/tests/store/text.rs"]
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use coua::{CuckooFilter, KeyHash};
use coua::window::{Clock, Generations, Window};
use coua_store::{Options, Progress, Store};
use libfuzzer_sys::fuzz_target;
use text::{frame, header, no_places, numbers, run, small};

#[derive(Arbitrary, Debug)]
struct Plan {
    has_window: bool,
    journal: Journal,
}

#[derive(Arbitrary, Debug)]
enum Journal {
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
    Changes(Vec<Run>),
    Commit { records: u8, note: Vec<u8>, places: Vec<(bool, Vec<u8>, [u64; 5])> },
    Checkpoint { next: [u64; 2], from: u64 },
    Payload(u8, Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Run {
    Insert(Vec<u16>),
    Remove(Vec<u16>),
    Turn(u64),
    Generation(u64),
    Any(u8, Vec<u64>),
}

#[derive(Arbitrary, Debug)]
enum Flaw {
    Sequence(u64),
    OtherFilter,
    Byte(u16, u8),
    Cut(u8),
    Zeros(u16),
}

/// What was committed: the filter's bytes and the records, for each commit.
type States = Vec<(Vec<u8>, u64)>;

/// A snapshot, the journal that came after it, and the states on the way.
struct Real {
    snapshot: Vec<u8>,
    journal: Vec<u8>,
    states: States,
}

fuzz_target!(|plan: Plan| {
    let real = &real()[usize::from(plan.has_window)];
    let (journal, states) = match &plan.journal {
        Journal::Bytes(bytes) => (bytes.clone(), None),
        Journal::Changed { edits, length, more } => {
            (changed(&real.journal, edits, *length, more), Some(real.states.clone()))
        }
        Journal::Frames(frames) => (forged(real, frames), model(real, frames)),
    };
    let folder = folder();
    let path = folder.path().join("seen.coua");
    fs::write(&path, &real.snapshot).expect("space");
    fs::write(journal_of(&path), &journal).expect("space");
    let read = Store::read(&path).ok();
    let read = read.map(|view| (bytes_of(&view.filter), records(view.progress.as_ref())));
    let store = Options::new().expecting(0).write(&path).ok();
    assert_eq!(read.is_some(), store.is_some(), "readers and writers agree");
    if let Journal::Frames(frames) = &plan.journal
        && let Some(states) = &states
        && frames.iter().all(|frame| frame.flaw.is_none())
    {
        assert!(read.as_ref() == states.last(), "the last commit counts");
    }
    if let Journal::Frames(frames) = &plan.journal
        && has_foreign_frame(frames)
    {
        assert!(read.is_none(), "a frame of another place, or of another filter");
    }
    let (Some(read), Some(mut store)) = (read, store) else {
        // What is refused is left as it is.
        assert!(fs::read(journal_of(&path)).expect("it is there") == journal);
        return;
    };
    assert!(read == (bytes_of(store.filter()), records(store.progress())));
    assert!(states.is_none_or(|states| states.contains(&read)), "this was never committed");
    store.insert("one more").expect("it grows");
    store.commit(&Progress { records: 99, ..Progress::default() }).expect("space");
    let after = bytes_of(store.filter());
    drop(store);
    let view = Store::read(&path).expect("it was written");
    assert!(after == bytes_of(&view.filter) && records(view.progress.as_ref()) == 99);
});

fn folder() -> tempfile::TempDir {
    // Where waiting for the disk takes no time, if there is such a place.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

fn journal_of(path: &Path) -> PathBuf {
    path.with_extension("coua.journal")
}

fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

fn records(progress: Option<&Progress>) -> u64 {
    progress.map_or(0, |progress| progress.records)
}

/// Without a window and with one.
fn real() -> &'static [Real; 2] {
    static REAL: OnceLock<[Real; 2]> = OnceLock::new();
    REAL.get_or_init(|| [false, true].map(Real::new))
}

impl Real {
    fn new(has_window: bool) -> Self {
        let mould = CuckooFilter::new();
        let filter = if has_window {
            Generations::new(Window::new(Clock::Arrival, 1000, 4).expect("a window"), mould)
        } else {
            mould.into()
        };
        let folder = folder();
        let path = folder.path().join("seen.coua");
        let mut store = Options::new().create(&path, || filter).expect("space");
        let mut states = Vec::new();
        for round in 0..4 {
            if round > 0 {
                store.advance(round * 300);
                store.insert_batch(&hashes(round)).expect("it grows");
                let removed = store.remove_batch(&hashes(round)[..20]);
            }
            store.commit(&Progress { records: round, ..Progress::default() }).expect("space");
            states.push((bytes_of(store.filter()), round));
        }
        drop(store);
        let snapshot = fs::read(&path).expect("it was written");
        let journal = fs::read(journal_of(&path)).expect("it was written");
        Self { snapshot, journal, states }
    }
}

fn hashes(round: u64) -> Vec<KeyHash> {
    (0..100).map(|n| hash_of(100 * round + n)).collect()
}

fn hash_of(number: u64) -> KeyHash {
    KeyHash::from_u64((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn changed(real: &[u8], edits: &[(u16, u8)], length: Option<u16>, more: &[u8]) -> Vec<u8> {
    let mut journal = real.to_vec();
    for &(at, bits) in edits {
        let at = usize::from(at) % journal.len();
        journal[at] ^= bits;
    }
    let length = length.map_or(journal.len(), |length| usize::from(length).min(journal.len()));
    journal.truncate(length);
    journal.extend_from_slice(more);
    journal
}

fn forged(real: &Real, frames: &[Frame]) -> Vec<u8> {
    let mut journal = header(&real.snapshot);
    for (number, Frame { kind, flaw }) in frames.iter().enumerate() {
        let (kind, payload) = payload_of(kind);
        let sequence = match flaw {
            Some(Flaw::Sequence(sequence)) => *sequence,
            _ => number as u64,
        };
        // Any other bytes have another checksum where a snapshot has its own.
        let other = &real.journal;
        let snapshot = if matches!(flaw, Some(Flaw::OtherFilter)) { other } else { &real.snapshot };
        let begin = journal.len();
        journal.extend(frame(kind, sequence, snapshot, &payload));
        spoil(&mut journal, begin, flaw.as_ref());
    }
    journal
}

/// The states that the commits lead to if no frame has a flaw; none if that cannot be said here.
fn model(real: &Real, frames: &[Frame]) -> Option<States> {
    let mut filter = CuckooFilter::from_bytes(&real.snapshot).ok()?;
    let mut states = vec![(real.snapshot.clone(), 0)];
    for frame in frames {
        match &frame.kind {
            Kind::Changes(runs) => runs.iter().try_for_each(|run| repeat(&mut filter, run))?,
            Kind::Commit { records, .. } => {
                let mut bytes = Vec::new();
                filter.write_to(&mut bytes).expect("memory takes every byte");
                states.push((bytes, u64::from(*records)));
            }
            Kind::Checkpoint { .. } | Kind::Payload(..) => return None,
        }
    }
    Some(states)
}

fn repeat(filter: &mut CuckooFilter, run: &Run) -> Option<()> {
    let all = |numbers: &[u16]| -> Vec<KeyHash> {
        numbers.iter().map(|&number| hash_of(u64::from(number))).collect()
    };
    match run {
        Run::Insert(numbers) => filter.insert_batch(&all(numbers)).ok(),
        Run::Remove(numbers) => {
            filter.remove_batch(&all(numbers));
            Some(())
        }
        Run::Turn(_) | Run::Generation(_) | Run::Any(..) => None,
    }
}

/// Whether the first flaw is one that no crash leaves.
fn has_foreign_frame(frames: &[Frame]) -> bool {
    let mut flaws = frames.iter().enumerate().filter_map(|(number, frame)| {
        frame.flaw.as_ref().map(|flaw| match flaw {
            Flaw::Sequence(sequence) => *sequence != number as u64,
            Flaw::OtherFilter => true,
            Flaw::Byte(..) | Flaw::Cut(_) | Flaw::Zeros(_) => false,
        })
    });
    flaws.next() == Some(true)
}

fn payload_of(kind: &Kind) -> (u32, Vec<u8>) {
    match kind {
        Kind::Changes(runs) => (1, runs.iter().flat_map(bytes_of_run).collect()),
        Kind::Commit { records, note, places } => {
            let mut payload = numbers(&[u64::from(*records)]);
            payload.extend(small(&[note.len() as u32]));
            payload.extend(note);
            payload.extend(small(&[places.len() as u32]));
            for (is_input, path, fields) in places {
                payload.extend(small(&[if *is_input { 1 } else { 2 }, path.len() as u32]));
                payload.extend(path);
                payload.extend(numbers(fields));
            }
            (2, payload)
        }
        Kind::Checkpoint { next, from } => {
            (3, [numbers(next), numbers(&[*from]), no_places(7)].concat())
        }
        Kind::Payload(kind, payload) => (u32::from(*kind), payload.clone()),
    }
}

fn bytes_of_run(of: &Run) -> Vec<u8> {
    let all = |hashes: &[u16]| -> Vec<u64> {
        hashes.iter().map(|&number| hash_of(u64::from(number)).to_u64()).collect()
    };
    match of {
        Run::Insert(hashes) => run(1, &all(hashes)),
        Run::Remove(hashes) => run(2, &all(hashes)),
        Run::Turn(clock) => run(3, &[*clock]),
        Run::Generation(number) => run(4, &[*number]),
        Run::Any(kind, hashes) => run(u32::from(*kind), hashes),
    }
}

fn spoil(journal: &mut Vec<u8>, begin: usize, flaw: Option<&Flaw>) {
    let length = journal.len() - begin;
    match flaw {
        Some(Flaw::Byte(at, bits)) => journal[begin + usize::from(*at) % length] ^= bits,
        Some(Flaw::Cut(bytes)) => {
            journal.truncate(begin + length.saturating_sub(usize::from(*bytes)))
        }
        Some(Flaw::Zeros(at)) => {
            // A sector, as far as it lies in this frame.
            let sector = (begin + usize::from(*at) % length) / 512 * 512;
            let end = journal.len().min(sector + 512);
            journal[sector.max(begin)..end].fill(0);
        }
        Some(Flaw::Sequence(_) | Flaw::OtherFilter) | None => {}
    }
}
