//! Dumps and headers of other versions of the peer than the one that `golden` is of, written by
//! hand as `docs/peer-formats.md` describes them.

use super::super::murmur::murmur64;
use super::super::{Limits, LoadError, PeerCuckoo};
use super::dump::{Reader, Writer, encoding_of, value_of};

/// What a value is written as: numbers, and strings.
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

use Part::{Bytes, Number};

fn value(parts: &[Part<'_>]) -> Vec<u8> {
    Writer::value_of(|writer| {
        for part in parts {
            match part {
                Number(number) => writer.write_u64(*number),
                Bytes(bytes) => writer.write_bytes(bytes),
            }
        }
    })
}

fn cuckoo(parts: &[Part<'_>], encoding: u32) -> Result<PeerCuckoo, LoadError> {
    let value = value(parts);
    let mut reader = Reader::of_value(&value);
    let filter = PeerCuckoo::read(&mut reader, encoding, &Limits::default())?;
    assert!(reader.is_at_end(), "nothing is left unread");
    Ok(filter)
}

/// Slots of a table of 16 buckets of 2 slots with one item in it.
fn slots_with(item: &[u8], seed: u64) -> [u8; 32] {
    let hash = murmur64(item, seed);
    let mut slots = [0; 32];
    slots[(hash % 16) as usize * 2] = (hash % 255 + 1) as u8;
    slots
}

#[test]
fn cuckoo_filters_from_before_parameters_could_be_chosen() {
    for encoding in 0..4 {
        let (full, empty) = (slots_with(b"seen", 0), [0; 32]);
        let parts = [Number(2), Number(16), Number(1), Bytes(&full), Bytes(&empty)];
        let filter = cuckoo(&parts, encoding).unwrap();
        assert!(filter.contains(b"seen") && !filter.contains(b"unseen"));
        assert_eq!(filter.info()[2..], [2, 1, 0, 2, 1, 20]);
        assert_eq!(encoding_of(&filter), 4);
    }
}

#[test]
fn a_cuckoo_filter_with_a_seed_keeps_it() {
    let slots = slots_with(b"seen", 123);
    let fields = [1, 16, 1, 0, 2, 20, 2].map(Number);
    let mut parts = Vec::from(fields);
    parts.extend([Number(16), Bytes(&slots), Number(123)]);
    let filter = cuckoo(&parts, 5).unwrap();
    assert!(filter.contains(b"seen") && encoding_of(&filter) == 5);
    assert_eq!(value_of(&filter), value(&parts));
    let header = filter.header();
    assert_eq!(header.len(), 46);
    assert_eq!(header[24..32], (1_u64 << 63 | 1).to_le_bytes());
    assert_eq!(header[38..], 123_u64.to_le_bytes());
    let mut again = PeerCuckoo::from_header(&header, &Limits::default()).unwrap();
    again.load_chunk(33, &slots).unwrap();
    assert_eq!(value_of(&again), value(&parts));
    assert!(PeerCuckoo::from_header(&header[..38], &Limits::default()).is_err());
}

#[test]
fn a_seed_of_zero_is_none() {
    let slots = slots_with(b"seen", 0);
    let mut parts = Vec::from([1, 16, 1, 0, 2, 20, 2].map(Number));
    parts.extend([Number(16), Bytes(&slots), Number(0)]);
    let filter = cuckoo(&parts, 5).unwrap();
    assert_eq!(encoding_of(&filter), 4);
    parts.pop();
    assert_eq!(value_of(&filter), value(&parts));
}

#[test]
fn encodings_that_are_not_known_are_refused() {
    let refused = cuckoo(&[], 6).unwrap_err();
    assert_eq!(refused, LoadError::Encoding { found: 6, newest: 5 });
    assert_eq!(
        refused.to_string(),
        "unknown encoding 6 of a RedisBloom filter (expected at most 5); dump it with a version that \
         writes one of these"
    );
}
