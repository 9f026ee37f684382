//! Snapshots as files.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use coua::{CuckooFilter, Load, LoadError};

use crate::counting::{ENDLESS, measured};
use crate::forge::Forgery;
use crate::samples::{bytes_of, samples};
use coua_dev::instruction_sets::skipped;

fn filter_of(keys: std::ops::Range<u32>) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(2_000).rate(0.001);
    let mut filter = builder.build().expect("valid");
    for key in keys {
        filter.insert(key.to_le_bytes()).expect("room");
    }
    filter
}

/// Names in a folder, to see that no temporary file stays.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable");
    entries
        .map(|entry| entry.expect("readable").file_name().into_string().expect("ASCII"))
        .collect()
}

#[test]
fn what_is_saved_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, filter) in samples() {
        let path = folder.path().join(name);
        filter.save_atomically(&path).unwrap();
        assert!(fs::read(&path).unwrap() == bytes_of(&filter), "{name}");
        for loaded in [
            Load::new().open::<CuckooFilter>(&path),
            Load::new().reader::<CuckooFilter>(File::open(&path).unwrap()),
        ] {
            assert!(bytes_of(&loaded.unwrap()) == bytes_of(&filter), "{name}");
        }
    }
    assert_eq!(names_in(folder.path()).len(), samples().len());
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("missing"), folder.path().to_owned(), "".into()] {
        let error = Load::new().open::<CuckooFilter>(&path).unwrap_err();
        assert!(matches!(error, LoadError::Io(_)), "{error}");
    }
    let empty = folder.path().join("empty");
    fs::write(&empty, b"").unwrap();
    assert!(matches!(Load::new().open::<CuckooFilter>(&empty), Err(LoadError::NotAFilter)));
}

#[test]
fn saving_replaces_and_keeps_what_a_failure_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    filter_of(0..10).save_atomically(&path).unwrap();
    filter_of(0..20).save_atomically(&path).unwrap();
    assert_eq!(Load::new().open::<CuckooFilter>(&path).unwrap().len(), 20);
    assert!(filter_of(0..1).save_atomically(folder.path().join("no/such/folder")).is_err());
    assert!(filter_of(0..1).save_atomically(folder.path()).is_err());
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

