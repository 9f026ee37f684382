//! Damaged bytes: always an error, without memory, and soon.

use coua::{CuckooFilter, KeyHasher, Load, LoadError};

use crate::counting::{ENDLESS, measured_load};
use crate::samples::{bytes_of, samples};
use coua_dev::random::Random;

/// Loads bytes that must be refused, cheaply.
fn refused(bytes: &[u8]) -> LoadError {
    let (result, cost) = measured_load(bytes.len(), || Load::new().bytes::<CuckooFilter>(bytes));
    let Err(error) = result else { panic!("damaged bytes were loaded") };
    assert!(cost.heap < 3 * bytes.len() as u64 + 100_000, "{error}: {} bytes", cost.heap);
    assert!(cost.time < ENDLESS, "{error}: {:?}", cost.time);
    let message = error.to_string();
    assert!(!message.contains("Err(") && !message.contains('{') && message.len() < 200);
    error
}

/// The samples that are small enough to try every byte of them.
fn small_samples() -> impl Iterator<Item = Vec<u8>> {
    samples().into_iter().map(|(_, filter)| bytes_of(&filter)).filter(|bytes| bytes.len() < 20_000)
}

#[test]
fn every_flipped_bit_is_found() {
    for mut bytes in small_samples() {
        for at in 0..bytes.len() {
            for flip in [1, 0x80] {
                bytes[at] ^= flip;
                assert!(Load::new().bytes::<CuckooFilter>(&bytes).is_err(), "byte {at} ^ {flip}");
                bytes[at] ^= flip;
            }
            bytes[at] ^= 0xff;
            refused(&bytes);
            bytes[at] ^= 0xff;
        }
        Load::new().bytes::<CuckooFilter>(&bytes).unwrap();
    }
}

#[test]
fn flipped_bytes_of_many_segments_are_found() {
    let (_, filter) = samples().pop().unwrap();
    let mut bytes = bytes_of(&filter);
    let random = &mut Random::new(1);
    for _ in 0..300 {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 0x10;
        refused(&bytes);
        bytes[at] ^= 0x10;
    }
}

#[test]
fn every_prefix_is_refused() {
    for bytes in small_samples() {
        for length in 0..bytes.len() {
            let error = refused(&bytes[..length]);
            let expected = match length {
                0 => matches!(error, LoadError::NotAFilter),
                _ => matches!(error, LoadError::Length { .. }),
            };
            assert!(expected, "{length}: {error}");
            assert!(Load::new().reader::<CuckooFilter>(&bytes[..length]).is_err());
        }
    }
}

#[test]
fn appended_bytes_are_refused() {
    for bytes in small_samples() {
        for tail in [&[0][..], &[0; 32], &[0xff; 5000], &bytes] {
            let longer = [&bytes, tail].concat();
            assert!(matches!(refused(&longer), LoadError::Length { .. }));
            assert!(Load::new().reader::<CuckooFilter>(&longer[..]).is_err());
        }
    }
}

#[test]
fn exchanged_parts_are_refused() {
    let all: Vec<_> = small_samples().collect();
    for (one, other) in all.iter().zip(all.iter().skip(1)) {
        for cut in [80, 192, 256, 320] {
            refused(&[&one[..cut], &other[cut..]].concat());
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    let random = &mut Random::new(2);
    let (_, sample) = &samples()[1];
    let sample = bytes_of(sample);
    for _ in 0..3_000 {
        let length = random.below(6_000) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let kept = random.pick(&[0, 4, 8, 10, 184, 192, 256, 320]).min(length).min(sample.len());
        bytes[..kept].copy_from_slice(&sample[..kept]);
        refused(&bytes);
        assert!(Load::new().reader::<CuckooFilter>(&bytes[..]).is_err());
    }
}

#[test]
fn other_files_are_not_filters() {
    for text in ["", "\n", "COUA", "#!/bin/sh\n", "\x1f\u{8b}gzip", "REDIS0011"] {
        assert!(matches!(refused(text.as_bytes()), LoadError::NotAFilter), "{text}");
    }
    assert!(matches!(refused(&vec![0; 100_000]), LoadError::NotAFilter));
}

#[test]
fn later_versions_are_named() {
    let mut bytes = bytes_of(&CuckooFilter::new());
    bytes[8] = 2;
    let error = refused(&bytes);
    assert!(matches!(error, LoadError::Version { found: 2 }));
    assert!(error.to_string().contains("version 2"), "{error}");
    bytes[8] = 0;
    assert!(matches!(refused(&bytes), LoadError::Version { found: 0 }));
}

#[test]
fn a_secret_key_is_asked_for_and_not_stored() {
    let key = *b"0123456789abcdef";
    let hasher = KeyHasher::SipHash13 { key };
    let mut filter = CuckooFilter::builder().hasher(hasher).capacity(10).build().unwrap();
    filter.insert("a").unwrap();
    let bytes = bytes_of(&filter);
    assert!(matches!(Load::new().bytes::<CuckooFilter>(&bytes), Err(LoadError::KeyNeeded)));
    assert!(!bytes.windows(8).any(|window| key.windows(8).any(|part| part == window)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyed.coua");
    std::fs::write(&path, bytes_of(&filter)).unwrap();
    assert!(matches!(Load::new().open::<CuckooFilter>(&path), Err(LoadError::KeyNeeded)));
    let wrong = Load::new().key([0; 16]).open::<CuckooFilter>(&path);
    assert!(matches!(wrong, Err(LoadError::WrongKey)));
    let loaded = Load::new().key(key).open::<CuckooFilter>(&path).unwrap();
    assert!(loaded.contains("a") && loaded.hasher() == hasher);
}
