//! The small fixed pieces of work whose instructions are counted.

use std::fmt;
use std::hint::black_box;

use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, Key, KeyHash, Layout, WhenFull};

/// Items in the filter. So many that the filters have 8 segments and more, for interleaved
/// eviction chains have nothing to do in one.
const ITEMS: u64 = 300_000;
const BLOCK: usize = 4096;

/// What filter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Buckets of 4, the bits of a rate of 0.001, planned for 95 % load.
    Narrow,
    /// Buckets of 4 that keep all 64 bits of the hash: slots too wide for two in a word.
    Wide,
    /// Overlapping buckets of 2, the bits of a rate of 0.001.
    Overlapping,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    InsertBatch,
    LastStretch,
    UniqueBatch,
    LookupBatch,
    RemoveBatch,
    Insert,
    Lookup,
    LookupInteger,
    LookupString,
    Remove,
    Growing,
}

/// A piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    shape: Shape,
    call: Call,
    /// With the instructions of every processor alone, as other processors than x86 run it.
    pub(crate) is_portable: bool,
}

impl Case {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let calls = [
            Call::InsertBatch,
            Call::LastStretch,
            Call::UniqueBatch,
            Call::LookupBatch,
            Call::RemoveBatch,
            Call::Insert,
            Call::Lookup,
            Call::LookupInteger,
            Call::LookupString,
            Call::Remove,
            Call::Growing,
        ];
        let case = |shape, call| Self { shape, call, is_portable: false };
        let shapes = [Shape::Narrow, Shape::Wide, Shape::Overlapping];
        let all = shapes.into_iter().flat_map(move |shape| calls.map(|call| case(shape, call)));
        let batches = [
            Call::InsertBatch,
            Call::UniqueBatch,
            Call::LookupBatch,
            Call::RemoveBatch,
            Call::Growing,
        ];
        let portable = |shape, call| Self { shape, call, is_portable: true };
        all.chain(batches.map(|call| portable(Shape::Narrow, call)))
            .chain(batches.map(|call| portable(Shape::Wide, call)))
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|case| case.to_string() == name)
    }

    /// Keys that [`play`](Self::play) counts.
    pub(crate) fn keys(self) -> u64 {
        match self.call {
            Call::LastStretch => ITEMS - before_the_stretch(),
            Call::UniqueBatch => stream_length(),
            _ => ITEMS,
        }
    }

    /// Does the work; what belongs to the count runs within [`counted`].
    ///
    /// # Errors
    ///
    /// If the filter cannot be built.
    pub(crate) fn play(self) -> Result<(), BuildError> {
        let mut filter = match self.call {
            Call::Growing => self.shape.growing().build()?,
            _ => self.shape.full().build()?,
        };
        let keys = hashes();
        match self.call {
            Call::InsertBatch | Call::Growing => counted(&mut || insert(&mut filter, &keys)),
            Call::LastStretch => {
                let (first, last) = keys.split_at(before_the_stretch() as usize);
                insert(&mut filter, first);
                counted(&mut || insert(&mut filter, last));
            }
            Call::UniqueBatch => insert_unique(&mut filter),
            Call::Insert => counted(&mut || {
                for &key in &keys {
                    black_box(filter.insert(key).is_ok());
                }
            }),
            Call::LookupBatch => {
                insert(&mut filter, &keys);
                let asked: Vec<KeyHash> = half_present().map(KeyHash::from_u64).collect();
                counted(&mut || {
                    for block in asked.chunks(BLOCK) {
                        let answers = filter.contains_batch(block);
                        black_box(&answers);
                    }
                });
            }
            Call::Lookup => look_up(&mut filter, KeyHash::from_u64),
            Call::LookupInteger => look_up(&mut filter, |n| n),
            Call::LookupString => look_up(&mut filter, text),
            Call::Remove => {
                insert(&mut filter, &keys);
                counted(&mut || {
                    for &key in &keys {
                        black_box(filter.remove(key));
                    }
                });
            }
            Call::RemoveBatch => {
                insert(&mut filter, &keys);
                counted(&mut || {
                    for block in keys.chunks(BLOCK) {
                        let answers = filter.remove_batch(block);
                        black_box(&answers);
                    }
                });
            }
        }
        Ok(())
    }
}

/// Callgrind counts between entry and return of this function, which it finds by its name: see
/// `SYMBOL` in `count`.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Something after the call, so that it is no jump, and the function is left after the work.
    black_box(());
}

