//! Positions in files, and how to recognize the file by its content.

#[cfg(not(target_family = "wasm"))]
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::log::{Fields, put_u32, put_u64};

/// Bytes of a file's first block, and of the block before a position.
const BLOCK: u64 = 4096;

/// How the program uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read, and may have grown since.
    Input,
    /// It is written, and is truncated to the position on resuming.
    Output,
}

/// A position in a file. The file is recognized by its content: device and inode change when it is
/// copied, restored or rewritten by an editor, and a remount may change them for all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Read or written.
    pub role: Role,
    /// Its name.
    pub path: PathBuf,
    /// Bytes done.
    pub offset: u64,
    /// Records done.
    pub records: u64,
    /// Whatever else the program notes about the file.
    pub note: u64,
    /// Checksum of the first 4096 bytes, or of those before the offset if there are fewer.
    pub head: u64,
    /// Checksum of the last 4096 bytes before the offset, or of all if there are fewer.
    pub tail: u64,
}

/// Why a program cannot continue with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Moved {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is shorter than the position.
    #[error("is {found} bytes long, but {expected} bytes of it were done")]
    Shorter {
        /// Bytes now.
        found: u64,
        /// Bytes at least.
        expected: u64,
    },
    /// It begins differently.
    #[error("begins differently than when the run was interrupted")]
    Start,
    /// The bytes before the position differ.
    #[error("was changed before byte {offset}, where the run would continue")]
    Changed {
        /// The position.
        offset: u64,
    },
}

impl Place {
    /// The beginning of a file, which has not been read.
    pub fn start(role: Role, path: &Path) -> Self {
        let none = xxh3_64(b"");
        Self { role, path: path.to_owned(), offset: 0, records: 0, note: 0, head: none, tail: none }
    }

    /// Moves to another position, and takes the checksums there.
    ///
    /// # Errors
    ///
    /// Those of reading; the place is then unchanged.
    ///
    /// ```
    /// use coua_store::{Place, Role};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("lines");
    /// std::fs::write(&path, "a\nb\n")?;
    /// let mut place = Place::start(Role::Input, &path);
    /// place.move_to(2)?;
    /// std::fs::write(&path, "a\nb\nc\n")?;
    /// assert!(place.check().is_ok());
    /// std::fs::write(&path, "x\nb\nc\n")?;
    /// assert!(place.check().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn move_to(&mut self, offset: u64) -> io::Result<()> {
        let file = File::open(&self.path)?;
        let head = block(&file, 0, offset)?;
        self.tail = block(&file, offset.saturating_sub(BLOCK), offset)?;
        (self.head, self.offset) = (head, offset);
        Ok(())
    }

    /// Whether the file begins with what was done of it, whatever its device and inode.
    ///
    /// # Errors
    ///
    /// [`Moved`]: how it differs.
    pub fn check(&self) -> Result<(), Moved> {
        self.check_at(&self.path)
    }

    /// [`check`](Self::check), for a file of another name.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn check_at(&self, path: &Path) -> Result<(), Moved> {
        let file = File::open(path)?;
        let (found, expected) = (file.metadata()?.len(), self.offset);
        if found < expected {
            return Err(Moved::Shorter { found, expected });
        }
        if block(&file, 0, self.offset)? != self.head {
            return Err(Moved::Start);
        }
        if block(&file, self.offset.saturating_sub(BLOCK), self.offset)? != self.tail {
            return Err(Moved::Changed { offset: self.offset });
        }
        Ok(())
    }

    /// Bytes of a place without its path.
    pub(crate) const BYTES: u64 = 8 + 40;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let path = self.path.as_os_str().as_encoded_bytes();
        put_u32(out, if self.role == Role::Input { 1 } else { 2 });
        put_u32(out, path.len() as u32);
        out.extend_from_slice(path);
        self.encode_position(out);
    }

    pub(crate) fn encode_position(&self, out: &mut Vec<u8>) {
        for number in [self.offset, self.records, self.note, self.head, self.tail] {
            put_u64(out, number);
        }
    }

    /// None if the bytes are not what `encode` writes.
    pub(crate) fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let role = role_of(fields.u32()?)?;
        let length = fields.u32()?;
        let path = path_of(fields.bytes(length as usize)?)?;
        let mut place = Self::start(role, &path);
        place.decode_position(fields)?;
        Some(place)
    }

    pub(crate) fn decode_position(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        (self.offset, self.records, self.note) = (fields.u64()?, fields.u64()?, fields.u64()?);
        (self.head, self.tail) = (fields.u64()?, fields.u64()?);
        Some(())
    }
}

/// The checksum of at most a block of bytes from `begin` to `end`.
fn block(mut file: &File, begin: u64, end: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take((end - begin).min(BLOCK)).read_to_end(&mut bytes)?;
    Ok(xxh3_64(&bytes))
}

pub(crate) fn role_of(number: u32) -> Option<Role> {
    match number {
        1 => Some(Role::Input),
        2 => Some(Role::Output),
        _ => None,
    }
}

/// As they were written: another platform's bytes may be no path here.
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    let path = Some(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    // The path is only shown there, not opened.
    #[cfg(target_family = "wasm")]
    let path = Some(String::from_utf8_lossy(bytes).into_owned());
    #[cfg(not(any(unix, target_family = "wasm")))]
    let path = std::str::from_utf8(bytes).ok().map(OsStr::new);
    path.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_known_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
        fs::write(&path, &text).unwrap();
        let mut place = Place::start(Role::Input, &path);
        place.check().unwrap();
        place.move_to(6_000).unwrap();
        let with = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            place.check()
        };
        // Grown, cut to the position, and replaced by an equal file.
        with(&[&text[..], b"more"].concat()).unwrap();
        with(&text[..6_000]).unwrap();
        let copy = folder.path().join("copy");
        fs::write(&copy, &text).unwrap();
        place.check_at(&copy).unwrap();
        fs::rename(&copy, &path).unwrap();
        place.check().unwrap();
        // Truncated, and changed at either end.
        assert!(matches!(
            with(&text[..5_999]),
            Err(Moved::Shorter { found: 5_999, expected: 6_000 })
        ));
        let changed = |at: usize| {
            let mut other = text.clone();
            other[at] ^= 1;
            with(&other)
        };
        assert!(matches!(changed(0), Err(Moved::Start)));
        assert!(matches!(changed(5_999), Err(Moved::Changed { offset: 6_000 })));
        changed(6_000).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(matches!(place.check(), Err(Moved::Io(_))));
    }
}
