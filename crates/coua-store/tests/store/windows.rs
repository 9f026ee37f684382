//! Filters with a window: the same bytes however they are opened and committed, the valid contents of their log, and
//! the invalid ones.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use coua::window::{AgeFrom, Clock, Generations, When, Window};
use coua::{CuckooFilter, Filter, IfPresent, KeyHash};
use coua_store::{Access, Options, Store};

use crate::samples::{
    bytes_of, change, change_in_memory, commit, committed, forgetful, hashes, renewing, snapshot_of,
};
use crate::text::{log, run};

/// The numbers of section 9 of `docs/format.md`.
const INSERT: u32 = 1;
const REMOVE: u32 = 2;
const TURN: u32 = 3;
const GENERATION: u32 = 4;

#[test]
fn every_access_gives_the_same_bytes() {
    accesses_give_the_same_bytes(forgetful);
}

#[test]
fn every_access_gives_the_same_bytes_where_items_move() {
    accesses_give_the_same_bytes(renewing);
}

fn accesses_give_the_same_bytes(make: fn() -> Generations) {
    for access in [Access::Map, Access::Load, Access::BySize] {
        for max_log in [0, 5_000, 1 << 30] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("seen.coua");
            let options = Options::new().access(access).max_log(max_log);
            let mut plain = make();
            for round in 1..=12 {
                let mut store = options.create(&path, make).unwrap();
                change(&mut store, round, 400);
                change_in_memory(&mut plain, round, 400);
                commit(&mut store, round).unwrap();
                let what = format!("{access:?}, {max_log}, round {round}");
                assert!(bytes_of(store.filter()) == bytes_of(&plain), "{what}");
                assert!(committed(&path) == (round, bytes_of(&plain)), "{what}");
            }
            assert!(plain.forgotten() > 1_000 && plain.generations().count() == 3);
            let finished = options.write(&path).unwrap().finish().unwrap();
            assert!(bytes_of(&finished) == bytes_of(&plain));
            assert!(bytes_of(&finished) == snapshot_of(&path) || max_log > 5_000);
        }
    }
}

#[test]
fn items_with_times_and_counted_items() {
    for (clock, age_from) in [
        (Clock::Given, AgeFrom::FirstSeen),
        (Clock::Count, AgeFrom::FirstSeen),
        (Clock::Given, AgeFrom::LastSeen),
        (Clock::Count, AgeFrom::LastSeen),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let window = Window::new(clock, 1_000, 4).unwrap().counted_from(age_from);
        let make = || Generations::new(window);
        let mut plain = make();
        for round in 1..=10 {
            let mut store = Options::new().create(&path, make).unwrap();
            let hashes = hashes(round / 2, 300);
            let times: Vec<u64> = (0..300).map(|n| round * 300 + n - n * 7 % 100).collect();
            let (mut outcomes, mut expected) = (Vec::new(), Vec::new());
            let when = When::Each(&times);
            store.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes).unwrap();
            plain.insert_each(&hashes, when, IfPresent::Skip, &mut expected).unwrap();
            assert_eq!(outcomes, expected);
            store
                .insert_each(&hashes[..50], when.part(0..50), IfPresent::AddCopy, &mut Vec::new())
                .unwrap();
            plain
                .insert_each(&hashes[..50], when.part(0..50), IfPresent::AddCopy, &mut Vec::new())
                .unwrap();
            commit(&mut store, round).unwrap();
            assert!(committed(&path) == (round, bytes_of(&plain)), "{clock:?}: round {round}");
        }
        assert!(plain.forgotten() > 0, "{clock:?}");
    }
}

#[test]
fn too_few_times_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let window = Window::new(Clock::Given, 1_000, 4).unwrap();
    let make = || Generations::new(window);
    let mut store = Options::new().create(&path, make).unwrap();
    // More than are written at a time.
    let hashes = hashes(1, 300_000);
    let times = vec![7; hashes.len() - 1];
    let when = When::Each(&times);
    let copies =
        AssertUnwindSafe(|| store.insert_each(&hashes, when, IfPresent::AddCopy, &mut Vec::new()));
    assert!(catch_unwind(copies).is_err());
    let mut outcomes = Vec::new();
    let unique = || store.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes);
    assert!(catch_unwind(AssertUnwindSafe(unique)).is_err());
    assert_eq!(store.filter().len(), 0);
}