fn insert(filter: &mut CuckooFilter, keys: &[KeyHash]) {
    for block in keys.chunks(BLOCK) {
        black_box(filter.insert_batch(block).is_ok());
    }
}

fn insert_unique(filter: &mut CuckooFilter) {
    let length = stream_length();
    // Every key has its first occurrence, and between these are repeats of earlier ones.
    let number = |n: u64| {
        let new = n * ITEMS / length;
        if (n + 1) * ITEMS / length > new { new } else { mix(n) % (new + 1) }
    };
    let keys: Vec<_> = (0..length).map(|n| KeyHash::from_u64(mix(number(n)))).collect();
    let mut outcomes = Vec::new();
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            black_box(filter.insert_unique_batch_into(block, &mut outcomes).is_ok());
        }
    });
}

/// Inserts all keys, and asks for some of which half are there.
fn look_up<K: Key>(filter: &mut CuckooFilter, key: impl Fn(u64) -> K) {
    for n in 0..ITEMS {
        black_box(filter.insert(key(mix(n))).is_ok());
    }
    let (filter, keys) = (&*filter, half_present().map(key).collect::<Vec<_>>());
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            black_box(block.iter().filter(|key| filter.contains(key)).count());
        }
    });
}

/// The n-th key, a uniform number: the finalizer of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn hashes() -> Vec<KeyHash> {
    (0..ITEMS).map(|n| KeyHash::from_u64(mix(n))).collect()
}

/// Keys of which half are there, in an order that cannot be predicted.
fn half_present() -> impl Iterator<Item = u64> {
    (0..ITEMS).map(|n| mix(if mix(!n) & 1 == 1 { n + (1 << 40) } else { n }))
}

/// A short string of hexadecimal digits, 16 bytes.
fn text(number: u64) -> [u8; 16] {
    std::array::from_fn(|place| b"0123456789abcdef"[(number >> (4 * place)) as usize % 16])
}

/// Items in the filter at 90 % load, where all of them make 95 %.
const fn before_the_stretch() -> u64 {
    ITEMS * 90 / 95
}

/// Keys of a stream with 57 repeats in a hundred.
const fn stream_length() -> u64 {
    ITEMS * 100 / 43
}

impl Shape {
    /// With room for all items from the start, and for no more where that is allowed to be said.
    fn full(self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().capacity(ITEMS);
        match self {
            Self::Narrow => builder.rate(0.001).when_full(WhenFull::Refuse),
            Self::Wide => builder,
            Self::Overlapping => {
                builder.rate(0.001).layout(Layout::Overlapping).when_full(WhenFull::Refuse)
            }
        }
    }

    /// Starting small.
    fn growing(self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().capacity(0);
        match self {
            Self::Narrow => builder.max_items(ITEMS).rate(0.001),
            Self::Wide => builder,
            Self::Overlapping => builder.max_items(ITEMS).rate(0.001).layout(Layout::Overlapping),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Narrow => "narrow",
            Shape::Wide => "wide",
            Shape::Overlapping => "overlapping",
        };
        let call = match self.call {
            Call::InsertBatch => "insert in batches until full",
            Call::LastStretch => "insert in batches, the last 5 of 95",
            Call::UniqueBatch => "insert_unique in batches, 57 % repeats",
            Call::LookupBatch => "look up in batches, half present",
            Call::RemoveBatch => "remove in batches",
            Call::Insert => "insert one by one until full",
            Call::Lookup => "look up one by one, half present",
            Call::LookupInteger => "look up one by one, integers to be hashed",
            Call::LookupString => "look up one by one, strings of 16 bytes",
            Call::Remove => "remove one by one",
            Call::Growing => "insert in batches while growing",
        };
        write!(out, "{shape}: {call}{}", if self.is_portable { ", portable" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Case;

    #[test]
    fn cases_are_found_by_their_names() {
        let names: HashSet<String> = Case::all().map(|case| case.to_string()).collect();
        assert_eq!(names.len(), 43);
        for case in Case::all() {
            assert_eq!(Case::named(&case.to_string()), Some(case));
            assert!(case.keys() > 0);
        }
        assert_eq!(Case::named("narrow"), None);
    }

    #[test]
    fn every_case_can_be_played() {
        for case in Case::all() {
            case.play().unwrap();
        }
    }
}
