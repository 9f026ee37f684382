//! How many new records a filter mistakes for repeats, because it cannot distinguish their hashes from others.
//!
//! A filter that remembers H bits of every hash distinguishes C = 2^H hashes. With n of them in it, a new record is
//! mistaken for a repeat with probability r = n / C, and passes with probability 1 - r.

/// Shares of all hashes below this value are small.
const SMALL: f64 = 1e-3;

/// The number of `records` different records that are expected to be mistaken for repeats.
pub(crate) fn in_stream(records: u64, hash_bits: f64) -> f64 {
    let hashes = hash_bits.exp2();
    let share = records as f64 / hashes;
    // The stream leaves 1 - e^-share of all hashes in the filter. The subtraction would lose small shares.
    let lost = if share < SMALL { share * share / 2.0 } else { share + (-share).exp_m1() };
    hashes * lost
}

/// The number of repeats that are expected to be new records, if the filter had the two `items` numbers before and after.
///
/// Only the records that passed show how many are new: for each of them r / (1 - r) others were dropped on average. If
/// every hash is in the filter, nothing passes, and each repeat may be a new record.
pub(crate) fn among_repeats(new: u64, repeats: u64, items: [u64; 2], hash_bits: f64) -> f64 {
    let hashes = hash_bits.exp2();
    // A window forgets items: then there are fewer at the end.
    let [start, end] = [items[0].min(items[1]), items[1]];
    if hashes - (end as f64) < 1.0 {
        return repeats as f64;
    }
    let added = until(end as f64, hashes) - until(start as f64, hashes);
    let more = end - start;
    if new < more {
        // Other processes added items too.
        return added * new as f64 / more as f64;
    }
    // Others were inserted for items that a window forgot, while the filter was as full as at the end.
    added + (new - more) as f64 * end as f64 / (hashes - end as f64)
}

/// The number of removed records that are expected to have taken the hash of another record from a filter that had
/// `items` items before, if the records are those of a `dedup`.
///
/// While `dedup` filled the filter, it mistook each record for a repeat with probability r / 2 on average; removing one
/// such record removes another. A record that was never added is not found with probability 1 - r.
pub(crate) fn among_removed(found: u64, not_found: u64, items: u64, hash_bits: f64) -> f64 {
    let share = (items as f64 / hash_bits.exp2()).min(0.5);
    let expected = found as f64 * share / 2.0 + not_found as f64 * share / (1.0 - share);
    expected.min(found as f64)
}

/// The sum of r / (1 - r) while a filter that distinguishes `hashes` hashes grew to `items` items.
fn until(items: f64, hashes: f64) -> f64 {
    let share = items / hashes;
    if share < SMALL {
        // The logarithm's first terms: the subtraction would lose small shares.
        let (third, fourth) = (share / 3.0, share * share / 4.0);
        return items * share * (0.5 + third + fourth);
    }
    -hashes * (-share).ln_1p() - items
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// De-duplicates `records` different records; returns the expected and the actual number of dropped records.
    fn dedup(records: u64, hash_bits: u32) -> (f64, f64) {
        let hash = |record: u64| coua::KeyHasher::default().hash(record.to_le_bytes()).to_u64();
        let seen: HashSet<_> = (0..records).map(|it| hash(it) >> (64 - hash_bits)).collect();
        let new = seen.len() as u64;
        let repeats = records - new;
        (among_repeats(new, repeats, [0, new], f64::from(hash_bits)), repeats as f64)
    }

    /// At rates from 1e-3 to 1.
    #[test]
    fn expectation_is_near_the_truth() {
        for (records, hash_bits, tolerance) in [
            (300_000, 8, 0.01),
            (300_000, 12, 0.1),
            (300_000, 16, 0.1),
            (300_000, 18, 0.02),
            (300_000, 20, 0.02),
            (300_000, 24, 0.05),
            (100_000, 26, 0.2),
        ] {
            let (expected, dropped) = dedup(records, hash_bits);
            let error = (expected / dropped - 1.0).abs();
            assert!(error < tolerance, "{hash_bits} bits: {expected} for {dropped}");
            let planned = in_stream(records, f64::from(hash_bits));
            assert!((planned / dropped - 1.0).abs() < tolerance, "{hash_bits} bits: {planned}");
        }
    }

    #[test]
    fn small_shares_keep_their_digits() {
        let billion = 1_000_000_000;
        let expected = (billion as f64).powi(2) / 65_f64.exp2();
        assert!((in_stream(billion, 64.0) / expected - 1.0).abs() < 1e-9);
        let counted = among_repeats(billion, billion, [0, billion], 64.0);
        assert!((counted / expected - 1.0).abs() < 1e-9);
        assert!(in_stream(0, 8.0).abs() < 1e-9);
    }

    /// A window that always holds 128 of 256 hashes lets half of the new records pass.
    #[test]
    fn items_that_a_window_forgot_are_counted() {
        for items in [[128, 128], [200, 128]] {
            assert!((among_repeats(10, 10, items, 8.0) - 10.0).abs() < 1e-9);
        }
        assert!((among_repeats(10, 10, [300, 256], 8.0) - 10.0).abs() < 1e-9);
        let grown = among_repeats(128, 0, [0, 128], 8.0);
        let error = among_repeats(1_000_128, 0, [0, 128], 8.0) - 1_000_000.0 - grown;
        assert!(error.abs() < 1e-3, "{error}");
    }
}
