//! How far a program was when it committed, so that it can go on from there.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::fields::{Fields, put_u32, put_u64};
use crate::journal::{MOST_PAYLOAD, TURN_BYTES};
use crate::lock::inode_of;

/// Bytes before a position that must still be the same.
const TAIL: u64 = 4096;

/// Of a progress without its note and its places, and of a place without its path.
const NUMBERS_BYTES: u64 = 16;
const PLACE_BYTES: u64 = 48;

/// How far a program had come; kept with the filter, and committed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records dealt with.
    pub records: u64,
    /// Whatever else the program needs to go on.
    pub note: Vec<u8>,
    /// Positions in inputs and outputs, in the program's own order.
    pub places: Vec<Place>,
}

/// What a file is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read, and may have grown since.
    Input,
    /// It is written, and to be cut to the position.
    Output,
}

/// A position in a file, and how to recognise the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Read or written.
    pub role: Role,
    /// Its name.
    pub path: PathBuf,
    /// Device and inode (0 where the system has none).
    pub inode: (u64, u64),
    /// Bytes of the file at the time.
    pub size: u64,
    /// Bytes dealt with.
    pub offset: u64,
    /// Checksum of the last 4096 bytes before the offset, or of all if there are fewer.
    pub tail: u64,
}

/// Why a program cannot go on with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Moved {
    /// It cannot be looked at.
    Io(io::Error),
    /// Another file has its name.
    Replaced,
    /// It is shorter than it was.
    Shorter {
        /// Bytes now.
        found: u64,
        /// Bytes at least.
        expected: u64,
    },
    /// The bytes before the position are others.
    Changed {
        /// The position.
        offset: u64,
    },
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Replaced => f.write_str("is another file than the one of the run to go on with"),
            Self::Shorter { found, expected } => write!(
                f,
                "is {found} bytes long but had at least {expected} when the run was interrupted"
            ),
            Self::Changed { offset } => {
                write!(f, "was changed before byte {offset}, where the run is to go on")
            }
        }
    }
}

impl std::error::Error for Moved {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Moved {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Place {
    /// The position `offset` of a regular file that is open for reading.
    ///
    /// # Errors
    ///
    /// Those of reading.
    ///
    /// ```
    /// use coua_store::{Place, Role};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("lines");
    /// std::fs::write(&path, "a\nb\n")?;
    /// let place = Place::of(Role::Input, &path, 2)?;
    /// assert!(place.check().is_ok());
    /// std::fs::write(&path, "x\nb\n")?;
    /// assert!(place.check().unwrap_err().to_string().contains("changed"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(role: Role, path: &Path, offset: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            role,
            path: path.to_owned(),
            inode: inode_of(&metadata),
            size: metadata.len(),
            offset,
            tail: tail_of(&file, offset)?,
        })
    }

    /// Whether the file is still the one that the position was taken in.
    ///
    /// See the example of [`of`](Self::of).
    ///
    /// # Errors
    ///
    /// [`Moved`]: how it differs.
    pub fn check(&self) -> Result<(), Moved> {
        let metadata = fs::metadata(&self.path)?;
        if inode_of(&metadata) != self.inode {
            return Err(Moved::Replaced);
        }
        let expected = match self.role {
            Role::Input => self.size.max(self.offset),
            Role::Output => self.offset,
        };
        if metadata.len() < expected {
            return Err(Moved::Shorter { found: metadata.len(), expected });
        }
        if tail_of(&File::open(&self.path)?, self.offset)? != self.tail {
            return Err(Moved::Changed { offset: self.offset });
        }
        Ok(())
    }
}

fn tail_of(mut file: &File, offset: u64) -> io::Result<u64> {
    let begin = offset.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(offset - begin).read_to_end(&mut bytes)?;
    Ok(xxh3_64(&bytes))
}

impl Progress {
    /// [`bytes`](Self::bytes) at most of what can be committed.
    pub const MOST_BYTES: u64 = MOST_PAYLOAD - TURN_BYTES;

