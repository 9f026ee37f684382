//! Snapshots as files.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};

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

#[test]
fn what_is_saved_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, filter) in samples() {
        let path = folder.path().join(name);
        filter.write_to(File::create(&path).unwrap()).unwrap();
        for loaded in [
            Load::new().open::<CuckooFilter>(&path),
            Load::new().reader::<CuckooFilter>(File::open(&path).unwrap()),
        ] {
            assert!(bytes_of(&loaded.unwrap()) == bytes_of(&filter), "{name}");
        }
    }
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

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(filter_of(0..10).write_to(full).is_err());
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
