//! Memory of other structures in bytes, by their papers.

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
    }
}
