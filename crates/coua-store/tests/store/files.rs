//! Files and folders, and their possible problems.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use coua::{CuckooFilter, LoadError};
use coua_store::{Lock, Notes, Options, Reason, Store, StoreError, Wait};

use crate::samples::{change, commit, committed, log_bytes};

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The only other file in the folder of `seen.coua`.
fn next_in(folder: &Path) -> PathBuf {
    match &names_in(folder)[..] {
        [next, filter] if filter == "seen.coua" => {
            let random = next.strip_prefix(".seen.coua.").and_then(|end| end.strip_suffix(".tmp"));
            assert!(random.is_some_and(|random| random.len() == 8), "{next}");
            folder.join(next)
        }
        names => panic!("{names:?}"),
    }
}

#[test]
fn only_the_filter_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    change(&mut store, 1, 100);
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "it has the name to itself");
    assert!(next_in(folder.path()).exists());
    commit(&mut store, 1).unwrap();
    drop(store);
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

/// As a killed run leaves it that should create a filter, and as users create it.
#[test]
fn an_empty_file_is_no_filter_yet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    fs::write(&path, "").unwrap();
    for error in [Options::new().read(&path).map(drop), Options::new().write(&path).map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(error, StoreError { reason: Reason::Blank, .. }), "{error}");
        assert!(error.to_string().contains("seen.coua: is empty"), "{error}");
    }
    drop(Options::new().create(&path, CuckooFilter::new).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "it stays");
    Options::new().create(&path, CuckooFilter::new).unwrap().finish().unwrap();
    assert!(Options::new().read(&path).unwrap().filter.is_empty());
}

#[test]
fn a_missing_filter_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    for error in [Options::new().read(&path).map(drop), Options::new().write(&path).map(drop)] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("seen.coua: cannot open"), "{text}");
    }
    assert!(names_in(folder.path()).is_empty());
    let nowhere = folder.path().join("no/such/folder/seen.coua");
    assert!(matches!(
        Options::new().create(&nowhere, CuckooFilter::new),
        Err(StoreError { reason: Reason::Folder(_), .. })
    ));
}

#[test]
fn other_things_than_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Options::new().read(folder.path()).unwrap_err();
    assert!(
        matches!(error, StoreError { reason: Reason::NotRegular | Reason::Io { .. }, .. }),
        "{error}"
    );
    let text = folder.path().join("text");
    fs::write(&text, "not a filter\n").unwrap();
    let error = Options::new().write(&text).unwrap_err();
    assert!(error.to_string().ends_with("text: not a Coua filter"), "{error}");
    assert_eq!(fs::read(&text).unwrap(), b"not a filter\n");
}

