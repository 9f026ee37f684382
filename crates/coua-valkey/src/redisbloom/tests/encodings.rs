//! Dumps and headers of other versions of the peer than the one that `golden` is of, written by
//! hand as `docs/peer-formats.md` describes them.

use super::super::murmur::{murmur32, murmur64};
use super::super::{Limits, LoadError, PeerBloom, PeerCuckoo, PeerFilter, Sink};
use super::dump::{Reader, Writer};

/// What a value is written as: numbers, and the rest in its own kind.
enum Part<'a> {
    Number(u64),
    Fraction(f64),
    Bytes(&'a [u8]),
}

use Part::{Bytes, Fraction, Number};

fn value(parts: &[Part<'_>]) -> Vec<u8> {
    Writer::value_of(|writer| {
        for part in parts {
            match part {
                Number(number) => writer.write_u64(*number),
                Fraction(fraction) => writer.write_f64(*fraction),
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

fn bloom(parts: &[Part<'_>], encoding: u32) -> Result<PeerBloom, LoadError> {
    let value = value(parts);
    let mut reader = Reader::of_value(&value);
    let filter = PeerBloom::read(&mut reader, encoding, &Limits::default())?;
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
        let parameters = (filter.bucket_size(), filter.max_iterations(), filter.expansion());
        assert_eq!(parameters, (2, 20, 1));
        assert_eq!((filter.sub_filters(), filter.items(), filter.deletes()), (2, 1, 0));
        assert_eq!(filter.encoding(), 4);
    }
}

#[test]
fn a_cuckoo_filter_with_a_seed_keeps_it() {
    let slots = slots_with(b"seen", 123);
    let fields = [1, 16, 1, 0, 2, 20, 2].map(Number);
    let mut parts = Vec::from(fields);
    parts.extend([Number(16), Bytes(&slots), Number(123)]);
    let filter = cuckoo(&parts, 5).unwrap();
    assert!(filter.contains(b"seen") && filter.encoding() == 5);
    assert_eq!(Writer::value_of(|writer| filter.write(writer)), value(&parts));
    let header = filter.header();
    assert_eq!(header.len(), 46);
    assert_eq!(header[24..32], (1_u64 << 63 | 1).to_le_bytes());
    assert_eq!(header[38..], 123_u64.to_le_bytes());
    let mut again = PeerCuckoo::from_header(&header, &Limits::default()).unwrap();
    again.load_chunk(33, &slots).unwrap();
    assert_eq!(Writer::value_of(|writer| again.write(writer)), value(&parts));
    assert!(PeerCuckoo::from_header(&header[..38], &Limits::default()).is_err());
}

#[test]
fn a_seed_of_zero_is_none() {
    let slots = slots_with(b"seen", 0);
    let mut parts = Vec::from([1, 16, 1, 0, 2, 20, 2].map(Number));
    parts.extend([Number(16), Bytes(&slots), Number(0)]);
    let filter = cuckoo(&parts, 5).unwrap();
    assert_eq!(filter.encoding(), 4);
    parts.pop();
    assert_eq!(Writer::value_of(|writer| filter.write(writer)), value(&parts));
}

#[test]
fn encodings_that_are_not_known_are_refused() {
    let refused = |found, oldest| LoadError::Encoding { found, oldest, newest: 5 };
    assert_eq!(cuckoo(&[], 6).unwrap_err(), refused(6, 0));
    assert_eq!(bloom(&[], 6).unwrap_err(), refused(6, 1));
    assert_eq!(bloom(&[], 0).unwrap_err(), refused(0, 1));
    assert_eq!(
        refused(0, 1).to_string(),
        "unknown encoding 0 of a RedisBloom filter (expected 1 to 5); dump it with a version that \
         writes one of these"
    );
}

/// Where the filter of an old chain sets bits, with 32-bit hashes and 7 of them.
fn narrow_places(item: &[u8], modulus: u64) -> impl Iterator<Item = u64> {
    let first = murmur32(item, 0x9747_b28c);
    let step = murmur32(item, first);
    (0..7).map(move |number| (u64::from(first) + number * u64::from(step)) % modulus)
}

fn array_with(places: impl Iterator<Item = u64>, bytes: usize) -> Vec<u8> {
    let mut array = vec![0; bytes];
    for place in places {
        array[(place / 8) as usize] |= 1 << (place % 8);
    }
    array
}

/// The numbers of a filter for 10 items with a rate of 1 %: 95 bits, 7 hashes.
const BITS_PER_ENTRY: f64 = 9.585_058_377_367_439;

#[test]
fn bloom_filters_of_a_power_of_two_of_bits() {
    let array = array_with(narrow_places(b"seen", 128), 16);
    for (encoding, bits) in [(1, 0), (2, 0), (2, 128), (3, 128)] {
        let mut parts = vec![Number(1), Number(1)];
        if encoding >= 2 {
            parts.push(Number(0));
        }
        parts.extend([Number(13), Fraction(0.01), Number(7), Fraction(BITS_PER_ENTRY)]);
        parts.extend([Number(bits), Number(7), Bytes(&array), Number(1)]);
        let mut filter = bloom(&parts, encoding).unwrap();
        assert!(filter.contains(b"seen") && !filter.contains(b"unseen"));
        grows(&mut filter);
    }
}

#[test]
fn bloom_filters_that_round_have_a_power_of_two_of_bits() {
    let mut parts = vec![Number(0), Number(1), Number(0), Number(2)];
    parts.extend([Number(10), Fraction(0.01), Number(7), Fraction(BITS_PER_ENTRY)]);
    parts.extend([Number(95), Number(0), Bytes(&[0; 12]), Number(0)]);
    let said = bloom(&parts, 4).unwrap_err().to_string();
    assert!(said.starts_with("logarithm of the bits is 0, expected 1 to 63"), "{said}");
}

/// A chain that was read goes on with filters of its own kind, and loses nothing.
fn grows(filter: &mut PeerBloom) {
    let items: Vec<_> = (0..300).map(|item: u32| item.to_string()).collect();
    for item in &items {
        filter.insert(item.as_bytes(), &Limits::default()).unwrap();
    }
    assert!(filter.filters() > 3);
    assert!(items.iter().all(|item| filter.contains(item.as_bytes())));
    assert!(filter.contains(b"seen"));
    let value = Writer::value_of(|writer| filter.write(writer));
    let mut reader = Reader::of_value(&value);
    let again = PeerBloom::read(&mut reader, filter.encoding(), &Limits::default()).unwrap();
    assert_eq!(Writer::value_of(|writer| again.write(writer)), value);
}

#[test]
fn a_chain_that_rounds_gives_the_spare_bits_to_more_entries() {
    let array = [0; 16];
    let mut parts = vec![Number(0), Number(1), Number(4), Number(2)];
    parts.extend([Number(13), Fraction(0.01), Number(7), Fraction(BITS_PER_ENTRY)]);
    parts.extend([Number(128), Number(7), Bytes(&array), Number(0)]);
    let mut filter = bloom(&parts, 4).unwrap();
    let mut item = 0_u32;
    while filter.filters() == 1 {
        filter.insert(&item.to_le_bytes(), &Limits::default()).unwrap();
        item += 1;
    }
    // 26 entries at 0.005 take 286.7 bits; 512 have room for 225.3 more, which is 20 entries.
    assert_eq!(filter.capacity(), 13 + 26 + 20);
    assert_eq!(filter.array_bytes(), 16 + 64);
}

#[test]
fn a_bloom_filter_with_a_seed_keeps_it() {
    let limits = &Limits::default();
    let mut filter = PeerBloom::with_capacity(10, 0.02, Some(2), limits).unwrap();
    let usual = Writer::value_of(|writer| filter.write(writer));
    let mut seeded = usual[..usual.len() - 1].to_vec();
    let mut seed = Writer::default();
    seed.write_u64(77);
    seeded.extend(&seed.value);
    let mut reader = Reader::of_value(&seeded);
    let mut other = PeerBloom::read(&mut reader, 5, limits).unwrap();
    filter.insert(b"seen", limits).unwrap();
    other.insert(b"seen", limits).unwrap();
    assert_ne!(filter.chunk(1), other.chunk(1), "the seed moves the bits");
    let first = murmur64(b"seen", 77);
    let step = murmur64(b"seen", first);
    let places = (0..7).map(|number: u64| first.wrapping_add(number.wrapping_mul(step)) % 128);
    let places: Vec<_> = places.collect();
    // 110 bits in whole words, and 8 hashes: the rate of the first filter is half of 0.02.
    assert_eq!(other.array_bytes(), 16);
    assert_eq!(other.chunk(1).unwrap().unwrap().bytes, array_with(places.into_iter(), 16));
    let header = other.header();
    assert_eq!(header.len(), 20 + 53 + 8);
    assert_eq!(header[12..16], (1_u32 << 31 | 5).to_le_bytes());
    assert_eq!(header[73..], 77_u64.to_le_bytes());
    let again = PeerBloom::from_header(&header, limits).unwrap();
    assert_eq!((again.header(), again.encoding()), (header, 5));
}

#[test]
fn headers_with_entries_of_32_bits() {
    let limits = &Limits::default();
    let mut filter = PeerBloom::with_capacity(10, 0.02, Some(2), limits).unwrap();
    filter.insert(b"seen", limits).unwrap();
    let wide = filter.header();
    // The entries lie at 44 of the 53 bytes of a filter, after the 20 of the chain.
    let narrow = [&wide[..20 + 48], &wide[20 + 52..]].concat();
    let mut read = PeerBloom::from_header(&narrow, limits).unwrap();
    let chunk = filter.chunk(1).unwrap().unwrap();
    read.load_chunk(chunk.next, chunk.bytes).unwrap();
    assert!(read.contains(b"seen"));
    assert_eq!(read.header(), wide);
}
