//! Checking the bytes of a snapshot without making a filter of them.

use std::io::{self, BufRead, BufReader, Read};

use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::fields::Summed;
use crate::snapshot::front::Front;

/// Bytes that are read at a time to be checked.
const CHECK_STEP: usize = 1 << 18;

/// Checks the snapshot of one filter in the next `bytes` bytes.
pub(crate) fn verify(input: impl Read, bytes: u64) -> Result<(), LoadError> {
    let mut input = BufReader::with_capacity(CHECK_STEP, input.take(bytes));
    let front = Front::read(&mut input, bytes)?;
    for (number, row) in (0..).zip(&front.rows) {
        let mut segment = Summed::new(&mut input, row.bytes);
        segment.drain()?;
        segment.check(row.checksum, Part::Segment(number))?;
    }
    front.overflow_bytes(&mut input).map(drop)
}

impl<R: BufRead> Summed<R> {
    /// Reads all of it, without copying what is buffered.
    fn drain(&mut self) -> io::Result<()> {
        loop {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                filled => filled?,
            };
            let read = bytes.len();
            if read == 0 {
                return Ok(());
            }
            self.sum.update(bytes);
            self.input.consume(read);
        }
    }
}
