//! XXH3-64 of 4 to 16 bytes, small enough to be inlined: integers, and short strings.
//!
//! Yann Collet's xxHash 0.8.1, `XXH3_len_4to8_64b` and `XXH3_len_9to16_64b`. The constants are words of its
//! secret, combined as the two functions combine them.

use std::ops::RangeInclusive;

/// The lengths that [`xxh3`] hashes.
pub(super) const LENGTHS: RangeInclusive<usize> = 4..=16;

const FLIP: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;
const FLIP_FIRST: u64 = 0x1f67_b3b7_a4a4_4072 ^ 0x78e5_c0cc_4ee6_79cb;
const FLIP_LAST: u64 = 0x2172_ffcc_7dd0_5a82 ^ 0x8e24_43f7_7446_08b8;
const SHORT_FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
const FACTOR: u64 = 0x1656_6791_9e37_79f9;

/// The hash of a key whose length is one of [`LENGTHS`].
#[inline(always)]
pub(super) fn xxh3(key: &[u8], seed: u64) -> u64 {
    if key.len() > 8
        && let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk())
    {
        return longer(*first, *last, key.len(), seed);
    }
    let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) else {
        unreachable!("a key of 4 bytes and more")
    };
    up_to_8_bytes(*first, *last, key.len(), seed)
}

#[inline(always)]
fn up_to_8_bytes(first: [u8; 4], last: [u8; 4], length: usize, seed: u64) -> u64 {
    let seed = seed ^ (u64::from((seed as u32).swap_bytes()) << 32);
    let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(four)));
    let mut hash = (last.wrapping_add(first << 32)) ^ FLIP.wrapping_sub(seed);
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(SHORT_FACTOR);
    hash ^= (hash >> 35).wrapping_add(length as u64);
    hash = hash.wrapping_mul(SHORT_FACTOR);
    hash ^ (hash >> 28)
}

#[inline(always)]
fn longer(first: [u8; 8], last: [u8; 8], length: usize, seed: u64) -> u64 {
    let first = u64::from_le_bytes(first) ^ FLIP_FIRST.wrapping_add(seed);
    let last = u64::from_le_bytes(last) ^ FLIP_LAST.wrapping_sub(seed);
    let product = u128::from(first) * u128::from(last);
    let folded = (product >> 64) as u64 ^ product as u64;
    let sum = (length as u64).wrapping_add(first.swap_bytes()).wrapping_add(last);
    let mut hash = sum.wrapping_add(folded);
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::{LENGTHS, xxh3};

    #[test]
    fn short_keys_are_hashed_as_the_crate_hashes_them() {
        let bytes: [u8; 16] = std::array::from_fn(|place| (place as u8).wrapping_mul(157) ^ 0x5a);
        for seed in [0, 1, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
            for length in LENGTHS {
                let keys = [&bytes[..length], &bytes[16 - length..], &[0xff; 16][..length]];
                for key in keys {
                    assert_eq!(xxh3(key, seed), xxhash_rust::xxh3::xxh3_64_with_seed(key, seed));
                }
            }
        }
    }
}
