//! The peer's hashes: `MurmurHash2` by Austin Appleby, in the widths that the peer uses.
//!
//! Only these hashes find the items of the peer's filters. Coua's own filters never use them: their seed
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

/// `MurmurHash2` with 32 bits: Bloom filters from before the peer forced 64 bits.
pub(super) fn murmur32(item: &[u8], seed: u32) -> u32 {
    const MULTIPLIER: u32 = 0x5bd1_e995;
    const SHIFT: u32 = 24;
    let mut hash = seed ^ item.len() as u32;
    let (words, rest) = item.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed = (mixed ^ mixed >> SHIFT).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u32::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(MULTIPLIER);
    hash ^ hash >> 15
}
