//! Positions in files, and how to recognize the file by its content.

use crate::terminal::message;
use coua::KeyHasher;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a file's first block, and of the block before a position.
const BLOCK: u64 = 4096;

/// How the program uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is read, and may grow.
    Input,
    /// It is written, and truncated to the position when the run is resumed.
    Output,
}

/// A position in a file. The file is recognized by its content: device and inode change when it is
/// copied, restored or rewritten by an editor, and a remount may change them for all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Read or written.
    pub(crate) role: Role,
    /// Its name.
    pub(crate) path: PathBuf,
    /// Bytes done.
    pub(crate) offset: u64,
    /// Records done.
    pub(crate) records: u64,
    /// Whatever else the program notes about the file.
    pub(crate) note: u64,
    /// Checksum of the first 4096 bytes, or of those before the offset if there are fewer.
    pub(crate) head: u64,
    /// Checksum of the last 4096 bytes before the offset, or of all if there are fewer.
    pub(crate) tail: u64,
    /// Checksum of all bytes of a compressed input before the offset; otherwise 0. A decoder returns wrong bytes
    /// before it detects that its input is damaged, so they may have been processed before the offset.
    pub(crate) whole: u64,
}

/// Why a program cannot continue with a file.
#[derive(Debug)]
pub(crate) enum Moved {
    /// It cannot be read.
    Io(io::Error),
    /// It is shorter than the position.
    Shorter {
        /// Bytes now.
        found: u64,
        /// Bytes at least.
        expected: u64,
    },
    /// It begins differently.
    Start,
    /// Compressed bytes before the position differ.
    Damaged,
    /// The bytes before the position differ.
    Changed {
        /// The position.
        offset: u64,
    },
}

impl From<io::Error> for Moved {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => f.write_str(&message::reason(error)),
            Self::Shorter { found, expected } => {
                write!(f, "is {found} bytes long, but {expected} bytes were already processed")
            }
            Self::Start => f.write_str("its beginning has changed since the run was interrupted"),
            Self::Damaged => f.write_str(
                "its compressed bytes have changed since they were read, so earlier results may be wrong",
            ),
            Self::Changed { offset } => {
                write!(f, "was changed before byte {offset}, where the run would continue")
            }
        }
    }
}

impl Place {
    /// The beginning of an unread file.
    pub(crate) fn start(role: Role, path: &Path) -> Self {
        let none = checksum(b"");
        let path = path.to_owned();
        Self { role, path, offset: 0, records: 0, note: 0, head: none, tail: none, whole: 0 }
    }

    /// Moves to another position, and computes the checksums there.
    pub(crate) fn move_to(&mut self, offset: u64) -> io::Result<()> {
        let file = File::open(&self.path)?;
        let head = block(&file, 0, offset)?;
        self.tail = block(&file, offset.saturating_sub(BLOCK), offset)?;
        (self.head, self.offset) = (head, offset);
        Ok(())
    }

    /// Checks that the file begins with what was processed, whatever its device and inode.
    pub(crate) fn check(&self) -> Result<(), Moved> {
        self.check_at(&self.path)
    }

    /// [`check`](Self::check), for a file of another name.
    pub(crate) fn check_at(&self, path: &Path) -> Result<(), Moved> {
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

    /// [`check`](Self::check), which also reads all processed bytes of a compressed file.
    pub(crate) fn check_whole(&self) -> Result<(), Moved> {
        self.check()?;
        if self.whole != 0 && digest(&File::open(&self.path)?, self.offset)? != self.whole {
            return Err(Moved::Damaged);
        }
        Ok(())
    }

    /// Bytes of a position.
    pub(super) const POSITION_BYTES: usize = 48;

    pub(super) fn position(&self) -> [u8; Self::POSITION_BYTES] {
        let Self { offset, records, note, head, tail, whole, .. } = *self;
        let numbers = [offset, records, note, head, tail, whole];
        let mut bytes = [0; Self::POSITION_BYTES];
        for (field, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// None if [`position`](Self::position) did not write the bytes.
    pub(super) fn set_position(&mut self, bytes: &[u8]) -> Option<()> {
        let (fields, []) = bytes.as_chunks::<8>() else { return None };
        let fields: [_; 6] = fields.try_into().ok()?;
        [self.offset, self.records, self.note, self.head, self.tail, self.whole] =
            fields.map(u64::from_le_bytes);
        Some(())
    }
}

/// The checksum of some bytes: XXH3-64.
fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

/// The checksum of at most a block of bytes from `begin` to `end`.
fn block(mut file: &File, begin: u64, end: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take((end - begin).min(BLOCK)).read_to_end(&mut bytes)?;
    Ok(checksum(&bytes))
}

/// The checksum of the first bytes of a file.
fn digest(mut file: &File, bytes: u64) -> io::Result<u64> {
    file.rewind()?;
    let mut digest = Xxh3::new();
    let mut input = file.take(bytes);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(digest.digest()),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// The path of these bytes; none if they are not a path on this platform.
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    let path = Some(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
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
