//! Checks of values for fuzz targets, without a server.

use crate::bloom::{Bloom, BloomRequest};
use crate::cuckoo::{Copies, Cuckoo, CuckooRequest};
use crate::redisbloom::Limits;
use crate::server::ValueType as _;
use crate::value::{self, Defaults, FilterKind, Value};

/// The two kinds of filters.
#[derive(Clone, Copy)]
pub enum Kind {
    /// CF.*
    Cuckoo,
    /// BF.*
    Bloom,
}

/// How the bytes of a value arrive.
#[derive(Clone, Copy)]
pub enum Arrival {
    /// In a dump file.
    Stream,
    /// In chunks of this many bytes.
    Chunks(usize),
}

/// Reads a value, if the bytes are one, and checks that it survives every operation, and that its own
/// bytes can be read back.
pub fn check_value(kind: Kind, bytes: &[u8], arrival: Arrival, limits: &Limits) {
    match kind {
        Kind::Cuckoo => {
            if let Some(value) = arrived::<Cuckoo>(bytes, arrival, limits) {
                use_cuckoo(value, limits);
            }
        }
        Kind::Bloom => {
            if let Some(value) = arrived::<Bloom>(bytes, arrival, limits) {
                use_bloom(value, limits);
            }
        }
    }
}

/// The checksum of images.
pub fn checksum(bytes: &[u8]) -> u64 {
    value::checksum(bytes)
}

/// The bytes of a filled filter that was reserved with these words.
pub fn image_of(kind: Kind, words: &[&[u8]]) -> Vec<u8> {
    let (items, copies) = (items(), [b"copy".as_slice(); 20]);
    match kind {
        Kind::Cuckoo => {
            let mut native =
                built::<Cuckoo>(&CuckooRequest::of_reserve(words).expect("sound words"));
            native.insert(&slices(&items), Copies::Add, None);
            native.insert(&copies, Copies::Add, None);
            written(&Value::<Cuckoo>::Native(native))
        }
        Kind::Bloom => {
            let mut native = built::<Bloom>(&BloomRequest::of_reserve(words).expect("sound words"));
            native.insert(&slices(&items), None);
            written(&Value::<Bloom>::Native(native))
        }
    }
}

fn built<K: FilterKind>(request: &K::Request) -> K::Native {
    K::build(request, [7; 16], Defaults::BuiltIn, None).expect("memory").0
}

fn items() -> Vec<[u8; 1]> {
    (0..60).map(|item| [item]).collect()
}

fn slices(items: &[[u8; 1]]) -> Vec<&[u8]> {
    items.iter().map(|item| &item[..]).collect()
}

fn arrived<K: FilterKind>(bytes: &[u8], arrival: Arrival, limits: &Limits) -> Option<Value<K>> {
    let Arrival::Chunks(length) = arrival else { return Value::read(&mut &bytes[..], limits).ok() };
    let limit = Some(limits.bytes);
    let mut end = 0;
    let mut value: Option<Value<K>> = None;
    for chunk in bytes.chunks(length) {
        // Positions as in a dump, from 1 on; an oversized chunk comes first, as from an attacker.
        end += i64::try_from(chunk.len()).expect("a short chunk");
        for position in [end + 2, end + 1] {
            match &mut value {
                Some(value) => drop(value.load_chunk(position, chunk, limit)),
                None => value = Value::from_first_chunk(position, chunk, limit, || None).ok(),
            }
        }
    }
    value
}

fn written<K: FilterKind>(value: &Value<K>) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes).expect("memory takes every byte");
    bytes
}

/// Checks that copies, streams and chunks of a value are equal to it.
fn check_copies<K: FilterKind>(value: &Value<K>, limits: &Limits) {
    let bytes = written(value);
    let again = Value::<K>::read(&mut &bytes[..], limits);
    assert!(written(&again.expect("what was written can be read")) == bytes);
    let copy = value.copy().expect("memory for a small filter");
    assert!(written(&copy) == bytes);
    assert!(value.memory_bytes() > 0 && value.free_effort() > 0);
    for position in [-1, 0, 1, 7, 300, 1 << 40, i64::MAX] {
        let _answer = value.chunk(position.max(0));
    }
    if let Value::Native(_) = value {
        let (position, chunk) = value.chunk(0).expect("a first chunk").expect("it is not empty");
        assert!(chunk == bytes, "a small filter is one chunk");
        assert!(value.chunk(position).expect("the end").is_none());
    }
}

fn use_cuckoo(mut value: Value<Cuckoo>, limits: &Limits) {
    check_copies(&value, limits);
    let items = items();
    let items = slices(&items);
    for copies in [Copies::Add, Copies::Keep] {
        let _answer = value.insert(&items, copies, Some(limits.bytes), || *limits);
    }
    let _answer = (value.contains(b"copy"), value.contains_all(&items), value.count_all(&items));
    if let Ok(removed) = value.remove(&items) {
        assert_eq!(removed.len(), items.len());
    }
    let _answer = value.compact(None);
    check_copies(&value, limits);
}

fn use_bloom(mut value: Value<Bloom>, limits: &Limits) {
    check_copies(&value, limits);
    let items = items();
    let items = slices(&items);
    let _answer = value.insert(&items, (), Some(limits.bytes), || *limits);
    let _answer = (value.contains(b"copy"), value.contains_all(&items));
    check_copies(&value, limits);
}