/// A filter with a window of ten in two generations, with a commit at time 20.
fn write(path: &Path) -> Store {
    let template = CuckooFilter::with_capacity(100, 0.01).unwrap();
    let window = Window::new(Clock::Arrival, 10, 2).unwrap();
    let mut store =
        Options::new().create(path, || Generations::from_template(window, template)).unwrap();
    store.advance(20);
    store.commit().unwrap();
    store
}

#[test]
fn a_log_has_the_bytes_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = write(&path);
    let [a, b, c] = [1 << 63, 7 << 50, u64::MAX];
    let of = |hashes: &[u64]| -> Vec<KeyHash> {
        hashes.iter().map(|hash| KeyHash::from_u64(*hash)).collect()
    };
    store.insert_unique_batch(&of(&[a, b, a])).unwrap();
    store.advance(24);
    store.insert_batch(&of(&[c])).unwrap();
    store.advance(27);
    store.insert_unique_batch(&of(&[b, a])).unwrap();
    store.remove_batch(&of(&[c, b]));
    store.insert_batch(&of(&[c])).unwrap();
    store.commit().unwrap();
    store.advance(100);
    store.commit().unwrap();
    drop(store);
    let snapshot = snapshot_of(&path);
    let changes = [
        run(GENERATION, &[4]),
        run(INSERT, &[a, b, c]),
        run(TURN, &[25]),
        run(REMOVE, &[c, b]),
        run(GENERATION, &[5]),
        run(INSERT, &[c]),
    ];
    let frames = [(1, &changes.concat()[..]), (2, &[]), (1, &run(TURN, &[100])), (2, &[])];
    let expected = [&snapshot[..], &log(&snapshot, 0, &frames)].concat();
    assert!(fs::read(&path).unwrap() == expected);
    let filter = Options::new().read(&path).unwrap().filter;
    assert_eq!((filter.clock(), filter.len()), (100, 0));
}

#[test]
fn a_move_is_logged_in_both_generations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let window = Window::new(Clock::Given, 10, 2).unwrap().counted_from(AgeFrom::LastSeen);
    let mut store = Options::new().create(&path, || Generations::new(window)).unwrap();
    let hashes = [1 << 63, 7 << 50, u64::MAX].map(KeyHash::from_u64);
    let [a, _, c] = hashes.map(KeyHash::to_u64);
    let mut outcomes = Vec::new();
    store.insert_each(&hashes[..2], When::Each(&[20, 26]), IfPresent::Skip, &mut outcomes).unwrap();
    store.commit().unwrap();
    let snapshot = fs::read(&path).unwrap();
    // The first moves to a later time, the second not to an earlier one, the third is new, and moves then.
    for times in [[27, 21, 22], [20, 29, 25]] {
        store.insert_each(&hashes, When::Each(&times), IfPresent::Skip, &mut outcomes).unwrap();
    }
    store.commit().unwrap();
    drop(store);
    let changes = [
        run(GENERATION, &[5]),
        run(INSERT, &[a]),
        run(GENERATION, &[4]),
        run(REMOVE, &[a]),
        run(INSERT, &[c]),
        run(GENERATION, &[5]),
        run(INSERT, &[c]),
        run(GENERATION, &[4]),
        run(REMOVE, &[c]),
    ];
    let log = log(&snapshot, 0, &[(1, &changes.concat()), (2, &[])]);
    assert!(fs::read(&path).unwrap() == [&snapshot[..], &log].concat());
    let filter = Options::new().read(&path).unwrap().filter;
    let items: Vec<_> = filter.generations().map(|it| (it.number, it.filter.len())).collect();
    assert_eq!((items, filter.contains_batch(&hashes)), (vec![(4, 0), (5, 3)], vec![true; 3]));
}

/// The result of a log with these changes: the number of items, or the message.
fn with_changes(path: &Path, snapshot: &[u8], changes: &[Vec<u8>]) -> Result<u64, String> {
    let log = log(snapshot, 0, &[(1, &changes.concat()), (2, &[])]);
    fs::write(path, [snapshot, &log].concat()).unwrap();
    Options::new().read(path).map(|view| view.filter.len()).map_err(|error| error.to_string())
}

