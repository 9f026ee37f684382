//! Filters with a window, large enough to be mapped: a small change leaves most of the file untouched, and a large one
//! replaces the mapping with a copy in memory.

use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::{process::Command, time::Instant};

use coua::CuckooFilter;
use coua::window::{Clock, Generations, Window};
use coua_store::{Access, Options, Store};

use crate::samples::{bytes_of, commit, committed, hashes, round_of};
#[cfg(target_os = "linux")]
use coua_dev::instruction_sets::skipped;

const STEP: u64 = 1_000;
/// Five generations of this number of items take 8 MB.
const EACH: u64 = 200_000;

/// The window is four generations long, and a fifth is being filled.
fn large() -> Generations {
    let window = Window::new(Clock::Arrival, 4 * STEP, 4).unwrap();
    let template = CuckooFilter::builder().capacity(EACH).max_items(10 * EACH).rate(1e-9).build();
    let mut filter = Generations::from_template(window, template.unwrap());
    for number in 0..5 {
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
    let mut view = Options::new().read(&path).unwrap();
    let asked = [hashes(7, 10), hashes(8, 10)].concat();
    let present = view.asked(&asked).contains_batch(&asked);
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

/// Whether the file system reports what is in the cache, for files that surely are.
#[cfg(target_os = "linux")]
fn tells(path: &Path) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let (file, mut byte) = (fs::File::open(path).unwrap(), [0]);
    preadv2(file, &mut [std::io::IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn tells(_path: &Path) -> bool {
    false
}

/// A fast disk sometimes has read the data before the check has ended.
#[cfg(target_os = "linux")]
fn sooner_or_later(mut is_so: impl FnMut() -> bool) {
    assert!((0..20).any(|_| is_so()), "not once in twenty times");
}

/// A key may touch every generation, so their number counts too.
#[test]
fn work_for_all_generations_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let bytes = damaged(&path);
    let writes = |keys: u64| Options::new().expecting(keys).write(&path).is_ok();
    let reads = |keys: u64| Options::new().expecting(keys).read(&path).is_ok();
    let fetched = if tells(&path) { 0 } else { 2 * 8 * 4096 };
    let most = |touch: u64| (bytes - 1) / (fetched + touch) / 5;
    assert!(writes(most(4096)) && !writes(most(4096) + 1), "half a page for each to be copied");
    assert!(reads(most(8)) && !reads(most(8) + 1), "little for each to be looked at");
}

/// Even a reader applies the log's changes first.
#[test]
fn a_log_is_counted_as_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    saved(&large(), &path);
    let bytes = path.metadata().unwrap().len();
    let (most, middle) = (bytes / 4096, bytes as usize / 2);
    let mut store = Options::new().expecting(10).write(&path).unwrap();
    store.insert_batch(&hashes(7, most / 2)).unwrap();
    commit(&mut store, 1).unwrap();
    drop(store);
    let spoil = || {
        let mut bytes = fs::read(&path).unwrap();
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
    };
    let is_mapped = || Options::new().expecting(0).read(&path).is_ok();
    spoil();
    assert_eq!(is_mapped(), tells(&path), "half of the line");
    spoil();
    let mut store = Options::new().expecting(10).write(&path).unwrap();
    store.insert_batch(&hashes(8, most)).unwrap();
    commit(&mut store, 2).unwrap();
    drop(store);
    spoil();
    assert!(!is_mapped(), "it was read: the damage was seen");
}

/// Reading from the disk costs more than reading from the cache.
#[cfg(target_os = "linux")]
#[test]
fn what_is_in_the_cache_is_mapped_for_more_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let pages = damaged(&path) / 4096;
    if !tells(&path) {
        skipped("a file system that does not tell what is in the cache");
        return;
    }
    let opens = |keys: u64| Options::new().expecting(keys).write(&path).is_ok();
    let (few, more) = (pages / 17 / 5, pages / 5 - 1);
    assert!(opens(few) && opens(more));
    let forget = || {
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    };
    forget();
    assert!(opens(few));
    sooner_or_later(|| {
        forget();
        !opens(more)
    });
}

/// Much work with few missing pages: they are all read once, and the file stays mapped.
#[cfg(target_os = "linux")]
#[test]
fn what_is_missing_is_fetched_together_for_much_work() {
    use rustix::fs::{Advice, fadvise};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let bytes = damaged(&path);
    let tells_at_once = tells(&path);
    let forget_half = || {
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, std::num::NonZeroU64::new(bytes / 2), Advice::DontNeed).unwrap();
    };
    // Only checks: a lookup that reads would make the system load the missing pages.
    let cached = || {
        let fincore = Command::new("fincore").args(["-b", "-n", "-o", "PAGES"]).arg(&path).output();
        String::from_utf8(fincore.ok()?.stdout).ok()?.trim().parse::<u64>().ok()
    };
    let pages = bytes.div_ceil(4096);
    let before = cached();
    forget_half();
    if !tells_at_once || before != Some(pages) || cached() == Some(pages) {
        skipped("fincore, or a file system that tells what is in the cache and forgets it");
        return;
    }
    let comes_back = || {
        let begin = Instant::now();
        while cached() < Some(pages) && begin.elapsed().as_secs() < 3 {}
        cached() == Some(pages)
    };
    // Each key is looked up in five generations: at least as many pages as there are.
    let keys = pages / 5;
    sooner_or_later(|| {
        forget_half();
        assert!(Options::new().expecting(keys).read(&path).is_ok(), "it was not read");
        comes_back()
    });
    sooner_or_later(|| {
        forget_half();
        let mut view = Options::new().expecting(0).read(&path).unwrap();
        view.asked_beside(1).is_none() && {
            view.asked(&hashes(77, keys));
            assert!(view.asked_beside(1).is_some(), "all is on its way");
            comes_back()
        }
    });
}

/// Several threads look up keys in a cached file, until there are enough lookups for reading it into memory.
#[test]
fn questions_of_threads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    saved(&large(), &path);
    let bytes = path.metadata().unwrap().len();
    let mut view = Options::new().read(&path).unwrap();
    let (old, new) = (hashes(2, 1_000), hashes(77, 1_000));
    let is_right = |filter: &Generations| {
        let present = filter.contains_batch(&old);
        let all = present.iter().all(|is_present| *is_present);
        let present = filter.contains_batch(&new);
        all && present.iter().filter(|is_present| **is_present).count() < 10
    };
    if tells(&path) {
        // Each key is looked up in five generations, with eight bytes each.
        let most = bytes.div_ceil(8 * 5);
        assert!(view.asked_beside(most - 1).is_some_and(is_right));
        assert!(view.asked_beside(1).is_some_and(is_right), "what is under way is not stopped");
    }
    assert!(view.asked_beside(1).is_none(), "it must be fetched, or read");
    assert!(is_right(view.asked(&old)));
    assert!(view.asked_beside(1).is_some_and(is_right), "now it is in memory");
}

#[test]
fn work_that_turns_out_large_leaves_the_mapping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut plain = large();
    saved(&plain, &path);
    let mut store = Store::open(&path).unwrap();
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
