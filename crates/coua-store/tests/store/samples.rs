//! Shared by the tests: hashes, filters, and work done in rounds.

use std::io;
use std::path::Path;

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{CuckooFilter, KeyHash};
use coua_store::{Notes, Options, Store, StoreError};

/// A value with a byte representation.
pub(crate) trait Written {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()>;
}

impl Written for CuckooFilter {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.write_to(out)
    }
}

impl Written for Generations {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.write_to(out)
    }
}

pub(crate) fn bytes_of(filter: &impl Written) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write(&mut bytes).expect("memory takes every byte");
    bytes
}

/// `SplitMix64` (Steele, Lea, Flood 2014): the same hashes on every machine.
pub(crate) fn hashes(seed: u64, count: u64) -> Vec<KeyHash> {
    let hash = |n: u64| {
        let mut z = (seed << 32).wrapping_add(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        KeyHash::from_u64(z ^ (z >> 31))
    };
    (0..count).map(hash).collect()
}

/// Every kind of change, for about `count` hashes, some of them from the round before.
pub(crate) fn change(store: &mut Store, round: u64, count: u64) {
    let (new, old) = (hashes(round, count), hashes(round.wrapping_sub(1), count));
    store.advance(10 * round);
    store.insert_batch(&new).expect("it grows");
    store.insert_unique_batch(&old).expect("it grows");
    store.remove_batch(&new[..new.len() / 3]);
}

/// The same for a plain filter.
pub(crate) fn change_plainly(filter: &mut CuckooFilter, round: u64, count: u64) {
    let (new, old) = (hashes(round, count), hashes(round.wrapping_sub(1), count));
    filter.insert_batch(&new).expect("it grows");
    filter.insert_unique_batch(&old).expect("it grows");
    filter.remove_batch(&new[..new.len() / 3]);
}

/// A filter that forgets items within six rounds.
pub(crate) fn forgetful() -> Generations {
    forgetting(AgeFrom::FirstSeen)
}

/// The same, but repeated items move: those of a round move in the next one, if that is in a new generation.
pub(crate) fn renewing() -> Generations {
    forgetting(AgeFrom::LastSeen)
}

fn forgetting(age_from: AgeFrom) -> Generations {
    let template = CuckooFilter::builder().capacity(300).hash_bits(50).build();
    let window = Window::new(Clock::Arrival, 40, 2).expect("a window");
    Generations::from_template(window.counted_from(age_from), template.expect("it fits"))
}

/// The same as [`change`], in memory.
pub(crate) fn change_in_memory(filter: &mut Generations, round: u64, count: u64) {
    let (new, old) = (hashes(round, count), hashes(round.wrapping_sub(1), count));
    filter.advance(10 * round);
    filter.insert_batch(&new).expect("it grows");
    let unique = filter.insert_unique_batch(&old);
    unique.expect("it grows");
    filter.remove_batch(&new[..new.len() / 3]);
}

/// A folder where syncing takes no time, if there is one.
pub(crate) fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Commits a round, with its number as a note.
pub(crate) fn commit(store: &mut Store, round: u64) -> Result<(), StoreError> {
    set_round(store, round);
    store.commit()
}

pub(crate) fn set_round(store: &mut Store, round: u64) {
    store.set_note("round", &round.to_le_bytes()).expect("it is short");
}

/// Commits the last round, and ends without a note.
pub(crate) fn finish(mut store: Store) -> Result<(), StoreError> {
    store.remove_note("round");
    store.finish().map(drop)
}

/// The last committed round; 0 if there is none.
pub(crate) fn round_of(notes: &Notes) -> u64 {
    notes.get("round").map_or(0, |note| u64::from_le_bytes(note.try_into().expect("a number")))
}

/// The last committed round, and the filter's bytes. A verification of the file finds the same.
pub(crate) fn committed(path: &Path) -> (u64, Vec<u8>) {
    let view = Options::new().read(path).expect("it can be read");
    let found = Options::new().verify(path).expect("it is intact");
    assert_eq!((found.items, found.hasher), (view.filter.len(), view.filter.hasher()));
    let of_view = (view.snapshot_bytes, view.log_bytes, view.transactions, view.uncommitted);
    let found =
        (found.snapshot_bytes, found.log.bytes, found.log.transactions, found.log.uncommitted);
    assert_eq!(found, of_view);
    (round_of(&view.notes), bytes_of(&view.filter))
}

/// Bytes of the log.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    Options::new().read(path).expect("it can be read").log_bytes
}

/// The snapshot with which the file begins.
pub(crate) fn snapshot_of(path: &Path) -> Vec<u8> {
    let view = Options::new().read(path).expect("it can be read");
    let mut bytes = std::fs::read(path).expect("it can be read");
    bytes.truncate(view.snapshot_bytes as usize);
    bytes
}
