//! The content of files that are appended to.

use crate::input::{BlockReader, Coding, Inputs, last_bytes};
use crate::record::{Block, RecordFormat};
use crate::terminal::{CancelToken, Failure, Result, message};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// Whether a compressed file has content that does not end with `end`. Reads the whole file. Returns an error if what
/// is appended could not be read.
pub(super) fn lacks_end_when_unpacked(path: &Path, end: &[u8]) -> Result<bool> {
    let last = last_bytes(path, end.len()).map_err(|error| {
        let reason = message::reason(&error);
        let text = format_args!("cannot be appended to: {reason}; choose another output");
        Failure::at(path.display(), text)
    })?;
    Ok(!last.is_empty() && last != end)
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
    let first_block = |stop| {
        let format = RecordFormat::Byte(b'\n');
        let inputs = Inputs::new(&[path.to_owned()], coding);
        let mut reader = BlockReader::new(inputs, format, None, Arc::new(stop), Arc::default());
        reader.next_block(&mut Block::default())
    };
    !matches!(CancelToken::new().and_then(first_block), Ok(false))
}
