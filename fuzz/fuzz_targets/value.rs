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

/// The module's sources, where they expect themselves to be.
macro_rules! sources {
    ($($name:ident = $path:literal),+ $(,)?) => {
        $(#[allow(dead_code, unused_imports, unreachable_pub, reason = "as the module has it")]
        #[path = $path]
        mod $name;)+
    };
}

sources! {
    bloom = "../../crates/coua-valkey/src/bloom/mod.rs",
    counters = "../../crates/coua-valkey/src/counters.rs",
    cuckoo = "../../crates/coua-valkey/src/cuckoo/mod.rs",
    module = "../../crates/coua-valkey/src/module.rs",
    parse = "../../crates/coua-valkey/src/parse.rs",
    pieces = "../../crates/coua-valkey/src/pieces.rs",
    refusal = "../../crates/coua-valkey/src/refusal.rs",
    reply = "../../crates/coua-valkey/src/reply.rs",
    server = "../../crates/coua-valkey/src/server/mod.rs",
    settings = "../../crates/coua-valkey/src/settings.rs",
    value = "../../crates/coua-valkey/src/value/mod.rs",
}

use bloom::value::Bloom;
use coua_redisbloom::Limits;
use cuckoo::inserts::Copies;
use cuckoo::value::Cuckoo;
use libfuzzer_sys::{Corpus, fuzz_target};
use server::NativeType as _;
use value::creation::Defaults;
use value::image::{checksum, u32_at};
use value::{Creates, Value};

const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };
const LIMIT: Option<u64> = Some(LIMITS.bytes);
/// Words between key and checksum: see the two files `image.rs`.
const CUCKOO_SUM: usize = 56;
/// Where the snapshot begins in an image.
const SNAPSHOT: usize = 64;
const BLOOM_FRONT: usize = 56;
const BLOOM_ROW: usize = 32;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&[form, length], rest)) = bytes.split_first_chunk() else {
        return Corpus::Reject;
    };
    let length = 1 + usize::from(length);
    if form & 1 == 0 {
        let value = loaded::<Cuckoo>(form, length, rest, seal_cuckoo);
        value.into_iter().for_each(use_cuckoo);
    } else {
        let value = loaded::<Bloom>(form, length, rest, seal_bloom);
        value.into_iter().for_each(use_bloom);
    }
    Corpus::Keep
});

fn loaded<K: Creates>(
    form: u8,
    length: usize,
    rest: &[u8],
    seal: fn(&mut Vec<u8>),
) -> Option<Value<K>>
where
    Value<K>: Filled,
{
    let mut image = match form >> 1 & 3 {
        0 => rest.to_vec(),
        sound => changed(written(&Value::<K>::sound(sound | form >> 3 & 4)), rest),
    };
    if form >> 3 & 1 == 1 {
        seal(&mut image);
    }
    if form >> 4 & 1 == 0 {
        return Value::read(&mut &image[..], &LIMITS).ok();
    }
    let mut end = 0;
    let mut value: Option<Value<K>> = None;
    for chunk in image.chunks(length) {
        // As positions of a dump are, from 1 on; a longer one comes first, as an enemy sends it.
        end += chunk.len() as i64;
        for position in [end + 2, end + 1] {
            match &mut value {
                Some(value) => drop(value.load_chunk(position, chunk, LIMIT)),
                None => value = Value::begun(position, chunk, LIMIT, || None).ok(),
            }
        }
    }
    value
}

/// Filters to begin with, by a number from 1 to 7.
trait Filled {
    fn sound(number: u8) -> Self;
}

fn items() -> Vec<[u8; 1]> {
    (0..60).map(|item| [item]).collect()
}

impl Filled for Value<Cuckoo> {
    fn sound(number: u8) -> Self {
        let request = cuckoo::request::Request::of_reserve(match number {
            1 => &[b"16", b"EXPANSION", b"0"],
            2 => &[b"16", b"ERROR", b"0.001"],
            4.. => &[b"16", b"WINDOWITEMS", b"40", b"GENERATIONS", b"3"],
            _ => &[b"2000", b"HASHBITS", b"20"],
        });
        let request = request.expect("sound words");
        let (mut own, _) = Cuckoo::build(&request, [7; 16], Defaults::BuiltIn, None).expect("memory");
        let items = items();
        let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
        own.insert(&items, Copies::Add, None);
        own.insert(&[b"copy".as_slice(); 20], Copies::Add, None);
        Self::Own(own)
    }
}

impl Filled for Value<Bloom> {
    fn sound(number: u8) -> Self {
        let request = bloom::request::Request::of_reserve(match number & 3 {
            1 => &[b"0.01", b"9"],
            2 => &[b"0.1", b"100", b"NONSCALING"],
            _ => &[b"0.1", b"5", b"EXPANSION", b"1"],
        });
        let (own, _) = Bloom::build(&request.expect("sound words"), [7; 16], Defaults::BuiltIn, None).expect("memory");
        let mut value: Self = Value::Own(own);
        let items = items();
        let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
        value.insert(&items, None, || LIMITS).expect("an own filter takes items");
        value
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

fn written<K: Creates>(value: &Value<K>) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes).expect("memory takes every byte");
    bytes
}

/// Whatever came out of it: copies, streams and chunks of it are the same again.
fn keep<K: Creates>(value: &Value<K>) {
    let bytes = written(value);
    let again = Value::<K>::read(&mut &bytes[..], &LIMITS);
    assert!(written(&again.expect("what was written can be read")) == bytes);
    let copy = value.copy().expect("memory for a small filter");
    assert!(written(&copy) == bytes);
    assert!(value.memory_bytes() > 0 && value.free_effort() > 0);
    for position in [-1, 0, 1, 7, 300, 1 << 40, i64::MAX] {
        let _answer = value.chunk(position.max(0));
    }
    if let Value::Own(_) = value {
        let (position, chunk) = value.chunk(0).expect("a first chunk").expect("it is not empty");
        assert!(chunk == bytes, "a small filter is one chunk");
        assert!(value.chunk(position).expect("the end").is_none());
    }
}

fn use_cuckoo(mut value: Value<Cuckoo>) {
    keep(&value);
    let items = items();
    let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
    for copies in [Copies::Add, Copies::Keep] {
        let _answer = value.insert(&items, copies, LIMIT, || LIMITS);
    }
    let _answer = (value.contains(b"copy"), value.contains_all(&items), value.count_all(&items));
    if let Ok(removed) = value.remove(&items) {
        assert_eq!(removed.len(), items.len());
    }
    let _answer = value.compact(None);
    keep(&value);
}

fn use_bloom(mut value: Value<Bloom>) {
    keep(&value);
    let items = items();
    let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
    let _answer = value.insert(&items, LIMIT, || LIMITS);
    let _answer = (value.contains(b"copy"), value.contains_all(&items), value.len());
    keep(&value);
}
