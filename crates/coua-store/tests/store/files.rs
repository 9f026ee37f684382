//! Files, folders and what may be wrong with them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use coua::{CuckooFilter, LoadError};
use coua_store::{Lock, Options, Progress, Store, StoreError, Wait};

use crate::samples::{change, committed, progress};

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn only_the_filter_and_its_journal_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    change(&mut store, 1, 100);
    let while_at_work = ["seen.coua.lock", "seen.coua.next"];
    assert_eq!(names_in(folder.path()), while_at_work);
    store.commit(&progress(1)).unwrap();
    drop(store);
    assert_eq!(names_in(folder.path()), ["seen.coua", "seen.coua.journal"]);
}

#[test]
fn a_missing_filter_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    for error in [Store::read(&path).map(drop), Store::open(&path).map(drop)] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("seen.coua: cannot open"), "{text}");
    }
    assert!(names_in(folder.path()).is_empty());
    let nowhere = folder.path().join("no/such/folder/seen.coua");
    assert!(matches!(Store::create(&nowhere, CuckooFilter::new), Err(StoreError::Folder { .. })));
}

/// A filter that was moved away without its journal would lose what is only there.
#[test]
fn a_removed_filter_begins_anew_if_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("seen.coua"), folder.path().join("moved"));
    let journal = path.with_extension("coua.journal");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    store.commit(&progress(1)).unwrap();
    drop(store);
    // Its journal stays behind, and has nothing of its own.
    fs::remove_file(&path).unwrap();
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    assert!(store.filter().is_empty());
    store.insert("a").unwrap();
    store.commit(&progress(1)).unwrap();
    store.insert("b").unwrap();
    store.commit(&progress(2)).unwrap();
    drop(store);
    fs::rename(&path, &moved).unwrap();
    let before = fs::read(&journal).unwrap();
    let replace = |lock| Options::new().replace(lock, CuckooFilter::new(), &Progress::default());
    for refused in [
        Store::create(&path, CuckooFilter::new).map(drop),
        Lock::take(&path, Wait::No).and_then(replace),
    ] {
        assert!(matches!(refused, Err(StoreError::Orphaned { .. })), "{refused:?}");
    }
    assert_eq!(fs::read(&journal).unwrap(), before);
    fs::rename(&moved, &path).unwrap();
    assert!(Store::open(&path).unwrap().filter().contains("b"));
    fs::remove_file(&path).unwrap();
    fs::remove_file(&journal).unwrap();
    assert!(Store::create(&path, CuckooFilter::new).unwrap().filter().is_empty());
}

#[test]
fn other_things_than_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::read(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotRegular { .. } | StoreError::Io { .. }), "{error}");
    let text = folder.path().join("text");
    fs::write(&text, "not a filter\n").unwrap();
    let error = Store::open(&text).unwrap_err();
    assert!(error.to_string().ends_with("text: not a Coua filter"), "{error}");
    assert_eq!(fs::read(&text).unwrap(), b"not a filter\n");
}

