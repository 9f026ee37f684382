//! Images are written and read, and damaged ones refused.

use super::*;
use crate::cuckoo::inserts::Copies;
use crate::cuckoo::request::Request;

/// Images of all kinds, with the same items.
fn images() -> [Vec<u8>; 3] {
    let aging = image_of_words(&[b"16", b"WINDOWITEMS", b"100", b"GENERATIONS", b"2"]);
    [image_of("0"), image_of("1"), aging]
}

fn image() -> Vec<u8> {
    image_of("0")
}

fn image_of(expansion: &str) -> Vec<u8> {
    image_of_words(&[b"16", b"EXPANSION", expansion.as_bytes()])
}

fn image_of_words(words: &[&[u8]]) -> Vec<u8> {
    let blueprint = Request::of_reserve(words).unwrap().complete([5; 16]).unwrap();
    let mut own = OwnCuckoo::of(blueprint).unwrap();
    own.insert(&[b"a", b"b", b"b", b"b", b"b", b"b", b"b"], Copies::Add, None);
    own.remove(&[b"a"]);
    let mut bytes = Vec::new();
    own.write(&mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<OwnCuckoo, LoadRefusal> {
    let (magic, mut rest) = bytes.split_first_chunk().ok_or(LoadRefusal::Field("length"))?;
    OwnCuckoo::read(*magic, &mut rest)
}

#[test]
fn an_image_is_read_as_it_was_written() {
    for bytes in images() {
        let own = read(&bytes).unwrap();
        assert_eq!((own.count_all(&[b"b"]), own.deleted()), (vec![6], 1));
        let mut again = Vec::new();
        own.write(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(OwnCuckoo::image_length(&bytes), Some(bytes.len() as u64));
    }
}

#[test]
fn an_image_can_be_written_from_any_byte_on() {
    for bytes in images() {
        let own = read(&bytes).unwrap();
        for start in 0..=bytes.len() {
            let mut rest = Vec::new();
            own.write_from(start as u64, &mut rest).unwrap();
            assert!(rest == bytes[start..], "from {start}");
        }
        let beyond = own.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn every_flipped_byte_and_every_cut_is_found() {
    for bytes in images() {
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            assert!(read(&damaged).is_err(), "byte {at}");
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn a_head_may_state_any_number_of_removals() {
    let mut forged = image();
    forged[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
    let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
    forged[HEAD - 8..HEAD].copy_from_slice(&sum);
    let mut own = read(&forged).unwrap();
    assert_eq!((own.remove(&[b"b"]), own.deleted()), (vec![true], u64::MAX));
}

#[test]
fn few_items_with_impossible_numbers_are_refused_though_their_checksum_fits() {
    for (at, value) in [(64, 1u32), (64, 5_000), (72, 7), (72, 65), (76, 5), (76, 65)] {
        let mut forged = image_of("1");
        forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let end = forged.len() - FEW_SUM;
        let sum = checksum(&forged[HEAD..end]).to_le_bytes();
        forged[end..].copy_from_slice(&sum);
        assert!(read(&forged).is_err(), "{value} at {at}");
    }
}

#[test]
fn a_head_with_impossible_options_is_refused_though_its_checksum_fits() {
    for (at, value) in [(8, 2u32), (12, 1), (32, 0), (32, 256), (36, 65_536), (40, 32_769), (44, 1)]
    {
        let mut forged = image();
        forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
        forged[HEAD - 8..HEAD].copy_from_slice(&sum);
        assert!(read(&forged).is_err(), "{value} at {at}");
    }
}
