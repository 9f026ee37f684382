//! Checking the bytes of a snapshot without making a filter of them.

use std::io::{self, BufWriter, Read};

use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::fields::Summed;
use crate::snapshot::front::Front;

/// Bytes that are read at a time to be checked.
const CHECK_STEP: usize = 1 << 18;

/// Checks the snapshot of one filter in the next `bytes` bytes.
pub(crate) fn verify(input: impl Read, bytes: u64) -> Result<(), LoadError> {
    let mut input = input.take(bytes);
    let front = Front::read(&mut input, bytes)?;
    // `copy` reads into the buffer of the writer.
    let mut nowhere = BufWriter::with_capacity(CHECK_STEP, io::sink());
    for (number, row) in (0..).zip(&front.rows) {
        let mut segment = Summed::new(&mut input, row.bytes);
        io::copy(&mut segment, &mut nowhere)?;
        segment.check(row.checksum, Part::Segment(number))?;
    }
    front.overflow_bytes(&mut input).map(drop)
}