#[test]
fn one_writer_at_a_time_and_readers_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    commit(&mut store, 1).unwrap();
    let hasty = Options::new().wait(Wait::No);
    assert!(matches!(hasty.write(&path), Err(StoreError { reason: Reason::OpenHere, .. })));
    assert!(Options::new().read(&path).unwrap().filter.contains("a"));
    drop(store);
    let lock = Lock::take(&path, Wait::No).unwrap();
    assert!(hasty.write(&path).is_err());
    let store = hasty.write_locked(lock, None).unwrap();
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
    let mut store = Options::new().create(&link, CuckooFilter::new).unwrap();
    commit(&mut store, 1).unwrap();
    drop(store);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for wanted in [0o600, 0o640, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        let mut store = Options::new().write(&link).unwrap();
        store.insert("a").unwrap();
        store.commit_snapshot().unwrap();
        assert_eq!(mode(&path), wanted);
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
fn a_full_disk_in_the_background_leaves_the_last_commit() {
    fill_the_disk("files::a_full_disk_in_the_background_leaves_the_last_commit", 0);
}

/// Runs this test again in a process with a limit on the file size, which fails like a full disk.
#[cfg(unix)]
fn fill_the_disk(name: &str, background_from: u64) {
    let rounds = |path: &Path, rounds: std::ops::Range<u64>| {
        let options = Options::new().expecting(0).max_log(20_000).background_from(background_from);
        let mut store = options.write(path)?;
        for round in rounds {
            change(&mut store, round, 1_000);
            commit(&mut store, round)?;
        }
        Ok::<(), StoreError>(())
    };
    if let Some(path) = std::env::var_os("COUA_STORE_UNDER_LIMIT") {
        let error = rounds(Path::new(&path), 3..1_000).unwrap_err();
        assert!(
            error.to_string().contains("too large") && matches!(error.reason, Reason::Io { .. }),
            "{error}"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    commit(&mut store, 1).unwrap();
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
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
    // With room again it continues from there.
    rounds(&path, round + 1..round + 2).unwrap();
    assert!(committed(&path) != (round, before));
}

/// Everything committed must be readable.
#[test]
fn a_note_larger_than_a_reader_takes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    let mut note = vec![b'x'; Notes::MOST_BYTES as usize - 3];
    let error = store.set_note("name", &note).unwrap_err();
    assert!(matches!(error, StoreError { reason: Reason::NoteTooLarge { .. }, .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("a note with its name takes 67108853 bytes, but the limit is 67108852"),
        "{text}"
    );
    assert_eq!(store.notes().get("name"), None);
    note.pop();
    store.set_note("name", &note).unwrap();
    for commit in [Store::commit, Store::commit_snapshot] {
        store.insert("a").unwrap();
        commit(&mut store).unwrap();
        let view = Options::new().read(&path).unwrap();
        assert!(view.notes == *store.notes() && view.filter.len() == store.filter().len());
    }
    store.finish().unwrap();
    assert!(Options::new().write(&path).unwrap().notes().get("name") == Some(&note[..]));
}

/// Together with the changes, and not before.
#[test]
fn notes_are_committed_with_the_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.commit().unwrap();
    let noted =
        |name: &str| Options::new().read(&path).unwrap().notes.get(name).map(<[u8]>::to_vec);
    store.set_note("first", b"1").unwrap();
    store.set_note("second", b"2").unwrap();
    store.set_note("brief", b"3").unwrap();
    assert!(store.remove_note("brief") && !store.remove_note("brief"));
    assert_eq!((store.notes().get("first"), noted("first")), (Some(&b"1"[..]), None));
    store.commit().unwrap();
    assert_eq!((noted("first"), noted("second")), (Some(b"1".to_vec()), Some(b"2".to_vec())));
    let before = log_bytes(&path);
    store.set_note("first", b"1").unwrap();
    store.commit().unwrap();
    assert_eq!(log_bytes(&path), before, "nothing has changed");
    store.set_note("first", b"").unwrap();
    assert!(store.remove_note("second"));
    drop(store);
    assert_eq!((noted("first"), noted("second")), (Some(b"1".to_vec()), Some(b"2".to_vec())));
    let mut store = Options::new().write(&path).unwrap();
    store.set_note("first", b"").unwrap();
    assert!(store.remove_note("second"));
    store.commit().unwrap();
    assert_eq!((noted("first"), noted("second")), (Some(vec![]), None));
    store.commit_snapshot().unwrap();
    assert_eq!((noted("first"), noted("second")), (Some(vec![]), None));
}

/// Replaces nothing, a filter, one with a log, the rest of one, and an empty file; but nothing else.
#[test]
fn a_filter_replaces_whatever_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let replace = |key: &str| {
        let mut filter = CuckooFilter::new();
        filter.insert(key).unwrap();
        Options::new().replace(Lock::take(&path, Wait::No)?, filter, Notes::default())?;
        let view = Options::new().read(&path)?;
        assert!(view.filter.contains(key) && view.filter.len() == 1 && view.notes.is_empty());
        assert_eq!(names_in(folder.path()), ["seen.coua"]);
        Ok::<(), StoreError>(())
    };
    replace("a").unwrap();
    replace("b").unwrap();
    for damage in 0..3 {
        let mut store = Options::new().write(&path).unwrap();
        store.insert("c").unwrap();
        commit(&mut store, 1).unwrap();
        drop(store);
        match damage {
            0 => {}
            1 => fs::write(&path, [&fs::read(&path).unwrap()[..], b"junk"].concat()).unwrap(),
            _ => fs::write(&path, &fs::read(&path).unwrap()[..100]).unwrap(),
        }
        replace("d").unwrap();
        // Even if the bytes are the same as before.
        replace("d").unwrap();
    }
    fs::write(&path, "").unwrap();
    replace("e").unwrap();
    for others in [&b"not a filter"[..], &[0; 1000]] {
        fs::write(&path, others).unwrap();
        assert!(matches!(
            replace("f"),
            Err(StoreError { reason: Reason::Load(LoadError::NotAFilter), .. })
        ));
        assert!(fs::read(&path).unwrap() == others);
    }
}

/// At each piece.
#[test]
fn a_canceled_replacement_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let save = |key: &str, pieces: u32| {
        let builder = CuckooFilter::builder().capacity(4_000_000).rate(0.001);
        let mut filter = builder.build().unwrap();
        filter.insert(key).unwrap();
        let mut notes = Notes::default();
        notes.set("test/note", b"").unwrap();
        let left = AtomicU32::new(pieces);
        let is_canceled = move || left.fetch_sub(1, Ordering::Relaxed) == 0;
        let lock = Lock::take(&path, Wait::No).unwrap();
        Options::new().cancel_when(is_canceled).replace(lock, filter, notes)
    };
    assert!(save("never", 0).is_err());
    assert_eq!(names_in(folder.path()), [""; 0]);
    save("old", u32::MAX).unwrap();
    let mut pieces = 0;
    while let Err(error) = save("new", pieces) {
        assert!(error.to_string().ends_with("canceled"), "{error}");
        assert!(Options::new().read(&path).unwrap().filter.contains("old"), "{pieces} pieces");
        assert_eq!(names_in(folder.path()), ["seen.coua"]);
        pieces += 1;
    }
    let view = Options::new().read(&path).unwrap();
    assert!(view.filter.contains("new"));
    assert_eq!(u64::from(pieces), view.snapshot_bytes.div_ceil(2 << 20));
}

/// Opening a pipe would wait for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_filter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    for refused in [
        Options::new().read(&path).map(drop),
        Options::new().write(&path).map(drop),
        Options::new().create(&path, CuckooFilter::new).map(drop),
        Lock::take(&path, Wait::No).map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError { reason: Reason::NotRegular, .. })),
            "{refused:?}"
        );
    }
    assert!(path.exists(), "it stays as it is");
}

