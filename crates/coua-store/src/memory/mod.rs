//! Decides whether a snapshot is mapped or read.
//!
//! Mapping costs the pages that the work touches. Reading costs the whole file once; memory with large pages is faster
//! afterwards. `docs/decisions/0009-map-or-load.md` has the reasons.

mod available;

use std::fs::File;

use coua::window::Generations;
use coua::{Load, LoadError};

pub use available::available;

/// Bytes that the work on a key touches in a generation: a page for each of its two buckets.
pub(crate) const KEY_BYTES: u64 = 2 * 4096;
/// Bytes that are read and checked in the time that a lookup takes longer in small pages than in large ones.
pub(crate) const LOOKUP_BYTES: u64 = 32;
/// Smaller files are read and checked in a few milliseconds.
const LEAST_MAPPED: u64 = 4 << 20;

/// How to load a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Map a large file, unless reading it costs less than the work on a mapped one.
    #[default]
    BySize,
    /// Map the file.
    Map,
    /// Read the file, and check every byte.
    Load,
}

impl Access {
    /// The touched bytes at which a mapped snapshot of `bytes` bytes moves into memory.
    fn most_touched(self, bytes: u64) -> u64 {
        match self {
            Self::BySize if bytes >= LEAST_MAPPED => bytes,
            Self::Map => u64::MAX,
            Self::BySize | Self::Load => 0,
        }
    }
}

/// The place of a filter's memory: the heap, or a mapped file.
#[derive(Debug)]
pub(crate) struct Residence {
    /// The file, if its snapshot is mapped.
    mapped: Option<File>,
    /// Bytes that changes may touch before the snapshot moves into memory. A page that is touched again counts again.
    left: u64,
}

impl Residence {
    /// The residence of a filter that is in memory.
    pub(crate) fn in_memory() -> Self {
        Self { mapped: None, left: 0 }
    }

    /// Loads the filter in the first `bytes` bytes of a file, for work that costs `work` bytes in a generation.
    pub(crate) fn load(
        access: Access,
        file: &File,
        bytes: u64,
        key: Option<[u8; 16]>,
        work: u64,
    ) -> Result<(Generations, Self), LoadError> {
        let load = || Load::new().part(..bytes).key(key);
        let most_touched = access.most_touched(bytes);
        if most_touched > 0 {
            let filter = load().map_file::<Generations>(file)?;
            if in_generations(&filter, work) < most_touched {
                return Ok((filter, Self { mapped: Some(file.try_clone()?), left: most_touched }));
            }
        }
        Ok((load().file::<Generations>(file)?, Self::in_memory()))
    }

    /// The file, if its snapshot is mapped.
    pub(crate) fn mapped(&self) -> Option<&File> {
        self.mapped.as_ref()
    }

    /// Counts changes of `keys` keys that follow. If the filter is mapped, copies it into memory with large pages once
    /// that costs less.
    pub(crate) fn prepare_changes(&mut self, filter: &mut Generations, keys: usize) {
        self.left = self.left.saturating_sub(in_generations(filter, keys as u64 * KEY_BYTES));
        // Without memory for a copy it stays mapped, which is slower but correct.
        if self.mapped.is_some()
            && self.left == 0
            && let Ok(copy) = filter.try_clone()
        {
            *filter = copy;
            self.mapped = None;
        }
    }
}

/// Asks the system to read the first `bytes` bytes of a mapped file, if reading the pages of `keys` keys one by one takes
/// longer.
#[cfg(target_os = "linux")]
pub(crate) fn read_ahead(file: &File, bytes: u64, keys: u64) {
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};

    // The system truncates longer requests to its read-ahead, which is this by default. A disk reads as much in order in
    // the time in which it reads the two pages of a key.
    const STEP: NonZeroU64 = NonZeroU64::new(128 << 10).expect("not zero");
    if keys.saturating_mul(STEP.get()) < bytes {
        return;
    }
    for at in (0..bytes).step_by(STEP.get() as usize) {
        // Pages that are not fetched now are fetched when they are touched.
        if fadvise(file, at, Some(STEP), Advice::WillNeed).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_ahead(_file: &File, _bytes: u64, _keys: u64) {}

/// The bytes of the work in all generations.
fn in_generations(filter: &Generations, work: u64) -> u64 {
    work.saturating_mul(filter.generations().count().max(1) as u64)
}

#[cfg(test)]
mod tests {
    use coua::CuckooFilter;

    use super::*;

    fn loaded(access: Access, work: u64) -> (Generations, Residence, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let builder = CuckooFilter::builder().capacity(4_000_000).rate(0.001);
        builder.build().unwrap().write_to(File::create(&path).unwrap()).unwrap();
        let file = File::open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        let (filter, residence) = Residence::load(access, &file, bytes, None, work).unwrap();
        (filter, residence, bytes)
    }

    #[test]
    fn a_large_file_is_mapped_for_little_work() {
        let is_mapped = |access, work| loaded(access, work).1.mapped().is_some();
        let by_size = |work| is_mapped(Access::BySize, work);
        let (.., bytes) = loaded(Access::Map, 0);
        assert!(by_size(0) && by_size(bytes - 1) && !by_size(bytes) && !by_size(u64::MAX));
        assert!(is_mapped(Access::Map, 1 << 40) && !is_mapped(Access::Load, 0));
        assert_eq!(Access::BySize.most_touched(LEAST_MAPPED - 1), 0);
    }

    #[test]
    fn many_changes_leave_the_mapping() {
        let (mut filter, mut residence, bytes) = loaded(Access::BySize, 0);
        residence.prepare_changes(&mut filter, ((bytes - 1) / KEY_BYTES) as usize);
        assert!(residence.mapped().is_some());
        residence.prepare_changes(&mut filter, 1);
        assert!(residence.mapped().is_none());
    }
}
