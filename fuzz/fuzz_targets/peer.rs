//! Any bytes as a filter of RedisBloom: an error, or a filter within its limits that survives every
//! operation and can be read again from what it writes.
//!
//! The first byte chooses the form, a header, a stream or a dump, and whether the bytes are it or changes to a sound
//! one. The second byte is the encoding of a dump.

#![no_main]

use coua::IfPresent::{AddCopy, Skip};
use coua_valkey::redisbloom::{Limits, LoadError, PeerCuckoo, Source};
use libfuzzer_sys::{Corpus, fuzz_target};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&[form, encoding], rest)) = bytes.split_first_chunk() else {
        return Corpus::Reject;
    };
    let form = form % 6;
    let bytes = if form < 3 { rest.to_vec() } else { changed(sound(form % 3), rest) };
    let encoding = u32::from(encoding % 7);
    let filter = match form % 3 {
        0 => PeerCuckoo::from_header(&bytes, &LIMITS),
        1 => PeerCuckoo::read_from(&bytes[..], &LIMITS),
        _ => PeerCuckoo::read(&mut Plain(&bytes), encoding, &LIMITS),
    };
    filter.into_iter().for_each(use_filter);
    Corpus::Keep
});

/// A dump in which each number takes eight bytes, and each string its length in two and itself.
struct Plain<'a>(&'a [u8]);

impl Plain<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(LoadError::Unreadable)?;
        self.0 = rest;
        Ok(*taken)
    }
}

impl Source for Plain<'_> {
    type Bytes = Vec<u8>;

    fn read_u64(&mut self) -> Result<u64, LoadError> {
        self.take().map(u64::from_le_bytes)
    }

    fn read_bytes(&mut self) -> Result<Vec<u8>, LoadError> {
        let len = usize::from(u16::from_le_bytes(self.take()?));
        let (taken, rest) = self.0.split_at_checked(len).ok_or(LoadError::Unreadable)?;
        self.0 = rest;
        Ok(taken.to_vec())
    }
}

/// The filter as [`Plain`] reads it in encoding 4, without its seed.
fn dumped(filter: &PeerCuckoo) -> Vec<u8> {
    let [_, buckets, filters, items, deletes, bucket_size, expansion, iterations] = filter.info();
    let fields = [filters, buckets, items, deletes, bucket_size, iterations, expansion];
    let mut dump: Vec<u8> = fields.into_iter().flat_map(u64::to_le_bytes).collect();
    for slots in filter.arrays() {
        dump.extend((slots.len() as u64 / bucket_size).to_le_bytes());
        // A longer one cannot be read back, and is not asked to.
        dump.extend(u16::try_from(slots.len()).unwrap_or(u16::MAX).to_le_bytes());
        dump.extend(slots);
    }
    dump
}

/// A sound filter in each form.
fn sound(form: u8) -> Vec<u8> {
    // Items, buckets, deletions, sub-filters; then bucket size, iterations, expansion.
    let numbers = [0, 8, 0, 1].into_iter().flat_map(u64::to_le_bytes);
    let sizes = [2, 20, 2].into_iter().flat_map(u16::to_le_bytes);
    let header: Vec<u8> = numbers.chain(sizes).collect();
    let mut filter = PeerCuckoo::from_header(&header, &LIMITS).expect("sound parameters");
    for item in 0..40_u8 {
        filter.insert(&[item], AddCopy, &LIMITS).expect("room for 40 items");
    }
    match form {
        0 => filter.header(),
        1 => {
            let mut stored = Vec::new();
            filter.write_to(&mut stored).expect("memory takes every byte");
            stored
        }
        _ => dumped(&filter),
    }
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

fn use_filter(mut filter: PeerCuckoo) {
    assert!(filter.slots() <= LIMITS.bytes);
    for item in 0..60_u8 {
        if filter.insert(&[item], AddCopy, &LIMITS).is_ok() {
            assert!(filter.contains(&[item]) && filter.count(&[item]) > 0);
        }
        let _answer = filter.insert(&[item, 1], Skip, &LIMITS);
        filter.remove(&[item, 2]);
        assert!(filter.remove(&[item]) || !filter.contains(&[item]));
    }
    for position in [-1, 1, 7, 300, i64::MAX] {
        let _answer = filter.load_chunk(position, &[1, 2, 3]);
        let _answer = filter.slots_from(position);
    }
    let mut step = filter.compact_step(None);
    while step.next.is_some() {
        step = filter.compact_step(step.next);
    }
    let mut stored = Vec::new();
    filter.write_to(&mut stored).expect("memory takes every byte");
    let again = PeerCuckoo::read_from(&stored[..], &LIMITS).expect("what was written can be read");
    assert_eq!(again.header(), filter.header());
    if filter.slots() < 1 << 15 {
        PeerCuckoo::read(&mut Plain(&dumped(&filter)), 4, &LIMITS)
            .expect("what was dumped can be read");
    }
}