#[cfg(unix)]
#[test]
fn devices_are_refused_and_stay() {
    use std::os::unix::fs::FileTypeExt;
    for device in ["/dev/full", "/dev/null"] {
        let is_device = || fs::metadata(device).unwrap().file_type().is_char_device();
        assert!(is_device() && filter_of(0..10).save_atomically(Path::new(device)).is_err());
        assert!(is_device());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(filter_of(0..10).write_to(full).is_err());
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    filter_of(0..10).save_atomically(&path).unwrap();
    for mode in [0o600, 0o640, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        filter_of(0..20).save_atomically(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
    fs::create_dir(folder.path().join("links")).unwrap();
    let link = folder.path().join("links/link");
    symlink("../seen.coua", &link).unwrap();
    filter_of(0..30).save_atomically(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(Load::new().open::<CuckooFilter>(&path).unwrap().len(), 30);
    let dangling = folder.path().join("links/dangling");
    symlink("../later.coua", &dangling).unwrap();
    filter_of(0..40).save_atomically(&dangling).unwrap();
    assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
    assert_eq!(
        Load::new().open::<CuckooFilter>(&folder.path().join("later.coua")).unwrap().len(),
        40
    );
}

/// Runs itself again as a user without rights where the superuser runs it, who may write anywhere.
#[cfg(unix)]
#[test]
fn a_folder_without_the_right_to_write_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NAME: &str = "files::a_folder_without_the_right_to_write_is_an_error";
    const NOBODY: u32 = 65_534;
    let refused = |path: &Path| {
        assert!(filter_of(0..20).save_atomically(path).is_err());
        assert_eq!(Load::new().open::<CuckooFilter>(path).unwrap().len(), 10);
    };
    if let Some(path) = std::env::var_os("COUA_SAVE_WITHOUT_RIGHTS") {
        refused(Path::new(&path));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    filter_of(0..10).save_atomically(&path).unwrap();
    let copy = folder.path().join("test");
    // By another process: what this one has open for writing cannot be run.
    assert!(
        Command::new("cp")
            .arg(std::env::current_exe().unwrap())
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    for name in [path.as_path(), &copy, folder.path()] {
        fs::set_permissions(name, fs::Permissions::from_mode(0o555)).unwrap();
    }
    if File::create(folder.path().join("probe")).is_err() {
        refused(&path);
    } else {
        let mut nobody = Command::new(&copy);
        nobody.args(["--exact", NAME]).env("COUA_SAVE_WITHOUT_RIGHTS", &path);
        let run = nobody.uid(NOBODY).gid(NOBODY).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs itself again under a limit on the size of files, which fails as a full disk does.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file() {
    const NAME: &str = "files::a_full_disk_leaves_the_old_file";
    if let Some(path) = std::env::var_os("COUA_SAVE_UNDER_LIMIT") {
        assert!(filter_of(0..1_500).save_atomically(Path::new(&path)).is_err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    filter_of(0..10).save_atomically(&path).unwrap();
    let old = fs::read(&path).unwrap();
    let run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(NAME)
        .env("COUA_SAVE_UNDER_LIMIT", &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    assert!(fs::read(&path).unwrap() == old);
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

#[test]
fn readers_see_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let (small, large) = (filter_of(0..10), filter_of(0..1_500));
    small.save_atomically(&path).unwrap();
    let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let len = Load::new()
                    .open::<CuckooFilter>(&path)
                    .expect("the file is whole at any time")
                    .len();
                assert!(len == 10 || len == 1_500);
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        // On a busy machine it may take a while until the reader has its turn.
        let is_read = || reads.load(Ordering::Relaxed) > 0 || reader.is_finished();
        let saved = (0..).take_while(|&round| round < 40 || !is_read()).try_for_each(|_| {
            large.save_atomically(&path)?;
            small.save_atomically(&path)
        });
        done.store(true, Ordering::Relaxed);
        saved.unwrap();
    });
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

/// A few blocks on the disk, but terabytes by its length.
#[cfg(unix)]
#[test]
fn a_sparse_file_costs_no_more_than_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.coua");
    for segments in [1u64, 1 << 20, 1 << 26] {
        let mut forged = Forgery(bytes_of(&filter_of(0..10)));
        let first = (256 + 32 * segments).next_multiple_of(64);
        let end = 1u64 << 40;
        let side = end - 32;
        forged.set("segments", segments).set("part's segments", segments).set("length", end);
        forged.set("first segment offset", first).set("overflow entries", 0);
        forged.set("overflow table offset", side).set("base depth", 0);
        forged.seal();
        let mut file = File::create(&path).unwrap();
        file.write_all(&forged.0[..256]).unwrap();
        if file.set_len(end).is_err() {
            skipped("a file system without sparse files");
            return;
        }
        let (result, cost) = measured(|| Load::new().open::<CuckooFilter>(&path));
        assert!(result.is_err());
        assert!(cost.heap < 10_000_000, "{segments}: {} bytes", cost.heap);
        assert!(cost.time < ENDLESS, "{segments}: {:?}", cost.time);
    }
}

#[test]
fn a_stream_that_fails_is_an_error_of_its_own() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let error = Load::new().reader::<CuckooFilter>(Broken).unwrap_err();
    assert!(matches!(error, LoadError::Io(_)) && error.to_string().contains("unplugged"));
    let bytes = bytes_of(&filter_of(0..10));
    let broken = std::io::Read::chain(&bytes[..2_000], Broken);
    assert!(matches!(Load::new().reader::<CuckooFilter>(broken), Err(LoadError::Io(_))));
}

/// Wherever it stands; and as far as the snapshot goes, if something follows it.
#[test]
fn an_open_file_is_read_from_its_beginning() {
    let filter = filter_of(0..1_000);
    let mut file = tempfile::tempfile().unwrap();
    filter.write_to(&mut file).unwrap();
    let length = file.stream_position().unwrap();
    for read in [Load::file::<CuckooFilter>, Load::map_file::<CuckooFilter>] {
        assert!(bytes_of(&read(Load::new(), &file).unwrap()) == bytes_of(&filter));
    }
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"something else").unwrap();
    for read in [Load::file::<CuckooFilter>, Load::map_file::<CuckooFilter>] {
        assert!(bytes_of(&read(Load::new().part(..length), &file).unwrap()) == bytes_of(&filter));
        assert!(matches!(read(Load::new(), &file), Err(LoadError::Length { .. })));
    }
}