#[test]
fn forged_changes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    drop(write(&path));
    let snapshot = fs::read(&path).unwrap();
    let with = |changes: &[Vec<u8>]| with_changes(&path, &snapshot, changes);
    assert_eq!(with(&[run(GENERATION, &[2]), run(INSERT, &[1 << 60]), run(TURN, &[20])]), Ok(1));
    assert_eq!(with(&[run(GENERATION, &[2]), run(INSERT, &[1 << 60]), run(TURN, &[25])]), Ok(0));
    assert_eq!(with(&[run(GENERATION, &[4]), run(INSERT, &[]), run(REMOVE, &[7])]), Ok(0));
    assert_eq!(with(&[run(TURN, &[u64::MAX / 5 * 5])]), Ok(0));
    for (what, changes) in [
        ("no generation", &[run(INSERT, &[1])][..]),
        ("a clock that goes back", &[run(TURN, &[15])]),
        ("a clock within a generation", &[run(TURN, &[26])]),
        ("two clocks", &[run(TURN, &[25, 30])]),
        ("no clock", &[run(TURN, &[])]),
        ("a forgotten generation", &[run(GENERATION, &[1])]),
        ("a generation to come", &[run(GENERATION, &[5])]),
        ("the template", &[run(GENERATION, &[u64::MAX])]),
        ("two generations", &[run(GENERATION, &[3, 4])]),
        ("an unknown change", &[run(5, &[1])]),
        ("half a run", &[run(INSERT, &[1])[..12].to_vec()]),
    ] {
        let message = with(changes).unwrap_err();
        assert!(message.contains("change field"), "{what}: {message}");
    }
}

#[test]
fn what_never_forgets_knows_no_generations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    Options::new().create(&path, CuckooFilter::new).unwrap().commit().unwrap();
    let snapshot = fs::read(&path).unwrap();
    assert_eq!(with_changes(&path, &snapshot, &[run(INSERT, &[1, 2])]), Ok(2));
    for forged in [run(TURN, &[0]), run(GENERATION, &[0])] {
        let message = with_changes(&path, &snapshot, &[forged, run(INSERT, &[1])]).unwrap_err();
        assert!(message.contains("change field"), "{message}");
    }
}

/// Generations that have lost all items are rebuilt when the next one begins, also by a reader of the log.
#[test]
fn emptied_generations_give_memory_back_alike() {
    for access in [Access::Map, Access::Load] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let options = Options::new().access(access).max_log(1 << 30);
        let (mut plain, hashes) = (renewing(), hashes(1, 20_000));
        let mut reopened = options.create(&path, renewing).unwrap();
        let (mut largest, mut last) = (0, 0);
        for round in 1..=8 {
            reopened.advance(20 * round);
            reopened.insert_unique_batch(&hashes).unwrap();
            plain.advance(20 * round);
            plain.insert_unique_batch(&hashes).unwrap();
            commit(&mut reopened, round).unwrap();
            assert!(committed(&path) == (round, bytes_of(&plain)), "{access:?}, round {round}");
            if round % 2 == 0 {
                drop(reopened);
                reopened = options.write(&path).unwrap();
            }
            last = plain.slots();
            largest = last.max(largest);
        }
        let one = plain.generations().next_back().unwrap().filter.slots();
        assert!(largest <= 2 * one + 2_000 && last > one, "{largest} slots, {one} in use");
    }
}

#[test]
fn many_pieces_of_a_batch() {
    pieces_of_a_batch(forgetful);
    pieces_of_a_batch(renewing);
}

fn pieces_of_a_batch(make: fn() -> Generations) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let options = Options::new().max_log(1 << 40);
    let mut plain = make();
    let mut store = options.create(&path, make).unwrap();
    commit(&mut store, 0).unwrap();
    for round in 1..=2 {
        change(&mut store, round, 300_000);
        change_in_memory(&mut plain, round, 300_000);
        commit(&mut store, round).unwrap();
    }
    assert!(committed(&path) == (2, bytes_of(&plain)));
}
