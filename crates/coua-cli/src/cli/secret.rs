//! The secret key of a filter.

use crate::terminal::message::Failure;
use clap::Args;
use std::cell::OnceCell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The secret key of a filter's hash.
#[derive(Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct SecretArgs {
    /// Hash with SipHash-1-3 under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// For records that somebody hostile may choose. The filter file does not contain the key:
    /// every command on it needs this option.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,

    /// What was in the file. It is read once: it may be a pipe.
    #[arg(skip)]
    key: OnceCell<[u8; 16]>,
}

impl SecretArgs {
    /// The key, if there is one.
    pub(crate) fn key(&self) -> Result<Option<[u8; 16]>, Failure> {
        let Some(file) = &self.key_file else { return Ok(None) };
        if self.key.get().is_none() {
            self.key.set(read_key(file)?).ok();
        }
        Ok(self.key.get().copied())
    }
}

impl fmt::Debug for SecretArgs {
    /// Keeps the key to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretArgs").field("key_file", &self.key_file).finish_non_exhaustive()
    }
}

/// More than any form of a key takes.
const MOST_OF_KEY_FILE: usize = 64;

/// Reads a SipHash key: 16 bytes as they are, or 32 hexadecimal digits and perhaps a newline.
pub(crate) fn read_key(path: &Path) -> Result<[u8; 16], Failure> {
    let name = path.display();
    let mut content = Vec::new();
    let file = File::open(path).map_err(|error| Failure::io(&name, &error))?;
    file.take(MOST_OF_KEY_FILE as u64)
        .read_to_end(&mut content)
        .map_err(|error| Failure::io(&name, &error))?;
    if let Ok(key) = <[u8; 16]>::try_from(content.as_slice()) {
        return Ok(key);
    }
    hexadecimal(content.trim_ascii()).ok_or_else(|| {
        let found = match content.len() {
            MOST_OF_KEY_FILE => format!("{MOST_OF_KEY_FILE} bytes or more"),
            1 => "1 byte".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let reason =
            format!("is no hash key: expected 16 bytes or 32 hexadecimal digits, found {found}");
        Failure::at(&name, reason)
    })
}

/// A key as [`read_key`] reads it.
pub(crate) fn digits_of(key: [u8; 16]) -> String {
    format!("{:032x}", u128::from_le_bytes(key).swap_bytes())
}

fn hexadecimal(digits: &[u8]) -> Option<[u8; 16]> {
    let digits = <[u8; 32]>::try_from(digits).ok()?;
    let mut key = [0; 16];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_hexadecimal() {
        let key = hexadecimal(b"000102030405060708090a0b0c0d0e0F").unwrap();
        assert_eq!(key, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(digits_of(key), "000102030405060708090a0b0c0d0e0f");
        assert!(hexadecimal(b"00").is_none());
        assert!(hexadecimal(&[b'g'; 32]).is_none());
    }
}
