//! The secret key of a filter's hash.

use crate::terminal::{Failure, Result, counted};
use std::cell::OnceCell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where the secret key of a filter is, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Secret {
    file: Option<PathBuf>,
    /// What was in the file. It is read once: it may be a pipe.
    key: OnceCell<[u8; 16]>,
}

impl Secret {
    pub(crate) fn in_file(file: Option<PathBuf>) -> Self {
        Self { file, key: OnceCell::new() }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The key, if there is one.
    pub(crate) fn key(&self) -> Result<Option<[u8; 16]>> {
        let Some(file) = &self.file else { return Ok(None) };
        if self.key.get().is_none() {
            self.key.set(read_key(file)?).ok();
        }
        Ok(self.key.get().copied())
    }
}

impl fmt::Debug for Secret {
    /// Keeps the key to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("file", &self.file).finish_non_exhaustive()
    }
}

/// More than any form of a key takes.
const MOST_OF_KEY_FILE: usize = 64;

/// Reads a SipHash key: 16 bytes as they are, or 32 hexadecimal digits and perhaps a newline.
pub(crate) fn read_key(path: &Path) -> Result<[u8; 16]> {
    let mut content = Vec::new();
    let mut read = |file: File| file.take(MOST_OF_KEY_FILE as u64).read_to_end(&mut content);
    File::open(path).and_then(&mut read).map_err(|error| Failure::io(path.display(), &error))?;
    if let Ok(key) = <[u8; 16]>::try_from(content.as_slice()) {
        return Ok(key);
    }
    hexadecimal(content.trim_ascii()).ok_or_else(|| {
        let found = counted(content.len() as u64, "byte");
        let or_more = if content.len() == MOST_OF_KEY_FILE { " or more" } else { "" };
        let reason = format!(
            "is not a hash key (found {found}{or_more}, expected 16 bytes or 32 hexadecimal digits)"
        );
        Failure::at(path.display(), reason)
    })
}

fn hexadecimal(digits: &[u8]) -> Option<[u8; 16]> {
    let are_enough = digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| are_enough)?;
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::hexadecimal as hexadecimal_text;

    #[test]
    fn keys_in_hexadecimal() {
        let key = hexadecimal(b"000102030405060708090a0b0c0d0e0F").unwrap();
        assert_eq!(key, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(hexadecimal_text(key), "000102030405060708090a0b0c0d0e0f");
        assert!(hexadecimal(b"00").is_none());
        assert!(hexadecimal(&[b'g'; 32]).is_none());
    }
}
