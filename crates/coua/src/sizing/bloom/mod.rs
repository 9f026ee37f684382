//! Sizes and rates of Bloom filters: the formulas, and nothing else.
//!
//! With m bits, k probes per key and n keys, a bit is still unset with probability
//! `p = (1 - 1/m)^(kn)`, and the k bits of an absent key are all set with probability
//!
//! ```text
//! FPR = (1 - p)^k * (1 + k (k-1) / 2 * V / (1-p)^2) + n / 2^64
//!       Bloom 1970   how much the fill varies           keys with equal hashes
//! ```
//!
//! where `V = p (1 - p - p kn/m) / m` is the variance of the fraction of set bits. Bloom's formula
//! alone is a little too low (Bose et al. 2008, "On the false-positive rate of Bloom filters"): by
//! 6 % at 100 bits and 7 probes, by 0.6 % at 1000. With the second factor the error is below 1 %.

mod blocked;
mod error;

pub use blocked::BlockedBloomPlan;
pub(crate) use blocked::{block_count_estimate, rate_of_low_bits};
pub use error::BloomBuildError;
pub(crate) use error::MAX_PROBES;

use crate::sizing::HASH_VALUES;

/// [`BloomPlan::for_rate`] returns no filter smaller than one cache line: it would cost the same, and the
/// formula is accurate only from this size on.
const MIN_PLANNED_BITS: u64 = 512;

/// Bits and probes of a Bloom filter. All methods take O(1) to a few hundred steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomPlan {
    bits: u64,
    probes: u32,
}

impl BloomPlan {
    /// The smallest filter whose false-positive rate is at most `rate` once it holds `items` keys
    /// (0 counts as 1). At least 512 bits.
    ///
    /// # Errors
    ///
    /// [`BloomBuildError::Rate`] unless 0 < `rate` < 1, [`BloomBuildError::OutOfReach`] if 64 hash
    /// bits are too few, [`BloomBuildError::TooLarge`] beyond 2^63 bits.
    pub fn for_rate(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        check_rate(rate)?;
        let items = items.max(1);
        let hash_rate = items as f64 / HASH_VALUES;
        // Half the rate may go to equal hashes; the nearer to all of it, the larger the filter,
        // without limit.
        if hash_rate * 2.0 > rate {
            return Err(BloomBuildError::OutOfReach { items, rate, lowest: hash_rate * 2.0 });
        }
        // The best k is an integer next to log2(1/rate); sizes around it differ by few percent.
        let ideal = -(rate - hash_rate).log2();
        let below = Self::for_probes(items, rate, ideal.floor());
        let above = Self::for_probes(items, rate, ideal.ceil());
        match (below, above) {
            (Ok(below), Ok(above)) => Ok(if below.bits <= above.bits { below } else { above }),
            (below, above) => below.or(above),
        }
    }

    /// The filter of `bits` bits and `probes` probes per key.
    ///
    /// # Errors
    ///
    /// [`BloomBuildError::NoBits`] if `bits` is 0, [`BloomBuildError::Probes`] unless `probes` is
    /// between 1 and 64.
    pub fn new(bits: u64, probes: u32) -> Result<Self, BloomBuildError> {
        if bits == 0 {
            return Err(BloomBuildError::NoBits);
        }
        if probes == 0 || probes > MAX_PROBES {
            return Err(BloomBuildError::Probes { probes: probes as usize });
        }
        Ok(Self { bits, probes })
    }

    /// Bits of the filter, m.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Probes per key, k.
    pub fn probes(self) -> u32 {
        self.probes
    }

    /// Bytes of the filter: the bits in whole 64-bit words.
    pub fn bytes(self) -> u64 {
        self.bits.div_ceil(64) * 8
    }

    /// Bytes of a counting filter of the same rate, which has four bits for each of these.
    pub fn counting_bytes(self) -> u64 {
        self.bits.div_ceil(16).saturating_mul(8)
    }

    /// The false-positive rate, 0..=1, expected once the filter holds `items` distinct keys. O(1).
    pub fn false_positive_rate(self, items: u64) -> f64 {
        if items == 0 {
            return 0.0;
        }
        let (m, k, n) = (self.bits as f64, f64::from(self.probes), items as f64);
        let marks = k * n;
        // ln_1p and exp_m1: the plain forms lose every digit when m is large or the fill is small.
        let log_unset = marks * (-1.0 / m).ln_1p();
        let fill = -log_unset.exp_m1();
        let unset = log_unset.exp();
        let variance = (unset * (fill - unset * marks / m) / m).max(0.0);
        let varying = 1.0 + k * (k - 1.0) / 2.0 * variance / (fill * fill);
        (fill.powf(k) * varying + n / HASH_VALUES).min(1.0)
    }

    /// The smallest filter with about `probes` probes that keeps `rate`.
    fn for_probes(items: u64, rate: f64, probes: f64) -> Result<Self, BloomBuildError> {
        let probes = (probes as u32).clamp(1, MAX_PROBES);
        let k = f64::from(probes);
        let target = rate - items as f64 / HASH_VALUES;
        // Bloom's formula solved for m. It is a little low, hence the steps after it.
        let log_unset = (-target.powf(1.0 / k)).ln_1p();
        let bits = (-1.0 / (log_unset / (k * items as f64)).exp_m1()).ceil();
        let limit = (1_u64 << 63) as f64;
        if bits.is_nan() || bits >= limit {
            return Err(BloomBuildError::TooLarge { bits });
        }
        let mut plan = Self::new((bits as u64).max(MIN_PLANNED_BITS), probes)?;
        while plan.false_positive_rate(items) > rate {
            // One probe's worth of bits at a time; a larger step where rounding of f64 outweighs it.
            plan.bits += u64::from(probes) + (plan.bits >> 40);
        }
        Ok(plan)
    }
}

