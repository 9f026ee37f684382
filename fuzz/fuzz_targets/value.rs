//! Any bytes as a value of the module for servers, in a dump file or as chunks: an error, or a filter that
//! survives every operation and is read again as what it writes.
//!
//! The first byte chooses whether the bytes are an image or changes to a sound one, whether its checksums are put
//! right, and whether it comes as a stream or in chunks. The second byte is the length of a chunk.

#![no_main]

#[allow(dead_code, reason = "the forgeries of the tests; not all of them are needed here")]
#[path = "../../crates/coua/tests/snapshot/forge.rs"]
mod forge;

use coua_valkey::harness::{Arrival, check_value, checksum, image_of};
use coua_valkey::redisbloom::Limits;
use libfuzzer_sys::{Corpus, fuzz_target};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };
/// Words between key and checksum: see the module's files of images.
const CUCKOO_SUM: usize = 56;
/// Where the snapshot begins in an image.
const SNAPSHOT: usize = 64;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&[form, length], rest)) = bytes.split_first_chunk() else {
        return Corpus::Reject;
    };
    let mut image = match form & 7 {
        0..4 => rest.to_vec(),
        sound => changed(image_of(WORDS[usize::from(sound) - 4]), rest),
    };
    if form >> 3 & 1 == 1 {
        seal(&mut image);
    }
    let in_chunks = form >> 4 & 1 == 1;
    let arrival =
        if in_chunks { Arrival::Chunks(1 + usize::from(length)) } else { Arrival::Stream };
    check_value(&image, arrival, &LIMITS);
    Corpus::Keep
});

/// Filters to begin with.
const WORDS: [&[&[u8]]; 4] = [
    &[b"16", b"EXPANSION", b"0"],
    &[b"16", b"ERROR", b"0.001"],
    &[b"16", b"WINDOWITEMS", b"40", b"GENERATIONS", b"3"],
    &[b"2000", b"HASHBITS", b"20"],
];

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
fn seal(image: &mut Vec<u8>) {
    put_sum(image, 0..CUCKOO_SUM, CUCKOO_SUM);
    let has_filter = [1_u32, 4].contains(&u32_at(image, 8));
    if has_filter && image.len() >= SNAPSHOT + forge::SHORTEST {
        let mut snapshot = forge::Forgery(image.split_off(SNAPSHOT));
        image.extend(snapshot.seal());
    }
}

/// The number at an offset, little endian; 0 if it is not there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}