#[test]
fn one_writer_at_a_time_and_readers_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    store.commit(&progress(1)).unwrap();
    let hasty = Options::new().wait(Wait::No);
    assert!(matches!(hasty.write(&path), Err(StoreError::Busy { .. })));
    assert!(Store::read(&path).unwrap().filter.contains("a"));
    drop(store);
    let lock = Lock::take(&path, Wait::No).unwrap();
    assert!(hasty.write(&path).is_err());
    let store = hasty.write_locked(lock, None::<fn() -> CuckooFilter>).unwrap();
    assert!(store.filter().contains("a"));
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let link = folder.path().join("link");
    symlink("seen.coua", &link).unwrap();
    let mut store = Store::create(&link, CuckooFilter::new).unwrap();
    store.commit(&progress(1)).unwrap();
    drop(store);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for wanted in [0o600, 0o640, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        let mut store = Store::open(&link).unwrap();
        store.insert("a").unwrap();
        store.commit_snapshot(&progress(2)).unwrap();
        assert_eq!(mode(&path), wanted);
        assert_eq!(mode(&path.with_extension("coua.journal")), wanted | 0o200);
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_last_commit() {
    fill_the_disk("files::a_full_disk_leaves_the_last_commit", u64::MAX);
}

#[cfg(unix)]
#[test]
fn a_full_disk_beside_the_work_leaves_the_last_commit() {
    fill_the_disk("files::a_full_disk_beside_the_work_leaves_the_last_commit", 0);
}

/// Runs itself again under a limit on the size of files, which fails as a full disk does.
#[cfg(unix)]
fn fill_the_disk(name: &str, beside_from: u64) {
    let rounds = |path: &Path, rounds: std::ops::Range<u64>| {
        let options = Options::new().expecting(0).most_journal(20_000).beside_from(beside_from);
        let mut store = options.write(path)?;
        for round in rounds {
            change(&mut store, round, 1_000);
            store.commit(&progress(round))?;
        }
        Ok::<(), StoreError>(())
    };
    if let Some(path) = std::env::var_os("COUA_STORE_UNDER_LIMIT") {
        let error = rounds(Path::new(&path), 3..1_000).unwrap_err();
        assert!(error.to_string().contains("too large") && error.source_is_io(), "{error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.commit(&progress(1)).unwrap();
    drop(store);
    rounds(&path, 2..3).unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env("COUA_STORE_UNDER_LIMIT", &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let (round, before) = committed(&path);
    assert!(round > 10, "{round}");
    assert_eq!(names_in(folder.path()), ["seen.coua", "seen.coua.journal"]);
    // With room again it goes on from there.
    rounds(&path, round + 1..round + 2).unwrap();
    assert!(committed(&path) != (round, before));
}

/// What is committed can be read again.
#[test]
fn more_progress_than_a_reader_takes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let with_note = |bytes: usize| Progress { note: vec![b'x'; bytes], ..Progress::default() };
    // Beside it: three numbers of its own, and what a checkpoint says.
    let longest = (64 << 20) - 16 - 24;
    let (fits, too_long) = (with_note(longest), with_note(longest + 1));
    let changed = || {
        let mut store = Store::create(&path, CuckooFilter::new).unwrap();
        store.insert("a").unwrap();
        store
    };
    let is_refused = |done: Result<(), StoreError>| {
        let text = done.unwrap_err().to_string();
        let words =
            "seen.coua: the program's progress takes 67108841 bytes, and 67108840 at most are kept";
        assert!(text.contains(words), "{text}");
    };
    is_refused(changed().commit(&too_long));
    is_refused(changed().commit_snapshot(&too_long));
    is_refused(changed().finish_at(&too_long).map(drop));
    let lock = Lock::take(&path, Wait::No).unwrap();
    is_refused(Options::new().replace(lock, CuckooFilter::new(), &too_long));
    assert!(names_in(folder.path()).is_empty());
    let mut store = changed();
    for commit in [Store::commit, Store::commit_snapshot] {
        store.insert("a").unwrap();
        commit(&mut store, &fits).unwrap();
        let view = Store::read(&path).unwrap();
        assert!(view.progress.as_ref() == Some(&fits) && view.filter.len() == store.filter().len());
    }
    store.finish_at(&fits).unwrap();
    assert!(Store::open(&path).unwrap().progress() == Some(&fits));
}

/// It begins like one.
const DAMAGED_JOURNAL: &[u8] = b"\x8aCOUJ\r\n\x1a and nothing else";

/// Over nothing, a filter, one with a journal, what is left of one, and an empty file; but over nothing else.
#[test]
fn a_filter_replaces_whatever_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let replace = |key: &str| {
        let mut filter = CuckooFilter::new();
        filter.insert(key).unwrap();
        Options::new().replace(Lock::take(&path, Wait::No)?, filter, &Progress::default())?;
        let view = Store::read(&path)?;
        assert!(view.filter.contains(key) && view.filter.len() == 1 && view.progress.is_none());
        assert_eq!(names_in(folder.path()), ["seen.coua"]);
        Ok::<(), StoreError>(())
    };
    replace("a").unwrap();
    replace("b").unwrap();
    for damage in 0..3 {
        let mut store = Store::open(&path).unwrap();
        store.insert("c").unwrap();
        store.commit(&progress(1)).unwrap();
        drop(store);
        match damage {
            0 => {}
            1 => fs::write(path.with_extension("coua.journal"), DAMAGED_JOURNAL).unwrap(),
            _ => fs::write(&path, &fs::read(&path).unwrap()[..100]).unwrap(),
        }
        replace("d").unwrap();
        // Also where the bytes are the same as before.
        replace("d").unwrap();
    }
    fs::write(&path, "").unwrap();
    replace("e").unwrap();
    for others in [&b"not a filter"[..], &[0; 1000]] {
        fs::write(&path, others).unwrap();
        assert!(matches!(
            replace("f"),
            Err(StoreError::Load { source: LoadError::NotAFilter, .. })
        ));
        assert!(fs::read(&path).unwrap() == others);
    }
}

/// A pipe would wait for somebody to write into it.
#[cfg(unix)]
#[test]
fn pipes_in_the_place_of_files_are_refused() {
    for name in ["seen.coua", "seen.coua.journal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        Store::create(&path, CuckooFilter::new).unwrap().commit(&progress(1)).unwrap();
        let pipe = folder.path().join(name);
        if pipe.exists() {
            fs::remove_file(&pipe).unwrap();
        }
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = Store::read(&path).unwrap_err();
        assert!(
            matches!(&refused, StoreError::NotRegular { path } if path.ends_with(name)),
            "{refused}"
        );
        assert!(Store::open(&path).is_err());
        let lock = Lock::take(&path, Wait::No).unwrap();
        let replaced = Options::new().replace(lock, CuckooFilter::new(), &Progress::default());
        assert!(replaced.is_err() && pipe.exists(), "it stays as it is");
    }
}

trait SourceIsIo {
    fn source_is_io(&self) -> bool;
}

impl SourceIsIo for StoreError {
    fn source_is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

#[cfg(unix)]
#[test]
fn a_folder_without_the_right_to_write_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    store.commit(&progress(1)).unwrap();
    drop(store);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write anyway.
    if File::create(folder.path().join("probe")).is_err() {
        let error = Store::open(&path).unwrap_err();
        assert!(error.to_string().contains("seen.coua.lock: cannot lock"), "{error}");
    }
    assert!(Store::read(&path).unwrap().filter.contains("a"));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// By something that does not heed the lock: nothing is said to be kept that is nowhere.
#[cfg(unix)]
#[test]
fn files_that_are_removed_or_replaced_are_noticed() {
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 5] = [
        ("seen.coua", |path| fs::rename(path.with_extension("other"), path).unwrap()),
        ("seen.coua", |path| fs::remove_file(path).unwrap()),
        ("seen.coua.journal", |path| {
            fs::remove_file(path.with_extension("coua.journal")).unwrap();
        }),
        ("seen.coua.lock", |path| fs::remove_file(path.with_extension("coua.lock")).unwrap()),
        ("seen.coua.lock", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
    ];
    for (name, spoil) in spoils {
        for most_journal in [0, 1 << 30] {
            let parent = tempfile::tempdir().unwrap();
            let path = parent.path().join("folder/seen.coua");
            fs::create_dir(path.parent().unwrap()).unwrap();
            CuckooFilter::new().save_atomically(&path.with_extension("other")).unwrap();
            let options = Options::new().most_journal(most_journal);
            let mut store = options.create(&path, CuckooFilter::new).unwrap();
            store.insert("a").unwrap();
            store.commit(&progress(1)).unwrap();
            spoil(&path);
            let other = fs::read(&path).ok();
            for round in 2..4 {
                store.insert("b").unwrap();
                let error = store.commit(&progress(round)).unwrap_err();
                assert!(matches!(error, StoreError::Replaced { .. }), "{name}: {error}");
                assert!(error.path().ends_with(name), "{name}: {error}");
                assert!(fs::read(&path).ok() == other, "what is there now is left alone");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_comes_while_a_filter_is_made_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    fs::write(&path, "somebody else's").unwrap();
    assert!(matches!(store.commit(&progress(1)), Err(StoreError::Replaced { .. })));
    assert!(matches!(store.finish(), Err(StoreError::Replaced { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"somebody else's");
}

/// Where the file system promises space; the others are asked in vain.
#[cfg(target_os = "linux")]
#[test]
fn space_for_the_next_snapshot_is_taken_and_given_back() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let taken = |path: &Path| fs::metadata(path).unwrap().blocks() * 512;
    let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
    let probe = File::create(folder.path().join("probe")).unwrap();
    let promises = rustix::fs::fallocate(&probe, flags, 0, 4096).is_ok();
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    for round in 1..6 {
        change(&mut store, round, 100_000);
        store.commit(&progress(round)).unwrap();
        let needed = store.filter().memory_bytes() as u64;
        let next = path.with_extension("coua.next");
        assert!(!promises || taken(&next) >= needed, "round {round}");
        assert_eq!(fs::metadata(&next).unwrap().len(), 0);
    }
    store.commit_snapshot(&progress(9)).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    assert!(taken(&path) < length + (64 << 10), "what was not needed is free again");
    drop(store);
    assert!(!path.with_extension("coua.next").exists());
}
