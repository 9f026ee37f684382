//! How large a filter of the peer may be here.

use super::error::TooLarge;

/// Limits of the server that holds the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that all sub-filters together may take.
    pub bytes: u64,
    /// Sub-filters with which an insert is refused; the peer's `cf-max-expansions`.
    pub sub_filters: u32,
}

impl Default for Limits {
    /// 1 TiB, and the peer's limit of growth.
    fn default() -> Self {
        Self { bytes: 1 << 40, sub_filters: 32 }
    }
}

impl Limits {
    /// Whether a filter may take so many bytes.
    pub(super) fn check(&self, bytes: u64) -> Result<(), TooLarge> {
        if bytes <= self.bytes { Ok(()) } else { Err(TooLarge { bytes, limit: self.bytes }) }
    }
}
