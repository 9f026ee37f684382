//! Any bytes as a file of generations: an error, or a filter that survives every operation; and one that is
//! read is the same mapped.
//!
//! Bytes as they are; or changes to a real file, under checksums that are right or not; or a file put
//! together by the text, of parts that may be damaged.

#![no_main]

#[allow(dead_code, reason = "the forgeries of the tests; not all of them are needed here")]
#[path = "../../crates/coua/tests/snapshot/forge.rs"]
mod filters;
#[path = "../../crates/coua/tests/window/forge.rs"]
mod forge;

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use coua::window::{Generations, When};
use coua::{CuckooFilter, Filter as _, IfPresent, KeyHash, KeyHasher, Load};
use filters::SHORTEST;
use forge::{Forgery, write};
use libfuzzer_sys::fuzz_target;

const REAL: &[u8] = include_bytes!("../../crates/coua/tests/window/fixtures/v1-generations.coua");
/// The number of the template.
const TEMPLATE: u64 = u64::MAX;

#[derive(Arbitrary, Debug)]
struct Plan {
    bytes: Bytes,
    /// Told to it, one after the other.
    times: Vec<u64>,
}

#[derive(Arbitrary, Debug)]
enum Bytes {
    Any(Vec<u8>),
    Changed { edits: Vec<(u16, u64, u8)>, length: Option<u16>, more: Vec<u8> },
    Written(Written),
}

/// What the format says, with anything in the fields.
#[derive(Arbitrary, Debug)]
struct Written {
    clock: u8,
    generations: u16,
    /// Of a generation, so that most windows are possible.
    step: u32,
    length_is_odd: bool,
    time: u64,
    time_is_odd: bool,
    age_from: u8,
    /// Number (of those alive) and what is there.
    parts: Vec<(u16, Filter)>,
    flaw: Option<Flaw>,
}

#[derive(Arbitrary, Debug)]
struct Filter {
    kind: Kind,
    items: u8,
    copies: u8,
    edits: Vec<(u16, u64, u8)>,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Small,
    Fine,
    Seeded,
}

#[derive(Arbitrary, Debug)]
enum Flaw {
    Number(u64),
    Padding(u8),
    Shift(u64),
    Kind(u16),
    HeaderBytes(u32),
    Reserved(u32),
    Features(u32),
    MoreParts(u32),
}

fuzz_target!(|plan: Plan| {
    let bytes = match plan.bytes {
        Bytes::Any(bytes) => bytes,
        Bytes::Changed { edits, length, more } => {
            let mut bytes = REAL.to_vec();
            edit(&mut bytes, &edits);
            bytes.truncate(length.map_or(bytes.len(), usize::from));
            [bytes, more].concat()
        }
        Bytes::Written(file) => file.bytes(),
    };
    let read = Load::new().bytes::<Generations>(&bytes);
    let mapped = Load::new().map_file::<Generations>(&in_file(&bytes));
    if let Ok(read) = read {
        let mut mapped = mapped.expect("what can be read can be mapped");
        assert!(bytes_of(&mapped) == bytes_of(&read));
        let again = Load::new().bytes::<Generations>(&bytes_of(&read)).expect("it was written");
        assert_eq!(again.len(), read.len());
        let _refused = mapped.merge(&again);
        exercise(read, &plan.times);
        exercise(mapped, &plan.times);
    } else if let Ok(mapped) = mapped {
        exercise(mapped, &plan.times);
    }
});

/// Writes up to eight bytes at each place.
fn edit(bytes: &mut [u8], edits: &[(u16, u64, u8)]) {
    for &(at, value, width) in edits {
        let width = 1 + usize::from(width % 8);
        if let Some(last) = bytes.len().checked_sub(8) {
            let at = usize::from(at) % (last + 1);
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

fn in_file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("space for it");
    file
}

impl Written {
    fn bytes(self) -> Vec<u8> {
        let generations = u64::from(self.generations);
        let step = u64::from(self.step);
        let time = self.time - if step == 0 || self.time_is_odd { 0 } else { self.time % step };
        let present = self.time.checked_div(step).unwrap_or(0);
        let mut parts = vec![(TEMPLATE, Filter::template())];
        for (back, filter) in &self.parts {
            parts.push((present.saturating_sub(u64::from(*back)), filter.bytes()));
        }
        parts.truncate(40);
        parts[1..].sort_by_key(|(number, _)| *number);
        let length = step * generations + u64::from(self.length_is_odd);
        let (clock, generations) = (u32::from(self.clock), u32::from(self.generations));
        let mut file = Forgery::of(clock, generations, length, time, parts);
        file.age_from = u32::from(self.age_from);
        match self.flaw {
            Some(Flaw::Number(number)) => file.parts[0].0 = number,
            Some(Flaw::Padding(byte)) => file.padding = byte,
            Some(Flaw::Shift(bytes)) => file.shift = bytes,
            Some(Flaw::Kind(kind)) => file.kind = kind,
            Some(Flaw::HeaderBytes(bytes)) => file.header_bytes = bytes,
            Some(Flaw::Reserved(value)) => file.reserved = value,
            Some(Flaw::Features(value)) => file.features = value,
            Some(Flaw::MoreParts(more)) => file.more_parts = more,
            None => {}
        }
        write(&file)
    }
}

impl Filter {
    fn template() -> Vec<u8> {
        static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
        TEMPLATE.get_or_init(|| Kind::Small.bytes(&[])).clone()
    }

    fn bytes(&self) -> Vec<u8> {
        let keys = hashes(u64::from(self.items), usize::from(self.items % 40));
        let copies = vec![KeyHash::from_u64(7); usize::from(self.copies % 16)];
        let mut bytes = self.kind.bytes(&[keys, copies].concat());
        edit(&mut bytes, &self.edits);
        if !self.edits.is_empty() && bytes.len() >= SHORTEST {
            let mut forged = filters::Forgery(bytes);
            forged.seal();
            return forged.0;
        }
        bytes
    }
}

impl Kind {
    fn bytes(self, hashes: &[KeyHash]) -> Vec<u8> {
        let builder = CuckooFilter::builder().capacity(20).max_items(1000).hash_bits(32);
        let builder = match self {
            Self::Small => builder,
            Self::Fine => builder.hash_bits(64),
            Self::Seeded => builder.hasher(KeyHasher::Xxh3 { seed: 7 }),
        };
        let mut filter = builder.build().expect("it is small");
        filter.insert_batch(hashes).expect("it has room");
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).expect("memory takes every byte");
        bytes
    }
}

fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    coua_dev::random::Random::new(seed).many(count, KeyHash::from_u64)
}

/// Every operation; only panics and endless work are wrong.
fn exercise(mut filter: Generations, times: &[u64]) {
    let keys = hashes(1, 48);
    let mut outcomes = Vec::new();
    for &time in times.iter().take(8) {
        let each: Vec<u64> = (0..keys.len() as u64).map(|n| time.saturating_add(n * 7)).collect();
        let _refused = filter.insert_each(&keys, When::Each(&each), IfPresent::Skip, &mut outcomes);
        filter.advance(time);
        let _refused = filter.insert_batch(&keys[..9]);
        filter.remove_batch(&keys);
    }
    filter.contains_batch(&keys);
    filter.count_batch(&keys);
    filter.compact().unwrap();
    if let Ok(mut copy) = filter.try_clone() {
        let _refused = copy.merge(&filter);
        assert!(bytes_of(&copy).len() >= SHORTEST);
    }
    filter.set_clock(u64::MAX);
    filter.advance(u64::MAX);
    let _refused = filter.insert_unique("a");
}
