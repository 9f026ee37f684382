//! Any bytes as a filter of RedisBloom: an error, or a filter within its limits that survives every
//! operation and can be read again from what it writes.
//!
//! The first byte chooses the form, a header, a stream or a dump of either type, and whether the bytes
//! are it or changes to a sound one. The second byte is the encoding of a dump.

#![no_main]

use coua_valkey::redisbloom::{Limits, PeerBloom, PeerCuckoo, PeerFilter, Sink, Source, Unreadable};
use libfuzzer_sys::{Corpus, fuzz_target};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&[form, encoding], rest)) = bytes.split_first_chunk() else {
        return Corpus::Reject;
    };
    let form = form % 12;
    let bytes = if form < 6 { rest.to_vec() } else { changed(sound(form % 6), rest) };
    let encoding = u32::from(encoding % 7);
    match form % 6 {
        0 => PeerCuckoo::from_header(&bytes, &LIMITS).into_iter().for_each(use_cuckoo),
        1 => PeerCuckoo::read_from(&bytes[..], &LIMITS).into_iter().for_each(use_cuckoo),
        2 => {
            PeerCuckoo::read(&mut Plain(&bytes), encoding, &LIMITS).into_iter().for_each(use_cuckoo)
        }
        3 => PeerBloom::from_header(&bytes, &LIMITS).into_iter().for_each(use_bloom),
        4 => PeerBloom::read_from(&bytes[..], &LIMITS).into_iter().for_each(use_bloom),
        _ => PeerBloom::read(&mut Plain(&bytes), encoding, &LIMITS).into_iter().for_each(use_bloom),
    }
    Corpus::Keep
});

/// A dump in which each number takes eight bytes, and each string its length in two and itself.
struct Plain<'a>(&'a [u8]);

impl Plain<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Unreadable)?;
        self.0 = rest;
        Ok(*taken)
    }
}

impl Source for Plain<'_> {
    type Bytes = Vec<u8>;

    fn read_u64(&mut self) -> Result<u64, Unreadable> {
        self.take().map(u64::from_le_bytes)
    }

    fn read_f64(&mut self) -> Result<f64, Unreadable> {
        self.take().map(f64::from_le_bytes)
    }

    fn read_bytes(&mut self) -> Result<Vec<u8>, Unreadable> {
        let len = usize::from(u16::from_le_bytes(self.take()?));
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(taken.to_vec())
    }
}

/// What [`Plain`] reads.
#[derive(Default)]
struct Written(Vec<u8>);

impl Sink for Written {
    fn write_u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn write_f64(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        // A longer one cannot be read back, and is not asked to.
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.0.extend(len.to_le_bytes());
        self.0.extend(bytes);
    }
}

/// A sound filter in each form.
fn sound(form: u8) -> Vec<u8> {
    let mut cuckoo = PeerCuckoo::with_capacity(16, 2, 20, 2).expect("sound parameters");
    let mut bloom = PeerBloom::with_capacity(9, 0.1, Some(2), &LIMITS).expect("sound parameters");
    for item in 0..40_u8 {
        cuckoo.insert(&[item], &LIMITS).expect("room for 40 items");
        bloom.insert(&[item], &LIMITS).expect("room for 40 items");
    }
    let mut written = Written::default();
    match form {
        0 => return cuckoo.header(),
        1 => cuckoo.write_to(&mut written.0).expect("memory takes every byte"),
        2 => cuckoo.write(&mut written),
        3 => return bloom.header(),
        4 => bloom.write_to(&mut written.0).expect("memory takes every byte"),
        _ => bloom.write(&mut written),
    }
    written.0
}

/// Changes of up to eight bytes: where, how many, and to what.
fn changed(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(11) {
        let width = 1 + usize::from(change[2] % 8);
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (bytes.len() - 8);
        bytes[at..at + width].copy_from_slice(&change[3..3 + width]);
    }
    bytes
}

fn use_cuckoo(mut filter: PeerCuckoo) {
    assert!(filter.slots() <= LIMITS.bytes);
    for item in 0..60_u8 {
        if filter.insert(&[item], &LIMITS).is_ok() {
            assert!(filter.contains(&[item]) && filter.count(&[item]) > 0);
        }
        let _answer = filter.insert_unique(&[item, 1], &LIMITS);
        filter.remove(&[item, 2]);
        assert!(filter.remove(&[item]) || !filter.contains(&[item]));
    }
    for position in [-1, 1, 7, 300, i64::MAX] {
        let _answer = filter.load_chunk(position, &[1, 2, 3]);
        let _answer = filter.chunk(position);
    }
    filter.compact();
    let mut stored = Vec::new();
    filter.write_to(&mut stored).expect("memory takes every byte");
    let again = PeerCuckoo::read_from(&stored[..], &LIMITS).expect("what was written can be read");
    assert_eq!(again.header(), filter.header());
    let mut dump = Written::default();
    filter.write(&mut dump);
    if filter.slots() < 1 << 15 {
        PeerCuckoo::read(&mut Plain(&dump.0), filter.encoding(), &LIMITS)
            .expect("what was dumped can be read");
    }
}

fn use_bloom(mut filter: PeerBloom) {
    assert!(filter.array_bytes() <= LIMITS.bytes);
    for item in 0..60_u8 {
        if filter.insert(&[item], &LIMITS).is_ok() {
            assert!(filter.contains(&[item]));
        }
    }
    for position in [-1, 1, 7, 300, i64::MAX] {
        let _answer = filter.load_chunk(position, &[1, 2, 3]);
        let _answer = filter.chunk(position);
    }
    let mut stored = Vec::new();
    filter.write_to(&mut stored).expect("memory takes every byte");
    let again = PeerBloom::read_from(&stored[..], &LIMITS).expect("what was written can be read");
    assert_eq!(again.header(), filter.header());
}
