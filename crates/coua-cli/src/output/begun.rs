//! The content of files that are appended to. It may be compressed, so it is read like an input.

use crate::input::{BlockReader, Coding, Inputs};
use crate::record::{Block, BlockEnd, RecordFormat};
use crate::terminal::{CancelToken, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// Calls a function with each block of a file.
fn each_block(
    path: &Path,
    format: RecordFormat,
    coding: Coding,
    mut see: impl FnMut(&Block),
) -> Result<()> {
    let (inputs, stop) = (Inputs::start_of(path, u64::MAX, coding), Arc::new(CancelToken::new()?));
    let mut reader = BlockReader::new(inputs, format, None, stop, Arc::default());
    let mut block = Block::default();
    while reader.next_block(&mut block)? {
        if let Some(failure) = block.failure.take() {
            return Err(failure);
        }
        see(&block);
    }
    Ok(())
}

/// Whether a compressed file ends within a record. Reads the whole file.
pub(super) fn lacks_separator(path: &Path, format: &RecordFormat) -> Result<bool> {
    let coding = Coding { is_decompressed: true, encoding: None };
    let mut lacks_it = false;
    let see = |block: &Block| lacks_it = block.ending != BlockEnd::Separator;
    each_block(path, format.clone(), coding, see)?;
    Ok(lacks_it)
}

/// Whether a file of `bytes` bytes is not empty and does not end with `end`.
pub(super) fn lacks_end(path: &Path, bytes: u64, end: &[u8]) -> io::Result<bool> {
    let (mut file, mut last) = (File::open(path)?, Vec::new());
    file.seek(SeekFrom::Start(bytes.saturating_sub(end.len() as u64)))?;
    file.read_to_end(&mut last)?;
    Ok(bytes > 0 && last != end)
}

/// Whether a file has any decompressed bytes. Read errors are reported later.
pub(super) fn has_bytes(path: &Path, coding: Coding) -> bool {
    let found = path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
    if !coding.is_decompressed || !found {
        return found;
    }
    let format = RecordFormat::Byte(b'\n');
    let mut has_some = false;
    each_block(path, format, coding, |block| has_some |= block.len() > 0).is_err() || has_some
}
