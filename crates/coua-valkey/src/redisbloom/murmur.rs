//! The peer's hash: `MurmurHash64A` by Austin Appleby.
//!
//! Only this hash finds the items of the peer's filters. Coua's own filters never use it: its seed
//! is a constant, so colliding keys are easily made.

/// `MurmurHash64A`.
pub(super) fn murmur64(item: &[u8], seed: u64) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = seed ^ (item.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = item.as_chunks::<8>();
    for word in words {
        let mut mixed = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed = (mixed ^ mixed >> SHIFT).wrapping_mul(MULTIPLIER);
        hash = (hash ^ mixed).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}
