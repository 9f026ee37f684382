//! Any bytes as a snapshot: an error, or a filter that survives every operation.
//!
//! The first byte chooses: the bytes as they are; or with all checksums put right, so that the checks
//! after the checksums are reached; or as changes to a real snapshot, whose checksums are put right.

#![no_main]

#[allow(dead_code, reason = "the forgeries of the tests; not all of them are needed here")]
#[path = "../../crates/coua/tests/snapshot/forge.rs"]
mod forge;

use coua::window::When;
use coua::{CuckooFilter, Filter, IfPresent, KeyHash, Load};
use forge::{Forgery, SHORTEST};
use libfuzzer_sys::{Corpus, fuzz_target};

const REAL: [&[u8]; 3] = [
    include_bytes!("../../crates/coua/tests/fixtures/v1-fixed.coua"),
    include_bytes!("../../crates/coua/tests/fixtures/v1-packed.coua"),
    include_bytes!("../../crates/coua/tests/fixtures/v1-grown.coua"),
];

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&mode, bytes)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let mut forgery = match mode % 8 {
        0 | 1 => Forgery(bytes.to_vec()),
        mode => changed(REAL[usize::from(mode) / 2 - 1], bytes),
    };
    if mode % 8 > 0 && forgery.0.len() >= SHORTEST {
        forgery.seal();
    }
    if let Ok(filter) = Load::new().bytes::<CuckooFilter>(&forgery.0) {
        exercise(filter);
    }
    Corpus::Keep
});

/// Changes of up to eight bytes: where, how many, and to what.
fn changed(real: &[u8], changes: &[u8]) -> Forgery {
    let mut forgery = Forgery(real.to_vec());
    for change in changes.chunks_exact(11) {
        let width = 1 + usize::from(change[2] % 8);
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (real.len() - 8);
        forgery.0[at..at + width].copy_from_slice(&change[3..3 + width]);
    }
    forgery
}

/// Every operation; only panics and endless work are wrong.
fn exercise(mut filter: CuckooFilter) {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    let again = Load::new().bytes::<CuckooFilter>(&bytes).expect("what was written can be read");
    assert_eq!(again.len(), filter.len());
    let hash = |number: u64| KeyHash::from_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let hashes: Vec<KeyHash> = (0..64).map(hash).collect();
    let mut outcomes = Vec::new();
    for rate in [0.01, 0.5] {
        drop(filter.convert(rate));
    }
    let _refused = filter.merge(&again);
    let _refused = filter.merge_unique(&again);
    let _refused = filter.insert_batch(&hashes);
    let _refused = filter.insert_each(&hashes, When::Now, IfPresent::Skip, &mut outcomes);
    filter.remove_batch(&hashes);
    let _refused = filter.reserve(500);
    filter.compact().unwrap();
    filter.contains_batch(&hashes);
    filter.clear();
    assert!(filter.is_empty());
}