#[cfg(unix)]
#[test]
fn a_folder_without_the_right_to_write_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    commit(&mut store, 1).unwrap();
    drop(store);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write anyway.
    if File::create(folder.path().join("probe")).is_err() {
        let error = Options::new().write(&path).unwrap_err();
        assert!(
            error.to_string().contains("seen.coua: cannot create a new snapshot of"),
            "{error}"
        );
    }
    assert!(Options::new().read(&path).unwrap().filter.contains("a"));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Another process ignores the lock: lost changes are never reported as saved.
#[cfg(unix)]
#[test]
fn files_that_are_removed_replaced_or_overwritten_are_noticed() {
    let spoils: [fn(&Path); 6] = [
        |path| fs::rename(path.with_extension("other"), path).unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| fs::remove_dir_all(path.parent().unwrap()).unwrap(),
        // In place, as `cp` and `truncate` do.
        |path| assert!(fs::copy(path.with_extension("other"), path).is_ok()),
        |path| File::options().write(true).open(path).unwrap().set_len(0).unwrap(),
        |path| File::options().append(true).open(path).unwrap().write_all(&[0]).unwrap(),
    ];
    for (at, spoil) in spoils.iter().enumerate() {
        for max_log in [0, 1 << 30] {
            let parent = tempfile::tempdir().unwrap();
            let path = parent.path().join("folder/seen.coua");
            fs::create_dir(path.parent().unwrap()).unwrap();
            CuckooFilter::new()
                .write_to(std::fs::File::create(path.with_extension("other")).unwrap())
                .unwrap();
            let options = Options::new().max_log(max_log);
            let mut store = options.create(&path, CuckooFilter::new).unwrap();
            store.insert("a").unwrap();
            commit(&mut store, 1).unwrap();
            spoil(&path);
            let other = fs::read(&path).ok();
            for round in 2..4 {
                store.insert("b").unwrap();
                let error = commit(&mut store, round).unwrap_err();
                assert!(
                    matches!(error, StoreError { reason: Reason::Replaced, .. }),
                    "{at}: {error}"
                );
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
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    // Into the placeholder.
    fs::write(&path, "somebody else's").unwrap();
    assert!(matches!(commit(&mut store, 1), Err(StoreError { reason: Reason::Replaced, .. })));
    assert!(matches!(store.finish(), Err(StoreError { reason: Reason::Replaced, .. })));
    assert_eq!(fs::read(&path).unwrap(), b"somebody else's");
}

/// Only some file systems reserve space; the others ignore the request.
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
    fs::remove_file(folder.path().join("probe")).unwrap();
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    for round in 1..6 {
        change(&mut store, round, 100_000);
        commit(&mut store, round).unwrap();
        let needed = store.filter().memory_bytes() as u64;
        let next = next_in(folder.path());
        assert!(!promises || taken(&next) >= needed, "round {round}");
        assert_eq!(fs::metadata(&next).unwrap().len(), 0);
    }
    store.commit_snapshot().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    assert!(taken(&path) < length + (64 << 10), "what was not needed is free again");
    drop(store);
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}
