//! [`Load`]: from a snapshot, wherever it is, to a filter.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::{Bound, RangeBounds};
use std::path::Path;

use crate::snapshot::error::LoadError;
use crate::snapshot::header::SecretKey;
use crate::snapshot::preamble::{InputLength, read_header};
#[cfg(feature = "mmap")]
use crate::snapshot::read::map;
use crate::snapshot::read::{Snapshot, read};

/// Reads a snapshot as a [`CuckooFilter`](crate::CuckooFilter), or as
/// [`Generations`](crate::window::Generations), which also accept the snapshot of a plain filter.
///
/// Every byte is checked, before memory is allocated for it, unless the snapshot is used in place, in a file that is
/// [mapped](Self::map).
///
/// ```
/// use coua::{CuckooFilter, KeyHasher, Load};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("seen.coua");
///
/// let secret = *b"0123456789abcdef";
/// let mut seen = CuckooFilter::builder().hasher(KeyHasher::SipHash13 { key: secret }).build()?;
/// seen.insert("kestrel")?;
/// seen.write_to(std::fs::File::create(&path)?)?;
///
/// let copy: CuckooFilter = Load::new().key(secret).open(&path)?;
/// assert!(copy.contains("kestrel"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
#[must_use = "nothing is read until `open`, `bytes` or a method like them is called"]
pub struct Load {
    key: SecretKey,
    begin: u64,
    end: Option<u64>,
    /// Whether other bytes may follow the snapshot.
    is_open: bool,
}

impl Load {
    /// Reads a file, or a pipe. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for every damaged or foreign byte, and the errors of the file system.
    pub fn open<F: Snapshot>(self, path: impl AsRef<Path>) -> Result<F, LoadError> {
        self.file(&File::open(path)?)
    }

    /// Reads whole snapshots of filters without a secret key.
    pub fn new() -> Self {
        Self::default()
    }

    /// The secret SipHash key of the filter, if it has one.
    pub fn key(self, key: impl Into<Option<[u8; 16]>>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Reads a snapshot from these bytes of the input: it begins with the first one. If the range has an end, the
    /// snapshot must end there too. If not, it ends where its header says, and other bytes may follow.
    ///
    /// Without a part, the snapshot is the whole input.
    ///
    /// ```
    /// use coua::{CuckooFilter, Load};
    /// use std::io::{Seek, Write};
    ///
    /// let mut file = tempfile::tempfile()?;
    /// file.write_all(&[7; 4096])?;
    /// let mut seen = CuckooFilter::new();
    /// seen.insert("a")?;
    /// seen.write_to(&mut file)?;
    /// let end = file.stream_position()?;
    /// file.write_all(b"index")?;
    ///
    /// for load in [Load::new().part(4096..), Load::new().part(4096..end)] {
    ///     let mapped: CuckooFilter = load.map_file(&file)?;
    ///     assert!(mapped.contains("a"));
    /// }
    /// assert!(Load::new().file::<CuckooFilter>(&file).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part(self, bytes: impl RangeBounds<u64>) -> Self {
        let begin = match bytes.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match bytes.end_bound() {
            Bound::Included(&last) => Some(last.saturating_add(1)),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => None,
        };
        Self { begin, end, is_open: end.is_none(), ..self }
    }

    /// Reads an open file; a regular file from its beginning, whatever its position.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn file<F: Snapshot>(self, mut file: &File) -> Result<F, LoadError> {
        let Some(input_length) = self.input_length_of(file)? else { return self.reader(file) };
        file.seek(SeekFrom::Start(self.begin))?;
        read(file, input_length, self.key)
    }

    /// Reads a snapshot from memory. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for every damaged or foreign byte.
    pub fn bytes<F: Snapshot>(self, bytes: &[u8]) -> Result<F, LoadError> {
        let input_length = self.input_length(bytes.len() as u64)?;
        read(&bytes[self.begin as usize..], input_length, self.key)
    }

    /// Reads a snapshot from a stream: to its end, or, for a [part](Self::part) without an end, exactly up to the
    /// snapshot's last byte. O(bytes), which are also held in memory meanwhile.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and those of the stream.
    pub fn reader<F: Snapshot>(self, input: impl Read) -> Result<F, LoadError> {
        let mut input = input.take(self.end.unwrap_or(u64::MAX));
        io::copy(&mut input.by_ref().take(self.begin), &mut io::sink())?;
        let (header, mut bytes) = read_header(&mut input)?;
        // One byte more, to detect appended bytes. Grows with what arrives, not with what the header states.
        let rest = header.length() - bytes.len() as u64 + u64::from(!self.is_open);
        input.take(rest).read_to_end(&mut bytes)?;
        let whole = InputLength { bytes: bytes.len() as u64, is_whole: true };
        read(&bytes[..], whole, self.key)
    }

    /// Opens a snapshot without reading it: the file is mapped, and only the pages that an operation touches
    /// are loaded. O(segments + overflow tables), under a millisecond for a million items.
    ///
    /// Changes stay in memory, on private copies of the pages they touch; the file is never written.
    /// Growth takes ordinary memory.
    ///
    /// Everything except the segments is checked as in [`open`](Self::open). Damage in a segment leads to wrong
    /// answers and a wrong number of items, where `open` would return an error; no access leaves the
    /// mapping, and no operation does unbounded work. [Check](crate::inspect::Contents::check) files
    /// that you do not trust first.
    ///
    /// The file must not be changed or truncated while the filter exists. A new file may be renamed to its name: this
    /// filter keeps the old one.
    ///
    /// If mapping is not possible (a pipe, a file system or platform without it), the file is
    /// read.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    ///
    /// ```
    /// use coua::{CuckooFilter, Load};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut seen = CuckooFilter::new();
    /// seen.insert("a")?;
    /// seen.write_to(std::fs::File::create(&path)?)?;
    /// let mut mapped: CuckooFilter = Load::new().map(&path)?;
    /// assert!(mapped.remove("a"));
    /// let unchanged: CuckooFilter = Load::new().map(&path)?;
    /// assert!(unchanged.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "mmap")]
    pub fn map<F: Snapshot>(self, path: impl AsRef<Path>) -> Result<F, LoadError> {
        self.map_file(&File::open(path)?)
    }

    /// [`map`](Self::map) for an open file, which may be closed afterwards. A [part](Self::part) of it may
    /// begin at any byte; a multiple of 64 is fastest.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "mmap")]
    pub fn map_file<F: Snapshot>(self, file: &File) -> Result<F, LoadError> {
        let Some(input_length) = self.input_length_of(file)? else { return self.reader(file) };
        map(file, self.begin, input_length, self.key)
    }

    /// The length of the snapshot in an input of `length` bytes.
    fn input_length(self, length: u64) -> Result<InputLength, LoadError> {
        let end = self.end.map_or(length, |end| end.min(length));
        match end.saturating_sub(self.begin) {
            0 => Err(LoadError::NotAFilter),
            bytes => Ok(InputLength { bytes, is_whole: !self.is_open }),
        }
    }

    /// The length of the snapshot in a regular file.
    fn input_length_of(self, file: &File) -> Result<Option<InputLength>, LoadError> {
        let metadata = file.metadata()?;
        if metadata.is_file() { self.input_length(metadata.len()).map(Some) } else { Ok(None) }
    }
}
