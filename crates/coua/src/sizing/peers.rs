//! Memory of other structures in bytes, by their papers.

use super::HASH_VALUES;

/// The most blocks of a blocked Bloom filter: 32 bits of the hash choose one.
const MOST_BLOCKS: u64 = 1 << 32;
/// Bytes of a block.
const BLOCK_BYTES: u64 = 32;
/// The number of values of the 32 hash bits that choose the bits in a block.
const BLOCK_VALUES: f64 = 4_294_967_296.0;

/// Bloom filter (Bloom 1970): k bits for each key, chosen by 64-bit hashes, in whole words. `None` if the rate is not
/// between 0 and 1, or too low for the hash.
pub fn bloom(items: u64, rate: f64) -> Option<u64> {
    let items = items.max(1) as f64;
    let by_hash = items / HASH_VALUES;
    // The nearer the rate of equal hashes is to the whole rate, the larger the filter, without limit.
    let is_possible = rate > 0.0 && rate < 1.0 && 2.0 * by_hash <= rate;
    let rate = rate - by_hash;
    // The rate (1 - (1 - 1/m)^(kn))^k, solved for m.
    let bits = |k: f64| -1.0 / ((-rate.powf(1.0 / k)).ln_1p() / (k * items)).exp_m1();
    // The best k is an integer next to this one.
    let best = -rate.log2();
    let bits = bits(best.floor().max(1.0)).min(bits(best.ceil()));
    is_possible.then(|| (bits / 64.0).ceil() as u64 * 8)
}

/// Split-block Bloom filter (Putze, Sanders, Singler 2009): each key sets a bit in each of the eight 32-bit words of
/// one block. `None` if the rate is not between 0 and 1, or too low for 2^32 blocks.
pub fn blocked_bloom(items: u64, rate: f64) -> Option<u64> {
    let items = items.max(1) as f64;
    let is_enough = |blocks: u64| blocked_rate(items / blocks as f64) <= rate;
    if !(rate > 0.0 && rate < 1.0 && is_enough(MOST_BLOCKS)) {
        return None;
    }
    let (mut low, mut high) = (1, MOST_BLOCKS);
    while low < high {
        let middle = u64::midpoint(low, high);
        (low, high) = if is_enough(middle) { (low, middle) } else { (middle + 1, high) };
    }
    Some(high * BLOCK_BYTES)
}

/// The rate of a blocked filter with `mean` keys in a block: the expected `(1 - (31/32)^j)^8` for a
/// Poisson-distributed j, and keys whose bits are the same.
fn blocked_rate(mean: f64) -> f64 {
    const UNSET: f64 = 31.0 / 32.0;
    if mean > 512.0 {
        return 1.0;
    }
    // Beyond mean + 10 standard deviations + 64 nothing is left that an f64 could add.
    let last = (mean + 10.0 * mean.sqrt() + 64.0) as i32;
    let (mut weight, mut rate) = ((-mean).exp(), mean / BLOCK_VALUES);
    for j in 1..=last {
        weight *= mean / f64::from(j);
        rate += weight * (1.0 - UNSET.powi(j)).powi(8);
    }
    rate
}

/// Rank-and-select quotient filter (Pandey, Bender, Johnson, Patro 2017): slots a power of two, up
/// to 95 % of them in use, remainders of r bits and 2.125 bits of metadata; rate = load / 2^r. `None` if it
/// needs more than 64 bits of hash.
pub fn quotient(items: u64, rate: f64) -> Option<u64> {
    let slots = ((items as f64 / 0.95) as u64).max(64).checked_next_power_of_two()?;
    let load = items as f64 / slots as f64;
    let remainder = (load / rate).log2().ceil().max(1.0);
    let fits = remainder + f64::from(slots.ilog2()) <= 64.0;
    fits.then_some((slots as f64 * (remainder + 2.125) / 8.0) as u64)
}

/// 3-wise binary fuse filter (Graf, Lemire 2022): 1.125 fingerprints of whole bits per item. `None` if they
/// need more than 64 bits.
pub fn binary_fuse(items: u64, rate: f64) -> Option<u64> {
    let bits = (-rate.log2()).ceil();
    (bits <= 64.0).then_some((items as f64 * 1.125 * bits / 8.0) as u64)
}

/// An open-addressing table (Swiss table): slots a power of two, 7/8 of them in use, a byte of
/// metadata each.
pub fn hash_set(items: u64, item_bytes: u64) -> u64 {
    let slots = (items.saturating_mul(8) / 7).max(4).checked_next_power_of_two();
    slots.unwrap_or(u64::MAX).saturating_mul(item_bytes + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_give_the_published_sizes() {
        let bits = |bytes: Option<u64>| bytes.unwrap() as f64 * 8.0 / 1e6;
        assert!((bits(binary_fuse(1_000_000, 1.0 / 256.0)) - 9.0).abs() < 0.01);
        // 2^20 slots, 95.4 % in use: 8 + 2.125 bits each.
        assert!((bits(quotient(996_000, 1.0 / 256.0)) - 10.6).abs() < 0.1);
        assert_eq!(hash_set(14_000_000, 8), (1 << 24) * 9);
        assert_eq!(quotient(1 << 40, 1e-18), None);
        // 1.44 log2(1/rate) bits.
        assert!((bits(bloom(1_000_000, 0.001)) - 14.38).abs() < 0.01);
        // A bit more than the 9.6 of a Bloom filter.
        assert!((bits(blocked_bloom(1_000_000, 0.01)) - 10.6).abs() < 0.3);
        assert!(blocked_rate(512.0) > 0.999_99);
    }

    #[test]
    fn impossible_wishes_have_no_size() {
        for rate in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY, -0.0] {
            assert_eq!((bloom(10, rate), blocked_bloom(10, rate)), (None, None), "{rate}");
        }
        assert_eq!(bloom(1_000_000_000, 1e-12), None);
        assert_eq!((bloom(u64::MAX, 0.01), blocked_bloom(u64::MAX, 0.01)), (None, None));
        assert_eq!(blocked_bloom(1 << 40, 1e-12), None);
    }
}
