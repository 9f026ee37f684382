//! Checks of values for fuzz targets and tests, without a server.

use crate::cuckoo::{self, CuckooRequest, Defaults, NativeCuckoo};
use crate::redisbloom::Limits;
use crate::server::ValueType as _;
use crate::value::Value;
use coua::IfPresent;

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
pub fn check_value(bytes: &[u8], arrival: Arrival, limits: &Limits) {
    if let Some(value) = arrived(bytes, arrival, limits) {
        use_value(value, limits);
    }
}

/// The checksum of images.
pub fn checksum(bytes: &[u8]) -> u64 {
    cuckoo::checksum(bytes)
}

/// The bytes of a filled filter that was reserved with these words.
pub fn image_of(words: &[&[u8]]) -> Vec<u8> {
    let request = CuckooRequest::of_reserve(words).expect("sound words");
    let spec = request.complete_with([7; 16], Defaults::BuiltIn).expect("sound words");
    let mut native = NativeCuckoo::of(spec).expect("memory");
    native.insert(&items(), IfPresent::AddCopy, None);
    native.insert(&[b"copy"; 20], IfPresent::AddCopy, None);
    written(&Value::Native(native))
}

fn items() -> Vec<[u8; 1]> {
    (0..60).map(|item| [item]).collect()
}

fn arrived(bytes: &[u8], arrival: Arrival, limits: &Limits) -> Option<Value> {
    let Arrival::Chunks(length) = arrival else { return Value::read(&mut &bytes[..], limits).ok() };
    let limit = Some(limits.bytes);
    let mut end = 0;
    let mut value: Option<Value> = None;
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

fn written(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes).expect("memory takes every byte");
    bytes
}

/// Checks that copies, streams and chunks of a value are equal to it.
fn check_copies(value: &Value, limits: &Limits) {
    let bytes = written(value);
    let again = Value::read(&mut &bytes[..], limits);
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

fn use_value(mut value: Value, limits: &Limits) {
    check_copies(&value, limits);
    let items = items();
    let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
    for item in &items {
        let _answer = value.insert_one(item, IfPresent::AddCopy, Some(limits.bytes), || *limits);
    }
    check_copies(&value, limits);
    for if_present in [IfPresent::AddCopy, IfPresent::Skip] {
        let _answer = value.insert(&items, if_present, Some(limits.bytes), || *limits);
    }
    check_copies(&value, limits);
    let _answer = (value.contains(b"copy"), value.contains_all(&items), value.count_all(&items));
    let _answer = value.remove_one(b"copy");
    if let Ok(removed) = value.remove(&items) {
        assert_eq!(removed.len(), items.len());
    }
    let _answer = value.compact(None);
    check_copies(&value, limits);
}

#[cfg(test)]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the forgeries of the library's tests; not all are needed here"
)]
#[path = "../../coua/tests/snapshot/forge.rs"]
mod forge;

#[cfg(test)]
mod tests {
    use super::*;
    use coua_dev::random::Random;

    const LIMITS: Limits = Limits { bytes: 1 << 16, sub_filters: 40 };
    const HEAD: usize = coua_image::HEAD_BYTES;

    fn put_sum(image: &mut [u8], from: usize, to: usize) {
        let sum = checksum(&image[from..to]).to_le_bytes();
        image[to..to + 8].copy_from_slice(&sum);
    }

    /// Puts the checksums right of the head, and of the list or the filter behind it.
    fn seal(image: &mut Vec<u8>) {
        put_sum(image, 0, HEAD - 8);
        if image[8] == coua_image::Body::Hashes as u8 {
            let end = image.len() - 8;
            put_sum(image, HEAD, end);
        } else {
            let mut snapshot = forge::Forgery(image.split_off(HEAD));
            image.extend(snapshot.seal());
        }
    }

    /// Makes a list a table, and a table a larger one, and empties it again.
    fn outgrow(bytes: &[u8]) {
        const LIMITS: Limits = Limits { bytes: 1 << 20, sub_filters: 40 };
        let Ok(mut value) = Value::read(&mut &bytes[..], &LIMITS) else { return };
        let items: Vec<_> = (0..6_000_u32).map(u32::to_le_bytes).collect();
        let items: Vec<&[u8]> = items.iter().map(<[u8; 4]>::as_slice).collect();
        for some in items.chunks(1_500) {
            let _answer = value.insert(some, IfPresent::AddCopy, Some(LIMITS.bytes), || LIMITS);
            check_copies(&value, &LIMITS);
        }
        let _answer = value.remove(&items[..5_500]);
        check_copies(&value, &LIMITS);
        let _answer = value.compact(None);
        check_copies(&value, &LIMITS);
    }

    /// Removes all items, as far as the forgery left them.
    fn empty(bytes: &[u8]) {
        let Ok(mut value) = Value::read(&mut &bytes[..], &LIMITS) else { return };
        let items = items();
        let items: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
        for _ in 0..25 {
            let _answer = (value.remove(&items), value.remove_one(b"copy"));
        }
        check_copies(&value, &LIMITS);
    }

    #[test]
    fn what_loads_survives_every_operation_and_can_be_loaded_again() {
        let mut random = Random::new(1);
        for words in [
            &[b"100".as_slice()][..],
            &[b"100", b"HASHBITS", b"12"],
            &[b"16", b"EXPANSION", b"0"],
            &[b"5000", b"HASHBITS", b"20"],
            &[b"16", b"WINDOWITEMS", b"40", b"GENERATIONS", b"3"],
        ] {
            let image = image_of(words);
            for round in 0..1_000 {
                let mut forged = image.clone();
                for _ in 0..=random.below(2) {
                    let at = 9 + random.below(forged.len() as u64 - 17) as usize;
                    forged[at] ^= 1 << random.below(8);
                }
                seal(&mut forged);
                check_value(&forged, Arrival::Stream, &LIMITS);
                empty(&forged);
                if round % 8 == 0 {
                    outgrow(&forged);
                }
            }
        }
    }
}
