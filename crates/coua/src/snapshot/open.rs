//! [`Load`]: from a snapshot, wherever it is, to a filter.

use std::io::Read;
#[cfg(feature = "file")]
use std::{fs::File, path::Path};

use crate::filter::CuckooFilter;
use crate::snapshot::error::LoadError;
use crate::snapshot::header::SecretKey;
use crate::snapshot::load::{load, load_stream};

/// Reads a snapshot as a [`CuckooFilter`](crate::CuckooFilter), or as
/// [`Generations`](crate::window::Generations), which also take the snapshot of a filter that never forgets.
///
/// Every byte is checked, before memory is taken for it, unless a file is [mapped](Self::map).
///
/// ```
/// use coua::{CuckooFilter, KeyHasher, Load};
///
/// let secret = *b"0123456789abcdef";
/// let mut seen = CuckooFilter::builder().hasher(KeyHasher::siphash13(secret)).build()?;
/// seen.insert("kestrel")?;
/// let mut bytes = Vec::new();
/// seen.write_to(&mut bytes)?;
///
/// let copy: CuckooFilter = Load::new().key(secret).bytes(&bytes)?;
/// assert!(copy.contains("kestrel"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
#[must_use = "nothing is read until `open`, `bytes` or a method like them is called"]
pub struct Load {
    key: SecretKey,
    length: Option<u64>,
}

impl std::fmt::Debug for Load {
    /// Keeps the secret key to itself.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Load {
    /// Reads snapshots of filters without a secret key.
    pub fn new() -> Self {
        Self::default()
    }

    /// The secret SipHash key of the filter, if it has one.
    pub fn key(self, key: impl Into<Option<[u8; 16]>>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// The snapshot is only the first `bytes` bytes of the file, because something else follows it.
    pub fn length(self, bytes: u64) -> Self {
        Self { length: Some(bytes), ..self }
    }

    /// Reads a snapshot from memory. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for every damaged or foreign byte.
    pub fn bytes<F: Snapshot>(self, bytes: &[u8]) -> Result<F, LoadError> {
        F::read(std::io::Cursor::new(bytes), bytes.len() as u64, self.key)
    }

    /// Reads a snapshot from a stream, to its end. O(bytes), which are held in memory in addition to the
    /// filter meanwhile.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and those of the stream.
    pub fn reader<F: Snapshot>(self, input: impl Read) -> Result<F, LoadError> {
        // Only filters that never forget can be streamed: the table of the others is found from their end.
        load_stream(input, self.key).map(F::from)
    }

    /// Reads a file, or a pipe. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and those of the file system.
    #[cfg(feature = "file")]
    pub fn open<F: Snapshot>(self, path: impl AsRef<Path>) -> Result<F, LoadError> {
        self.file(&File::open(path)?)
    }

    /// [`open`](Self::open) for a file that is open already: a regular one is read from its beginning.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "file")]
    pub fn file<F: Snapshot>(self, file: &File) -> Result<F, LoadError> {
        self.regular(file, |file, bytes, key| F::read(file, bytes, key))
    }

    /// Opens a snapshot without reading it: the file is mapped, and only what an operation touches
    /// comes into memory. O(segments + overflow tables), under a millisecond for a million items.
    ///
    /// Changes stay in memory, on private copies of the pages they touch; the file is never written.
    /// Growth takes ordinary memory.
    ///
    /// Everything but the segments is checked as in [`open`](Self::open). Damage in a segment gives wrong
    /// answers, and a wrong number of items, where `open` would give an error; no access leaves the
    /// mapping, and no operation does unbounded work. [Verify](crate::window::Generations::verify) a file
    /// of doubtful origin first.
    ///
    /// The file must not be changed or truncated while the filter exists; replacing it, as
    /// [`save_atomically`](crate::CuckooFilter::save_atomically) does, is safe: this filter keeps
    /// the old one.
    ///
    /// Where mapping is not possible (a pipe, a file system or platform without it, overlapping
    /// buckets) the file is read.
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
    /// seen.save_atomically(&path)?;
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

    /// [`map`](Self::map) for a file that is open already; it may be closed afterwards.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "mmap")]
    pub fn map_file<F: Snapshot>(self, file: &File) -> Result<F, LoadError> {
        self.regular(file, F::map)
    }

    /// Calls `read` at the beginning of a regular file; any other file is read as a stream.
    #[cfg(feature = "file")]
    fn regular<F: Snapshot>(
        self,
        mut file: &File,
        read: impl FnOnce(&File, u64, SecretKey) -> Result<F, LoadError>,
    ) -> Result<F, LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return self.reader(file);
        }
        std::io::Seek::rewind(&mut file)?;
        read(file, self.length.unwrap_or(metadata.len()), self.key)
    }
}

/// What a snapshot can be read as.
pub trait Snapshot: sealed::Snapshot {}

impl<F: sealed::Snapshot> Snapshot for F {}

pub(crate) mod sealed {
    use super::{CuckooFilter, LoadError, SecretKey, load};
    use std::io::{Read, Seek};

    /// Reads the snapshot of one filter, unless it knows others.
    pub trait Snapshot: From<CuckooFilter> {
        /// Reads a snapshot that is the first `bytes` bytes of the input, which stands at its beginning.
        fn read(input: impl Read + Seek, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
            load(input, bytes, key).map(Self::from)
        }

        /// [`read`](Self::read), but what can be mapped is used in place.
        #[cfg(feature = "mmap")]
        fn map(file: &std::fs::File, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
            CuckooFilter::map_part(file, 0..bytes, key).map(Self::from)
        }
    }
}

impl sealed::Snapshot for CuckooFilter {}