    /// Bytes that it takes in the journal.
    ///
    /// ```
    /// use coua_store::Progress;
    /// let progress = Progress { records: 1, note: b"note".to_vec(), places: Vec::new() };
    /// assert_eq!(progress.bytes(), 8 + 4 + 4 + 4);
    /// ```
    pub fn bytes(&self) -> u64 {
        let path_bytes = |place: &Place| place.path.as_os_str().len() as u64;
        let places = self.places.iter().map(|place| PLACE_BYTES + path_bytes(place));
        NUMBERS_BYTES + self.note.len() as u64 + places.sum::<u64>()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.records);
        put_u32(out, self.note.len() as u32);
        out.extend_from_slice(&self.note);
        put_u32(out, self.places.len() as u32);
        for place in &self.places {
            let path = place.path.as_os_str().as_encoded_bytes();
            put_u32(out, if place.role == Role::Input { 1 } else { 2 });
            put_u32(out, path.len() as u32);
            out.extend_from_slice(path);
            let numbers = [place.inode.0, place.inode.1, place.size, place.offset, place.tail];
            for number in numbers {
                put_u64(out, number);
            }
        }
    }

    /// None if the bytes are not what `encode` writes.
    pub(crate) fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let records = fields.u64()?;
        let note_length = fields.u32()?;
        let note = fields.bytes(note_length as usize)?.to_vec();
        let mut places = Vec::new();
        for _ in 0..fields.u32()? {
            let role = match fields.u32()? {
                1 => Role::Input,
                2 => Role::Output,
                _ => return None,
            };
            let length = fields.u32()?;
            let path = path_of(fields.bytes(length as usize)?)?;
            let inode = (fields.u64()?, fields.u64()?);
            let (size, offset, tail) = (fields.u64()?, fields.u64()?, fields.u64()?);
            places.push(Place { role, path, inode, size, offset, tail });
        }
        Some(Self { records, note, places })
    }
}

/// As they were written: another platform's bytes may be no path here.
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    let path = Some(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    let path = std::str::from_utf8(bytes).ok().map(OsStr::new);
    path.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(place: &Place) -> Moved {
        place.check().unwrap_err()
    }

    #[test]
    fn files_that_differ_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text = vec![b'x'; 10_000];
        fs::write(&path, &text).unwrap();
        let input = Place::of(Role::Input, &path, 6_000).unwrap();
        let output = Place::of(Role::Output, &path, 6_000).unwrap();
        input.check().unwrap();
        // An output has grown beyond its position, or been cut to it.
        fs::write(&path, &text[..6_000]).unwrap();
        output.check().unwrap();
        assert!(matches!(moved(&input), Moved::Shorter { found: 6_000, expected: 10_000 }));
        fs::write(&path, &text[..5_999]).unwrap();
        assert!(matches!(moved(&output), Moved::Shorter { .. }));
        let mut other = text.clone();
        other[5_999] = b'y';
        fs::write(&path, &other).unwrap();
        assert!(matches!(moved(&input), Moved::Changed { offset: 6_000 }));
        let copy = folder.path().join("copy");
        fs::write(&copy, &text).unwrap();
        fs::rename(&copy, &path).unwrap();
        assert!(!cfg!(unix) || matches!(moved(&input), Moved::Replaced));
        fs::remove_file(&path).unwrap();
        assert!(matches!(moved(&input), Moved::Io(_)));
    }

    #[test]
    fn every_cut_of_the_bytes_is_refused() {
        let place = Place {
            role: Role::Output,
            path: "out".into(),
            inode: (1, 2),
            size: 3,
            offset: 4,
            tail: 5,
        };
        let progress =
            Progress { records: 9, note: b"note".to_vec(), places: vec![place.clone(), place] };
        let mut bytes = Vec::new();
        progress.encode(&mut bytes);
        assert_eq!(progress.bytes(), bytes.len() as u64);
        assert_eq!(Progress::decode(&mut Fields::new(&bytes)), Some(progress));
        for length in 0..bytes.len() {
            assert_eq!(Progress::decode(&mut Fields::new(&bytes[..length])), None);
        }
    }
}
