//! Checking the bytes of a snapshot without making a filter of them.

use std::io::{BufReader, Read};

use xxhash_rust::xxh3::Xxh3;

use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::front::Front;

/// Bytes that are read at a time to be checked.
const CHECK_STEP: usize = 1 << 18;

/// Checks the snapshot of one filter in the next `bytes` bytes.
pub(crate) fn verify(input: impl Read, bytes: u64) -> Result<(), LoadError> {
    let mut input = BufReader::with_capacity(CHECK_STEP, input.take(bytes));
    let front = Front::read(&mut input, bytes)?;
    let mut piece = vec![0; CHECK_STEP];
    for (number, row) in (0..).zip(&front.rows) {
        let mut left = front.segment_bytes(row);
        let mut sum = Xxh3::new();
        while left > 0 {
            let some = left.min(CHECK_STEP as u64);
            let part = &mut piece[..some as usize];
            input.read_exact(part)?;
            sum.update(part);
            left -= some;
        }
        if sum.digest() != row.checksum {
            return Err(LoadError::Checksum { part: Part::Segment(number) });
        }
    }
    front.overflow_bytes(&mut input).map(drop)
}
