//! Sizes and rates of split-block Bloom filters.
//!
//! A filter puts each key into one of B blocks, where it sets one bit in each of eight
//! 32-bit words. A block holds a Poisson-distributed number of keys with mean `n/B`, so
//!
//! ```text
//! FPR = sum over j of Poisson(j; n/B) * (1 - (31/32)^j)^8  +  n / B / 2^32
//! ```
//!
//! (Putze, Sanders, Singler 2009, "Cache-, hash- and space-efficient Bloom filters"; the last term
//! is for keys that agree in the 32 bits that choose the eight.)

use super::check_rate;
use super::error::BloomBuildError;

/// Most blocks of a blocked filter: the block is chosen by 32 bits of the hash.
const MAX_BLOCKS: u64 = 1 << 32;

const BITS_PER_BLOCK: u64 = 256;
const LOW_HASH_VALUES: f64 = 4_294_967_296.0; // 2^32

/// Blocks of a split-block Bloom filter. Everything about it takes O(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedBloomPlan {
    blocks: u64,
}

impl BlockedBloomPlan {
    /// The smallest blocked filter whose false-positive rate is at most `rate` once it holds
    /// `items` keys (0 counts as 1). O(1): computes at most 33 rates.
    ///
    /// # Errors
    ///
    /// [`BloomBuildError::Rate`] unless 0 < `rate` < 1, [`BloomBuildError::OutOfReach`] if 2^32
    /// blocks are too few.
    pub fn for_rate(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        check_rate(rate)?;
        let items = items.max(1);
        let keeps = |blocks| Self { blocks }.false_positive_rate(items) <= rate;
        if !keeps(MAX_BLOCKS) {
            let lowest = Self { blocks: MAX_BLOCKS }.false_positive_rate(items);
            return Err(BloomBuildError::OutOfReach { items, rate, lowest });
        }
        // The rate falls as blocks are added: halve the range around the first that keeps it.
        let (mut low, mut high) = (1, MAX_BLOCKS);
        while low < high {
            let middle = u64::midpoint(low, high);
            (low, high) = if keeps(middle) { (low, middle) } else { (middle + 1, high) };
        }
        Ok(Self { blocks: high })
    }

    /// The filter of `blocks` blocks.
    ///
    /// # Errors
    ///
    /// [`BloomBuildError::NoBits`] if `blocks` is 0, [`BloomBuildError::TooLarge`] beyond
    /// 2^32.
    pub fn new(blocks: u64) -> Result<Self, BloomBuildError> {
        match blocks {
            0 => Err(BloomBuildError::NoBits),
            1..=MAX_BLOCKS => Ok(Self { blocks }),
            _ => Err(BloomBuildError::TooLarge { bits: blocks as f64 * BITS_PER_BLOCK as f64 }),
        }
    }

    /// Blocks of 256 bits.
    pub fn blocks(self) -> u64 {
        self.blocks
    }

    /// Bytes of the filter.
    pub fn bytes(self) -> u64 {
        self.blocks * (BITS_PER_BLOCK / 8)
    }

    /// The false-positive rate, 0..=1, expected once the filter holds `items` distinct keys.
    /// O(1): at most about 800 steps. For fewer than about ten blocks it is somewhat too high, never
    /// too low.
    pub fn false_positive_rate(self, items: u64) -> f64 {
        let mean = items as f64 / self.blocks as f64;
        (block_mixture(mean) + rate_of_low_bits(mean)).min(1.0)
    }
}

/// The share of keys whose low hash bits equal those of one of the `mean` keys in their block, so that they cannot be
/// distinguished, whatever bits are set.
pub(crate) fn rate_of_low_bits(mean: f64) -> f64 {
    mean / LOW_HASH_VALUES
}

/// The expected `(1 - (31/32)^j)^8` for a Poisson-distributed j.
fn block_mixture(mean: f64) -> f64 {
    const UNSET: f64 = 31.0 / 32.0;
    if mean > 512.0 {
        // Rates near 1: the first terms of the expanded power. The next is below 10^-12.
        return 1.0 - 8.0 * (-mean * (1.0 - UNSET)).exp();
    }
    // Beyond mean + 10 standard deviations + 64 nothing is left that an f64 could add.
    let last = (mean + 10.0 * mean.sqrt() + 64.0) as i32;
    let (mut weight, mut rate) = ((-mean).exp(), 0.0);
    for j in 1..=last {
        weight *= mean / f64::from(j);
        rate += weight * (1.0 - UNSET.powi(j)).powi(8);
    }
    rate
}

/// How many distinct keys set `ones` bits in `blocks` blocks of 256, each key one bit in each of
/// the eight words of a block. Infinite if every bit is set.
pub(crate) fn block_count_estimate(blocks: u64, ones: u64) -> f64 {
    // One word out of each block, and only its place in the block, would do: 32 * blocks bits in
    // which each key sets one. All eight words are eight such samples.
    let (bits, set) = (blocks as f64 * 32.0, ones as f64 / 8.0);
    if ones == 0 { 0.0 } else { (-(set / bits).min(1.0)).ln_1p() / (-1.0 / bits).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_plan_keeps_its_rate_with_no_block_too_many() {
        for items in [1, 100, 1_000_000, 1_000_000_000] {
            for rate in [0.9, 0.1, 0.01, 1e-3, 1e-5] {
                let plan = BlockedBloomPlan::for_rate(items, rate).unwrap();
                assert!(plan.false_positive_rate(items) <= rate);
                if plan.blocks > 1 {
                    let smaller = BlockedBloomPlan { blocks: plan.blocks - 1 };
                    assert!(smaller.false_positive_rate(items) > rate);
                }
            }
        }
    }

    #[test]
    fn both_forms_of_the_block_mixture_meet() {
        let (sum, expanded) = (block_mixture(512.0), block_mixture(512.000_001));
        assert!((sum / expanded - 1.0).abs() < 1e-9, "{sum} {expanded}");
        assert!((block_mixture(1e18) - 1.0).abs() < 1e-12);
        assert!(block_mixture(0.0).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn impossible_wishes_are_errors() {
        for rate in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY, -0.0] {
            let plan = BlockedBloomPlan::for_rate(10, rate);
            assert!(matches!(plan, Err(BloomBuildError::Rate { .. })));
        }
        let most = BlockedBloomPlan::for_rate(u64::MAX, 0.01);
        assert!(matches!(most, Err(BloomBuildError::OutOfReach { .. })), "{most:?}");
        assert_eq!(BlockedBloomPlan::new(0), Err(BloomBuildError::NoBits));
        let large = BlockedBloomPlan::new(MAX_BLOCKS + 1);
        assert!(matches!(large, Err(BloomBuildError::TooLarge { .. })));
    }

    #[test]
    fn lowest_rate_named_by_an_error_is_accepted() {
        let Err(BloomBuildError::OutOfReach { items, lowest, .. }) =
            BlockedBloomPlan::for_rate(1 << 40, 1e-12)
        else {
            panic!("1e-12 for 2^40 items needs more than 2^32 blocks");
        };
        assert!(BlockedBloomPlan::for_rate(items, lowest).is_ok());
    }
}
