//! The sizes of the peer's Bloom filters, computed with the same steps in the same order.

use super::options::Sizing;

/// ln 2 and its square with as many digits as the peer gives them.
#[expect(clippy::approx_constant, reason = "ln 2 itself would now and then ask for another hash")]
const LN_2: f64 = 0.693_147_180_559_945;
const LN_2_SQUARED: f64 = 0.480_453_013_918_201;
/// The smallest error rate there is, 5e-324, takes 1075.
pub(super) const MAX_HASHES: u32 = 1100;

/// The numbers of a Bloom filter of the chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Numbers {
    /// Items until the chain grows.
    pub(super) entries: u64,
    pub(super) error: f64,
    pub(super) bits_per_entry: f64,
    pub(super) hashes: u32,
    /// Bits of the array; 0 in old dumps with `log2_bits`.
    pub(super) bits: u64,
    /// Of a filter whose bits are a power of two; otherwise 0.
    pub(super) log2_bits: u8,
    pub(super) bytes: u64,
}

impl Numbers {
    /// A filter for so many entries with such a rate; none where the peer makes none either.
    pub(super) fn plan(entries: u64, error: f64, sizing: Sizing) -> Option<Self> {
        let has_rate = error > 0.0 && error < 1.0;
        let bits_per_entry = (error.ln() / LN_2_SQUARED).abs();
        let wanted = entries as f64 * bits_per_entry;
        if entries == 0 || !has_rate || wanted >= 2_f64.powi(63) {
            return None;
        }
        let (bits, log2_bits) = match sizing {
            Sizing::Exact => ((wanted as u64).max(1), 0),
            Sizing::PowerOfTwo => power_above(wanted)?,
            Sizing::Bits => return None,
        };
        let spare = if log2_bits == 0 { 0.0 } else { bits as f64 - wanted };
        let more = (spare as u64 as f64 / bits_per_entry) as u64;
        let bytes = bits.div_ceil(64) * 8;
        let hashes = hashes(bits_per_entry)?;
        let entries = entries.checked_add(more)?;
        Some(Self { entries, error, bits_per_entry, hashes, bits: bytes * 8, log2_bits, bytes })
    }

    /// The filter after this one in a chain that grows so many times.
    pub(super) fn next(&self, growth: u32, sizing: Sizing) -> Option<Self> {
        Self::plan(self.entries.checked_mul(u64::from(growth))?, self.error * 0.5, sizing)
    }

    /// Places that the hashes are spread over.
    pub(super) fn modulus(&self) -> u64 {
        if self.log2_bits > 0 { 1 << self.log2_bits } else { self.bits }
    }
}

/// Hashes that so many bits an entry are set by; none if no error rate asks for them.
pub(super) fn hashes(bits_per_entry: f64) -> Option<u32> {
    let hashes = (LN_2 * bits_per_entry).ceil();
    (hashes >= 1.0 && hashes <= f64::from(MAX_HASHES)).then_some(hashes as u32)
}

/// The power of two above `wanted`, which is at least 1, and its logarithm.
fn power_above(wanted: f64) -> Option<(u64, u8)> {
    let floor = (wanted.to_bits() >> 52).checked_sub(1023)?;
    let log2 = u8::try_from(floor + 1).ok().filter(|log2| *log2 < 64)?;
    Some((1 << log2, log2))
}
