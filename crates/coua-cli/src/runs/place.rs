//! Positions in files, with checksums of what comes before.

use crate::terminal::message;
use coua::KeyHasher;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a file's first block, and of the block before a position.
const BLOCK: u64 = 4096;

/// The use of a file. The names are part of the file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// A file that is read, and may grow.
    #[default]
    Input,
    /// A file that is written, and truncated to the position when the run is resumed.
    Output,
    /// Like an output, with the repeats of another output.
    Repeats,
}

/// A position in a file. The file is recognized by its content: device and inode change when it is
/// copied, restored or rewritten by an editor, and a remount may change them for all files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Read or written.
    #[serde(skip)]
    pub(crate) role: Role,
    /// The absolute path.
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// Bytes done.
    pub(crate) offset: u64,
    /// Records done.
    pub(crate) records: u64,
    /// Whatever else the program notes about the file.
    pub(crate) note: u64,
    /// The checksum of the bytes before the offset.
    pub(crate) sum: Checksum,
}

/// A checksum (XXH3-64) of the bytes before a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Checksum {
    /// The checksum of the first and the last 4096 bytes, which overlap if there are fewer.
    Ends(u64),
    /// The checksum of all bytes of a compressed input. A decoder returns wrong bytes before it detects that its input is damaged,
    /// so they may have been processed.
    Whole(u64),
}

impl Default for Checksum {
    /// The checksum of no bytes.
    fn default() -> Self {
        Self::of_ends(b"", b"")
    }
}

impl Checksum {
    fn of_ends(first: &[u8], last: &[u8]) -> Self {
        Self::Ends(KeyHasher::default().hash([first, last].concat()).to_u64())
    }
}

/// The first and the last bytes of what was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Ends {
    /// Adds bytes that were read.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let few = bytes.len().min(BLOCK as usize - self.first.len());
        self.first.extend_from_slice(&bytes[..few]);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(BLOCK as usize)..]);
        self.last.drain(..self.last.len().saturating_sub(BLOCK as usize));
    }

    pub(crate) fn checksum(&self) -> Checksum {
        Checksum::of_ends(&self.first, &self.last)
    }
}

/// The reason why a run cannot continue with a file whose bytes before the position differ.
pub(crate) const CHANGED: &str = "no longer begins with what was processed";

impl Place {
    /// The beginning of an unread file.
    pub(crate) fn start(role: Role, path: &Path) -> Self {
        let (path, sum) = (path.to_owned(), Checksum::default());
        Self { role, path, offset: 0, records: 0, note: 0, sum }
    }

    /// The use and the path of the file.
    pub(crate) fn file(&self) -> (Role, &Path) {
        (self.role, &self.path)
    }

    /// Moves to another position, and computes the checksum there.
    pub(crate) fn move_to(&mut self, offset: u64) -> io::Result<()> {
        self.sum = ends(&File::open(&self.path)?, offset)?;
        self.offset = offset;
        Ok(())
    }

    /// The number of bytes in the file after the position.
    pub(crate) fn bytes_after(&self) -> u64 {
        let length = self.path.metadata().map_or(0, |metadata| metadata.len());
        length.saturating_sub(self.offset)
    }

    /// Returns the reason if the file does not begin with what was processed, whatever its device and inode. Reads all
    /// of that if it is compressed.
    pub(crate) fn check(&self) -> Result<(), String> {
        let failed = |error: io::Error| message::reason(&error);
        let file = File::open(&self.path).map_err(failed)?;
        let (found, expected) = (file.metadata().map_err(failed)?.len(), self.offset);
        if found < expected {
            return Err(format!(
                "is {found} bytes long, but {expected} bytes were already processed"
            ));
        }
        let found = match self.sum {
            Checksum::Ends(_) => ends(&file, expected),
            Checksum::Whole(_) => whole(&file, expected),
        };
        let is_same = found.map_err(failed)? == self.sum;
        if is_same { Ok(()) } else { Err(CHANGED.to_owned()) }
    }
}

/// The bytes from `begin` to `end`, at most a block.
fn block(mut file: &File, begin: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take((end - begin).min(BLOCK)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The checksum of the ends of the first bytes of a file.
fn ends(file: &File, bytes: u64) -> io::Result<Checksum> {
    let (first, last) = (block(file, 0, bytes)?, block(file, bytes.saturating_sub(BLOCK), bytes)?);
    Ok(Checksum::of_ends(&first, &last))
}

/// The checksum of the first bytes of a file.
fn whole(mut file: &File, bytes: u64) -> io::Result<Checksum> {
    file.rewind()?;
    let mut digest = Xxh3::new();
    io::copy(&mut file.take(bytes), &mut digest)?;
    Ok(Checksum::Whole(digest.digest()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// However it is cut into pieces.
    #[test]
    fn the_ends_of_what_was_read_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text: Vec<u8> = (0..20_000u32).map(|n| (n * n % 251) as u8).collect();
        for length in [0, 1, 4_095, 4_096, 4_097, 8_191, 8_192, 20_000] {
            fs::write(&path, &text).unwrap();
            let mut place = Place::start(Role::Input, &path);
            place.move_to(length as u64).unwrap();
            for piece in [1, 7, 4_095, 4_096, 5_000, 20_000] {
                let mut ends = Ends::default();
                text[..length].chunks(piece).for_each(|piece| ends.add(piece));
                assert_eq!(ends.checksum(), place.sum, "{length} {piece}");
            }
        }
    }

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
        fs::rename(&copy, &path).unwrap();
        place.check().unwrap();
        // Truncated, and changed at either end.
        let shorter = "is 5999 bytes long, but 6000 bytes were already processed";
        assert_eq!(with(&text[..5_999]), Err(shorter.to_owned()));
        let changed = |at: usize| {
            let mut other = text.clone();
            other[at] ^= 1;
            with(&other)
        };
        assert_eq!(changed(0), Err(CHANGED.to_owned()));
        assert_eq!(changed(5_999), Err(CHANGED.to_owned()));
        changed(6_000).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(place.check(), Err("No such file or directory".to_owned()));
    }
}