/// How many distinct keys set `ones` of `bits` bits with `probes` probes each: Swamidass and Baldi
/// 2007, `-m/k ln(1 - ones/m)`, with `ln(1 - 1/m)` for `-1/m` so that small filters come out right
/// as well. Infinite if every bit is set.
pub(crate) fn count_estimate(bits: u64, probes: u32, ones: u64) -> f64 {
    if ones == 0 {
        return 0.0;
    }
    if ones >= bits {
        return f64::INFINITY;
    }
    let fill = ones as f64 / bits as f64;
    (-fill).ln_1p() / (f64::from(probes) * (-1.0 / bits as f64).ln_1p())
}

/// The false-positive rate of a filter in which `ones` of `bits` bits are set.
pub(crate) fn rate_of_fill(bits: u64, probes: u32, ones: u64) -> f64 {
    let by_bits = (ones as f64 / bits.max(1) as f64).powf(f64::from(probes));
    (by_bits + count_estimate(bits, probes, ones) / HASH_VALUES).min(1.0)
}

fn check_rate(rate: f64) -> Result<(), BloomBuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(BloomBuildError::Rate { rate }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact rate: the distribution of the number of set bits, one mark after the other.
    fn exact_rate(bits: usize, probes: i32, items: usize) -> f64 {
        let m = bits as f64;
        let mut set = vec![0.0; bits + 1];
        set[0] = 1.0;
        for _ in 0..probes as usize * items {
            for j in (0..=bits).rev() {
                let new_bit = if j == 0 { 0.0 } else { set[j - 1] * (1.0 - (j - 1) as f64 / m) };
                set[j] = set[j] * j as f64 / m + new_bit;
            }
        }
        set.iter().enumerate().map(|(j, weight)| weight * (j as f64 / m).powi(probes)).sum()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn rate_is_within_one_percent_of_the_exact_distribution() {
        for (bits, probes, items) in
            [(64, 3, 10), (64, 7, 6), (100, 7, 10), (128, 1, 100), (300, 10, 20), (1000, 4, 300)]
        {
            let exact = exact_rate(bits as usize, probes, items);
            let formula = BloomPlan::new(bits, probes as u32).unwrap();
            let formula = formula.false_positive_rate(items as u64);
            let error = (formula / exact - 1.0).abs();
            assert!(error < 0.01, "m {bits} k {probes} n {items}: {formula} against {exact}");
        }
    }

    #[test]
    fn smallest_plan_keeps_its_rate() {
        for items in [0, 1, 2, 10, 1_000, 1_000_000, 1 << 40] {
            for rate in [0.999, 0.5, 0.1, 0.01, 1e-3, 1e-6] {
                let plan = BloomPlan::for_rate(items, rate).unwrap();
                assert!(plan.false_positive_rate(items) <= rate, "{items} {rate} {plan:?}");
                if plan.bits > MIN_PLANNED_BITS {
                    let smaller = plan.bits - plan.bits / 1_000 - 2 * u64::from(plan.probes);
                    let mut others = (1..=64).map(|k| BloomPlan::new(smaller, k).unwrap());
                    let is_larger = others.all(|it| it.false_positive_rate(items) > rate);
                    assert!(is_larger, "{items} {rate} {plan:?}");
                }
            }
        }
    }

    #[test]
    fn small_fills_keep_their_digits() {
        // One key in 2^50 bits: k bits set, all k of them found with (k/m)^k.
        let rate = BloomPlan::new(1 << 50, 2).unwrap().false_positive_rate(1);
        let expected = (2.0 / (1_u64 << 50) as f64).powi(2) + 1.0 / HASH_VALUES;
        assert!((rate / expected - 1.0).abs() < 1e-6, "{rate:e} {expected:e}");
    }

    #[test]
    fn impossible_wishes_are_errors() {
        for rate in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY, -0.0] {
            assert!(matches!(BloomPlan::for_rate(10, rate), Err(BloomBuildError::Rate { .. })));
        }
        let beyond_hash = BloomPlan::for_rate(1_000_000_000, 1e-12);
        assert!(matches!(beyond_hash, Err(BloomBuildError::OutOfReach { .. })), "{beyond_hash:?}");
        let most = BloomPlan::for_rate(u64::MAX, 0.01);
        assert!(matches!(most, Err(BloomBuildError::OutOfReach { .. })), "{most:?}");
        let large = BloomPlan::for_rate(1 << 61, 0.3);
        assert!(large.is_ok(), "{large:?}");
        let blocked = BlockedBloomPlan::for_rate(u64::MAX, 0.01);
        assert!(matches!(blocked, Err(BloomBuildError::OutOfReach { .. })), "{blocked:?}");
        assert_eq!(BloomPlan::new(0, 3), Err(BloomBuildError::NoBits));
        assert_eq!(BloomPlan::new(9, 0), Err(BloomBuildError::Probes { probes: 0 }));
        assert_eq!(BloomPlan::new(9, 65), Err(BloomBuildError::Probes { probes: 65 }));
    }

    #[test]
    fn lowest_rate_named_by_an_error_is_accepted() {
        let Err(BloomBuildError::OutOfReach { items, lowest, .. }) =
            BloomPlan::for_rate(1 << 40, 1e-12)
        else {
            panic!("1e-12 for 2^40 items needs more than 64 hash bits");
        };
        assert!(BloomPlan::for_rate(items, lowest).is_ok());
    }
}
