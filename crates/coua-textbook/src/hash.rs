//! Hash functions.

/// A hash function of a Bloom filter: one of these, or your own.
pub type HashFunction = Box<dyn Fn(&[u8]) -> u64>;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1 with 64 bits (Fowler, Noll, Vo 1991): for each byte, multiply, then XOR the byte.
pub fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| hash.wrapping_mul(FNV_PRIME) ^ u64::from(byte))
}

/// FNV-1a with 64 bits: the steps of [`fnv1`] in the other order, which spreads the last byte.
pub fn fnv1a(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// `MurmurHash3_x86_32` with a seed (Appleby 2011). It has 32 bits, so a table should have far fewer than 2^32 places.
pub fn murmur3(key: &[u8], seed: u32) -> u64 {
    let scrambled =
        |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = key.as_chunks();
    let mut hash = seed;
    for word in words {
        hash ^= scrambled(u32::from_le_bytes(*word));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // Up to three bytes are left, little endian. Zero bytes change nothing here, but the length does.
    hash ^= scrambled(rest.iter().rev().fold(0, |tail, &byte| (tail << 8) | u32::from(byte)));
    hash ^= key.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    u64::from(hash ^ (hash >> 16))
}

/// As many hash functions as asked for: [`murmur3`] with the seeds 0, 1, 2 and so on.
pub fn seeded_functions(count: usize) -> Vec<HashFunction> {
    let seeded = |seed| -> HashFunction { Box::new(move |key: &[u8]| murmur3(key, seed as u32)) };
    (0..count).map(seeded).collect()
}

/// The place of `key` by each function, in a row of `places`.
pub(crate) fn places<'a>(
    functions: &'a [HashFunction],
    key: &'a [u8],
    places: usize,
) -> impl Iterator<Item = usize> + 'a {
    functions.iter().map(move |function| (function(key) % places as u64) as usize)
}
