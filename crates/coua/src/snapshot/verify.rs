//! Checking the bytes of a snapshot without making a filter of them.

use std::io::Read;

use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::fields::{checksum_of, intact};
use crate::snapshot::front::Front;

/// Checks the snapshot of one filter in the next `bytes` bytes.
pub(crate) fn verify(input: impl Read, bytes: u64) -> Result<(), LoadError> {
    let mut input = input.take(bytes);
    let front = Front::read(&mut input, bytes)?;
    let mut segment = Vec::new();
    for (number, row) in (0..).zip(&front.rows) {
        segment.clear();
        input.by_ref().take(row.bytes).read_to_end(&mut segment)?;
        intact(&checksum_of(&segment), &row.checksum, Part::Segment(number))?;
    }
    front.overflow_bytes(&mut input).map(drop)
}
