//! What stands in an output behind the last checkpoint of an interrupted run.

use super::job::InputPlan;
use crate::input::{BlockReader, Coding, bytes_from};
use crate::record::{Block, RecordFormat};
use crate::runs::{Place, Run};
use crate::terminal::{CancelToken, Failure, Result, counted};
use std::io::{self, ErrorKind, Read};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

impl InputPlan {
    /// Returns an error unless the bytes behind a place in an output are what the run has written there after its last
    /// checkpoint: records of its inputs, in their order. Only such bytes may be cut off.
    pub(super) fn check_rest(&self, run: &Run, place: &Place, coding: Coding) -> Result<()> {
        let (bytes, name) = (place.bytes_after(), place.path.display());
        // Fewer bytes would not be recognized as compressed. What came from a stream cannot be compared.
        let is_short = bytes < 10 && (bytes == 0 || coding.is_decompressed);
        if is_short || run.inputs().next().is_none() {
            return Ok(());
        }
        let stop = Arc::new(CancelToken::new()?);
        match self.is_of_inputs(run, place, coding, stop) {
            Ok(true) => Ok(()),
            Err(error) if error.raw_os_error().is_some() => Err(Failure::io(name, &error)),
            _ => {
                let (bytes, offset) = (counted(bytes, "byte"), place.offset);
                let reason = format!(
                    "{bytes} at its end are not all what an interrupted {} wrote, and would be lost; keep yours in \
                     another file, cut off all of them with `truncate -s {offset} FILE`, and try again",
                    run.name()
                );
                Err(Failure::at(name, reason))
            }
        }
    }

    fn is_of_inputs(
        &self,
        run: &Run,
        place: &Place,
        coding: Coding,
        stop: Arc<CancelToken>,
    ) -> io::Result<bool> {
        let format = &self.hashing.format;
        let bytes = bytes_from(&place.path, place.offset, coding, &stop)?;
        let mut rest = Rest { bytes, next: Vec::new(), at: 0, is_ended: false };
        if place.note > 0 {
            rest.pass(b"", format)?;
        }
        let inputs: Vec<PathBuf> = run.inputs().map(|input| input.path.clone()).collect();
        let inputs = self.inputs.others(&inputs);
        let mut reader = BlockReader::new(inputs, format.clone(), None, stop, Arc::default());
        let mut block = Block::default();
        // A failure of an input is reported when the run comes there.
        while !rest.is_empty()? && matches!(reader.next_block(&mut block), Ok(true)) {
            let Some(input) = run.inputs().nth(block.input) else { break };
            // The last one may have grown since.
            let done = input.records.saturating_sub(u64::from(input.note > 0));
            let mut records =
                block.records().skip(done.saturating_sub(block.records_before) as usize);
            records.try_for_each(|record| rest.pass(record, format))?;
            if block.failure.is_some() {
                break;
            }
        }
        rest.is_empty()
    }
}

/// The bytes that are not known to be of the inputs.
struct Rest<R> {
    bytes: R,
    /// Those that were read: from `at` on.
    next: Vec<u8>,
    at: usize,
    is_ended: bool,
}

impl<R: Read> Rest<R> {
    const PIECE: u64 = 1 << 16;

    /// The next bytes: this many, or all. Data that is cut off within a compressed frame ends there.
    fn next(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.next.len() - self.at < bytes && !self.is_ended {
            self.next.drain(..mem::take(&mut self.at));
            match (&mut self.bytes).take(Self::PIECE).read_to_end(&mut self.next) {
                Ok(read) => self.is_ended = read == 0,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.is_ended = true,
                Err(error) => return Err(error),
            }
        }
        let next = &self.next[self.at..];
        Ok(&next[..bytes.min(next.len())])
    }

    fn is_empty(&mut self) -> io::Result<bool> {
        Ok(self.next(1)?.is_empty())
    }

    /// Passes a record with its separator, if it comes next. The last one may be cut off.
    fn pass(&mut self, record: &[u8], format: &RecordFormat) -> io::Result<()> {
        let separator = format.bytes();
        let content = record.strip_suffix(separator).unwrap_or(record);
        let next = self.next(content.len() + separator.len())?;
        let (start, end) = next.split_at(content.len().min(next.len()));
        if content.starts_with(start) && separator.starts_with(end) {
            let (passed, is_whole) = (next.len(), next.len() == content.len() + separator.len());
            self.at += if is_whole || self.is_ended { passed } else { 0 };
        }
        Ok(())
    }
}
