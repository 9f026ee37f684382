//! Any bytes as a value of the module for servers, in a dump file or as chunks: an error, or a filter that
//! survives every operation and is read again as what it writes.
//!
//! The first byte chooses the kind, whether the bytes are an image or changes to a sound one, whether its
//! checksums are put right, whether it comes as a stream or in chunks, and whether a cuckoo filter forgets. The
//! second byte is the length of a chunk.

#![no_main]

#[allow(dead_code, reason = "the forgeries of the tests; not all of them are needed here")]
#[path = "../../crates/coua/tests/snapshot/forge.rs"]
mod forge;

use coua_valkey::harness::{Arrival, Kind, check_value, checksum, image_of};
use coua_valkey::redisbloom::Limits;
use libfuzzer_sys::{Corpus, fuzz_target};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };
/// Words between key and checksum: see the module's files of images.
const CUCKOO_SUM: usize = 56;
/// Where the snapshot begins in an image.
const SNAPSHOT: usize = 64;
const BLOOM_FRONT: usize = 56;
const BLOOM_ROW: usize = 32;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&[form, length], rest)) = bytes.split_first_chunk() else {
        return Corpus::Reject;
    };
    let kind = if form & 1 == 0 { Kind::Cuckoo } else { Kind::Bloom };
    let mut image = match form >> 1 & 3 {
        0 => rest.to_vec(),
        sound => changed(image_of(kind, words(kind, sound | form >> 3 & 4)), rest),
    };
    if form >> 3 & 1 == 1 {
        match kind {
            Kind::Cuckoo => seal_cuckoo(&mut image),
            Kind::Bloom => seal_bloom(&mut image),
        }
    }
    let in_chunks = form >> 4 & 1 == 1;
    let arrival = if in_chunks { Arrival::Chunks(1 + usize::from(length)) } else { Arrival::Stream };
    check_value(kind, &image, arrival, &LIMITS);
    Corpus::Keep
});

/// Filters to begin with, by a number from 1 to 7.
fn words(kind: Kind, number: u8) -> &'static [&'static [u8]] {
    match (kind, number) {
        (Kind::Cuckoo, 1) => &[b"16", b"EXPANSION", b"0"],
        (Kind::Cuckoo, 2) => &[b"16", b"ERROR", b"0.001"],
        (Kind::Cuckoo, 4..) => &[b"16", b"WINDOWITEMS", b"40", b"GENERATIONS", b"3"],
        (Kind::Cuckoo, _) => &[b"2000", b"HASHBITS", b"20"],
        (Kind::Bloom, 1 | 5) => &[b"0.01", b"9"],
        (Kind::Bloom, 2 | 6) => &[b"0.1", b"100", b"NONSCALING"],
        (Kind::Bloom, _) => &[b"0.1", b"5", b"EXPANSION", b"1"],
    }
}

/// Changes of up to eight bytes: where, how many, and to what.
fn changed(mut image: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(11) {
        let width = 1 + usize::from(change[2] % 8);
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (image.len() - 8);
        image[at..at + width].copy_from_slice(&change[3..3 + width]);
    }
    image
}

fn put_sum(image: &mut [u8], covered: std::ops::Range<usize>, at: usize) {
    if let Some(bytes) = image.get(covered)
        && image.len() >= at + 8
    {
        let sum = checksum(bytes).to_le_bytes();
        image[at..at + 8].copy_from_slice(&sum);
    }
}

/// Of the bytes before the filter, and of the filter or its generations.
fn seal_cuckoo(image: &mut Vec<u8>) {
    put_sum(image, 0..CUCKOO_SUM, CUCKOO_SUM);
    let has_filter = [1_u32, 4].contains(&u32_at(image, 8));
    if has_filter && image.len() >= SNAPSHOT + forge::SHORTEST {
        let mut snapshot = forge::Forgery(image.split_off(SNAPSHOT));
        image.extend(snapshot.seal());
    }
}

/// Of every filter of the chain, as far as it is there, and of what stands before them.
fn seal_bloom(image: &mut Vec<u8>) {
    let count = u32_at(image, 52).min(1024) as usize;
    let end = BLOOM_FRONT + count * BLOOM_ROW;
    let mut at = end + 8;
    for row in (BLOOM_FRONT..end).step_by(BLOOM_ROW) {
        let words = u64::from(u32_at(image, row + 8)).div_ceil(64) as usize;
        put_sum(image, at..at + 8 * words, row + 24);
        at += 8 * words;
    }
    put_sum(image, 0..end, end);
}

/// The number at an offset, little endian; 0 if it is not there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}
