//! A new snapshot has the owner and the permissions of the file that it replaces, whoever writes it.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use coua::CuckooFilter;
use coua_store::{Lock, Notes, Options, Wait};

use crate::samples::commit;
use coua_dev::instruction_sets::skipped;

/// All operations that replace the file.
fn replace_in_every_way(path: &Path, mut check: impl FnMut(&str)) {
    let mut store = Options::new().write(path).unwrap();
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
    CuckooFilter::new().write_to(std::fs::File::create(&path).unwrap()).unwrap();
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
    let own = fs::metadata(folder.path()).unwrap().uid();
    chown(&path, Some(own), Some(5678)).unwrap();
    replace_in_every_way(&path, |way| {
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid()), (own, 5678), "{way}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_access_control_list_stays() {
    use rustix::fs::{XattrFlags, getxattr, removexattr, setxattr};
    const NAME: &str = "system.posix_acl_access";
    let entry = |tag: u16, may: u16, id: u32| {
        [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    // The user 65534 may read and write, the group nothing.
    let (nobody, none) = (65534, u32::MAX);
    let entries = [(1, 6, none), (2, 6, nobody), (4, 0, none), (16, 6, none), (32, 0, none)];
    let entries = entries.map(|(tag, may, id)| entry(tag, may, id)).concat();
    let list = [&2_u32.to_le_bytes()[..], &entries].concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    CuckooFilter::new().write_to(std::fs::File::create(&path).unwrap()).unwrap();
    if setxattr(&path, NAME, &list, XattrFlags::empty()).is_err() {
        skipped("access control lists");
        return;
    }
    let stays = |way: &str| {
        let mut found = [0; 256];
        let length = getxattr(&path, NAME, &mut found[..]).unwrap_or(0);
        assert_eq!(found[..length], list, "{way}");
    };
    replace_in_every_way(&path, stays);
    let copy = folder.path().join("copy");
    let lock = Lock::take(&copy, Wait::No).unwrap();
    lock.limit_rights(&path).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
    // A list that new files of the folder get says nothing about a file without one.
    removexattr(&path, NAME).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let default = "system.posix_acl_default";
    setxattr(folder.path(), default, &list, XattrFlags::empty()).unwrap();
    replace_in_every_way(&path, |way| {
        assert!(getxattr(&path, NAME, &mut [0; 256][..]).is_err(), "{way}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "{way}");
    });
}

#[test]
fn a_copy_gives_no_more_rights_than_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("seen.coua");
    CuckooFilter::new().write_to(std::fs::File::create(&source).unwrap()).unwrap();
    for (mode, group, wanted) in [
        (0o600, None, 0o600),
        (0o640, None, 0o640),
        (0o604, None, 0o604),
        (0o444, None, 0o444),
        (0o664, Some(5678), 0o644),
        (0o640, Some(5678), 0o600),
        (0o604, Some(5678), 0o600),
    ] {
        fs::set_permissions(&source, Permissions::from_mode(mode)).unwrap();
        if group.is_some() && chown(&source, None, group).is_err() {
            skipped("the right to give files away");
            return;
        }
        let copy = folder.path().join("copy");
        let lock = Lock::take(&copy, Wait::No).unwrap();
        fs::set_permissions(&copy, Permissions::from_mode(0o666)).unwrap();
        lock.limit_rights(&source).unwrap();
        Options::new().replace(lock, CuckooFilter::new(), Notes::default()).unwrap();
        let found = fs::metadata(&copy).unwrap().mode() & 0o777;
        assert_eq!(found, wanted, "{mode:o} of group {group:?}");
        fs::remove_file(&copy).unwrap();
    }
}
