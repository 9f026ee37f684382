//! Filters with a window, large enough to be mapped: a small change leaves most of the file untouched, and a large one
//! replaces the mapping with a copy in memory.

use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::{process::Command, time::Instant};

use coua::CuckooFilter;
use coua::window::{Clock, Generations, Window};
use coua_store::{Access, Options};

use crate::samples::{bytes_of, commit, committed, hashes, round_of};
#[cfg(target_os = "linux")]
use coua_dev::instruction_sets::skipped;

const STEP: u64 = 1_000;
const GENERATIONS: u64 = 5;
/// Generations of this number of items take 8 MB.
const EACH: u64 = 200_000;
/// Bytes that the work on a key touches in a generation: two pages.
const KEY_BYTES: u64 = 2 * 4096;
/// What a lookup counts for.
const LOOKUP_BYTES: u64 = 32;

/// The window is four generations long, and a fifth is being filled.
fn large() -> Generations {
    let window = Window::new(Clock::Arrival, 4 * STEP, 4).unwrap();
    let template = CuckooFilter::builder().capacity(EACH).max_items(10 * EACH).rate(1e-9).build();
    let mut filter = Generations::from_template(window, template.unwrap());
    for number in 0..GENERATIONS {
        filter.advance(STEP * number);
        filter.insert_batch(&hashes(number, EACH)).unwrap();
    }
    filter
}

fn saved(filter: &Generations, path: &Path) {
    let file = fs::File::create(path).unwrap();
    filter.write_to(std::io::BufWriter::new(file)).unwrap();
    assert!(path.metadata().unwrap().len() > 6_000_000);
}

#[test]
fn small_work_does_not_look_at_other_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut plain = large();
    saved(&plain, &path);
    // The body of the third generation is in the middle of the file.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(Options::new().access(Access::Load).read(&path).is_err());
    let mut store = Options::new().expecting(10).write(&path).unwrap();
    for (round, new) in [(1, 7), (2, 8)] {
        store.advance(STEP * 4 + 3);
        store.insert_batch(&hashes(new, 10)).unwrap();
        plain.insert_batch(&hashes(new, 10)).unwrap();
        commit(&mut store, round).unwrap();
        assert_eq!(store.filter().len(), plain.len());
    }
    let error = store.commit_snapshot().unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
    drop(store);
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&bytes), "the damage stays where it can be found");
    let log = after.len() - bytes.len();
    assert!(log < 1_000, "{log} bytes for twenty changes");
    let view = Options::new().read(&path).unwrap();
    let keys = [hashes(7, 10), hashes(8, 10)].concat();
    let present = view.filter.contains_batch(&keys);
    assert!(present.iter().all(|is_present| *is_present) && round_of(&view.notes) == 2);
}

/// A large file with damage in the middle, which is not noticed if it is mapped.
fn damaged(path: &Path) -> u64 {
    saved(&large(), path);
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, &bytes).unwrap();
    bytes.len() as u64
}

/// A key may touch every generation, so their number counts too.
#[test]
fn work_for_all_generations_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let bytes = damaged(&path);
    let writes = |keys: u64| Options::new().expecting(keys).write(&path).is_ok();
    let reads = |keys: u64| Options::new().expecting(keys).read(&path).is_ok();
    let most = |key_bytes: u64| (bytes - 1) / key_bytes / GENERATIONS;
    assert!(writes(0) && writes(most(KEY_BYTES)) && !writes(most(KEY_BYTES) + 1));
    assert!(reads(most(LOOKUP_BYTES)) && !reads(most(LOOKUP_BYTES) + 1));
}

/// Even a reader applies the log's changes first.
#[test]
fn a_log_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    saved(&large(), &path);
    let bytes = path.metadata().unwrap().len();
    let (most, middle) = (bytes / KEY_BYTES / GENERATIONS, bytes as usize / 2);
    let spoil = || {
        let mut bytes = fs::read(&path).unwrap();
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
    };
    for (new, is_mapped) in [(7, true), (8, false)] {
        let mut store = Options::new().expecting(10).write(&path).unwrap();
        store.insert_batch(&hashes(new, most / 5 * 3)).unwrap();
        commit(&mut store, 1).unwrap();
        drop(store);
        spoil();
        assert_eq!(Options::new().expecting(0).read(&path).is_ok(), is_mapped);
        spoil();
    }
}

/// Many keys of a file that is not in the page cache: all of it is read in order.
#[cfg(target_os = "linux")]
#[test]
fn all_is_fetched_for_many_keys() {
    use rustix::fs::{Advice, fadvise};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let bytes = damaged(&path);
    let forget = || {
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    };
    let cached = || {
        let fincore = Command::new("fincore").args(["-b", "-n", "-o", "PAGES"]).arg(&path).output();
        String::from_utf8(fincore.ok()?.stdout).ok()?.trim().parse::<u64>().ok()
    };
    let pages = bytes.div_ceil(4096);
    let before = cached();
    forget();
    if before != Some(pages) || cached() == Some(pages) {
        skipped("fincore, or a file system that forgets what is in the cache");
        return;
    }
    let few = bytes / (128 << 10);
    Options::new().expecting(few).read(&path).unwrap();
    assert!(cached() < Some(pages), "few pages for few keys");
    Options::new().expecting(few + 1).read(&path).unwrap();
    let begin = Instant::now();
    while cached() < Some(pages) && begin.elapsed().as_secs() < 3 {}
    assert_eq!(cached(), Some(pages));
}

/// Threads share the cursor of the file.
#[test]
fn threads_check_the_origin_of_one_view() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    saved(&large(), &path);
    let view = Options::new().read(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5_000).for_each(|_| view.check_origin().unwrap()));
        }
    });
    // As `cp` does it.
    fs::write(&path, "").unwrap();
    assert!(view.check_origin().is_err());
}

#[test]
fn work_that_turns_out_large_leaves_the_mapping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut plain = large();
    saved(&plain, &path);
    let mut store = Options::new().write(&path).unwrap();
    for round in 1..=20 {
        let now = STEP * (4 + round / 4);
        let new = hashes(10 + round, 50);
        store.advance(now);
        plain.advance(now);
        store.insert_unique_batch(&new).unwrap();
        plain.insert_unique_batch(&new).unwrap();
        let old = &hashes(3, 100 * round)[..40];
        store.remove_batch(old);
        plain.remove_batch(old);
        if round % 5 == 0 {
            commit(&mut store, round).unwrap();
            assert!(committed(&path) == (round, bytes_of(&plain)), "round {round}");
        }
    }
    assert!(bytes_of(store.filter()) == bytes_of(&plain) && plain.forgotten() > 0);
}
