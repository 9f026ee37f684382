//! A new snapshot has the owner and the permissions of the file that it replaces, whoever writes it.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use coua::CuckooFilter;
use coua_store::{Lock, Notes, Options, Store, Wait};

use crate::samples::commit;
use coua_dev::instruction_sets::skipped;

/// All operations that replace the file.
fn replace_in_every_way(path: &Path, mut check: impl FnMut(&str)) {
    let mut store = Store::open(path).unwrap();
    store.insert("a").unwrap();
    store.commit_snapshot().unwrap();
    check("a snapshot");
    drop(store);
    let mut store = Options::new().max_log(500).background_from(0).write(path).unwrap();
    let old = fs::metadata(path).unwrap().ino();
    for round in 1.. {
        store.insert("b").unwrap();
        commit(&mut store, round).unwrap();
        if fs::metadata(path).unwrap().ino() != old {
            break;
        }
        assert!(round < 100_000, "it never comes");
    }
    check("a background snapshot");
    drop(store);
    let lock = Lock::take(path, Wait::No).unwrap();
    Options::new().replace(lock, CuckooFilter::new(), Notes::default()).unwrap();
    check("a replacement");
}

#[test]
fn owner_and_permissions_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    CuckooFilter::new().save_atomically(&path).unwrap();
    if chown(&path, Some(1234), Some(5678)).is_err() {
        skipped("the right to give files away");
        return;
    }
    for mode in [0o600, 0o640, 0o664] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        replace_in_every_way(&path, |way| {
            let found = fs::metadata(&path).unwrap();
            let is = (found.uid(), found.gid(), found.mode() & 0o7777);
            assert_eq!(is, (1234, 5678, mode), "{way}");
        });
    }
}
