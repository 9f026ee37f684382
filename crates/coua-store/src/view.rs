//! Reading without writing.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::window::Generations;
use coua::{KeyHash, Layout, Load, LoadError};

use crate::access::{Access, Touch, Way};
use crate::error::{Reason, StoreError};
use crate::log::Base;
use crate::prefetch;
use crate::residency::{self, Missing};
use crate::runs::Runs;

/// The last committed state, for reading.
#[derive(Debug)]
pub struct View {
    /// The filter. Changes to it stay in memory.
    pub filter: Generations,
    /// The runs that it remembers.
    pub runs: Runs,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// Bytes of what was committed since the snapshot.
    pub log_bytes: u64,
    /// Commits in the log.
    pub transactions: u64,
    /// Bytes at the end of the file that do not count: of a commit that was interrupted, or that is being written
    /// now.
    pub uncommitted: u64,
    pub(crate) memory: Memory,
    /// The file, if it is mapped.
    pub(crate) origin: Option<Origin>,
}

/// A file whose snapshot is mapped.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) base: Base,
}

/// Where the filter's memory is, and how much of it is used.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) access: Access,
    /// Bytes of the snapshot.
    pub(crate) bytes: u64,
    /// What was not in the cache when it was opened, and was not fetched in order since.
    pub(crate) missing: Missing,
    /// The snapshot, where some of it is missing.
    pub(crate) file: Option<File>,
    pub(crate) is_mapped: bool,
    /// What is done to it.
    pub(crate) touch: Touch,
    /// How often since it was opened, each key in [every generation](in_generations).
    pub(crate) touched: AtomicU64,
}

/// Keys, counted in each generation that there is.
fn in_generations(filter: &Generations, keys: u64) -> u64 {
    keys.saturating_mul(filter.generations().count().max(1) as u64)
}

impl Memory {
    /// Of a filter that is in no file yet.
    pub(crate) fn without_a_file(access: Access) -> Self {
        Self::new(access, 0, Missing::NONE, Touch::Change)
    }

    /// Of a filter that is to be asked or changed, in a snapshot.
    pub(crate) fn of(access: Access, snapshot: &File, bytes: u64, touch: Touch) -> Self {
        let missing = Missing::of(snapshot, bytes);
        let file = if missing == Missing::NONE { None } else { snapshot.try_clone().ok() };
        Self { file, ..Self::new(access, bytes, missing, touch) }
    }

    fn new(access: Access, bytes: u64, missing: Missing, touch: Touch) -> Self {
        let touched = AtomicU64::new(0);
        Self { access, bytes, missing, file: None, is_mapped: false, touch, touched }
    }

    /// The filter in a snapshot, for so many keys and so many changes of a log.
    pub(crate) fn bring_in(
        &mut self,
        snapshot: &File,
        key: Option<[u8; 16]>,
        keys: u64,
        logged: u64,
    ) -> Result<Generations, LoadError> {
        if self.way(keys, logged) != Way::Load {
            let filter =
                Load::new().length(self.bytes).key(key).map_file::<Generations>(snapshot)?;
            // Each generation will be asked.
            let way = self.way(in_generations(&filter, keys), logged);
            if filter.template().layout() == Layout::Overlapping {
                // Those are read, whatever is asked for.
                return Ok(filter);
            }
            if way != Way::Load {
                self.is_mapped = true;
                self.fetch_all_if(way);
                return Ok(filter);
            }
        }
        Load::new().length(self.bytes).key(key).file::<Generations>(snapshot)
    }

    fn way(&self, keys: u64, logged: u64) -> Way {
        let work = [(self.touch, keys), (Touch::Change, logged)];
        self.access.way(self.bytes, self.missing, &work)
    }

    /// Fetches the snapshot in order where that costs less than page by page.
    fn fetch_all_if(&mut self, way: Way) {
        if way == Way::FetchAndMap
            && let Some(file) = self.file.take()
        {
            residency::fetch(&file, self.bytes);
            self.missing = Missing::NONE;
        }
    }

    fn count(&self, filter: &Generations, keys: u64) {
        self.touched.fetch_add(in_generations(filter, keys), Ordering::Relaxed);
    }

    /// Another way than before, for what a mapped filter was touched.
    fn better_way(&self) -> Option<Way> {
        let way = self.way(self.touched.load(Ordering::Relaxed), 0);
        (self.is_mapped && way != Way::Map).then_some(way)
    }

    /// Counts keys, switches to memory with large pages once that pays, and fetches the keys' pages if needed.
    pub(crate) fn touch(&mut self, filter: &mut Generations, hashes: &[KeyHash]) {
        self.count(filter, hashes.len() as u64);
        match self.better_way() {
            Some(Way::Load) => {
                self.is_mapped = false;
                // Without the memory it stays mapped, which is slower but not wrong.
                if let Ok(copy) = filter.try_clone() {
                    *filter = copy;
                }
            }
            Some(way) => self.fetch_all_if(way),
            None => {}
        }
        if self.is_fetched() {
            prefetch::fetch(hashes, |keys| drop(filter.contains_batch(keys)));
        }
    }

    /// Whether pages come from a disk when they are touched.
    fn is_fetched(&self) -> bool {
        self.is_mapped && self.missing != Missing::NONE
    }

    /// Fetches the pages of these keys in one generation if needed.
    pub(crate) fn fetch(&self, filter: &Generations, generation: u64, hashes: &[KeyHash]) {
        let found = filter.generations().rev().find(|one| one.number == generation);
        if let Some(one) = found.filter(|_| self.is_fetched()) {
            prefetch::fetch(hashes, |keys| drop(one.filter.contains_batch(keys)));
        }
    }
}

impl View {
    pub(crate) fn new(filter: Generations, memory: Memory) -> Self {
        let (snapshot_bytes, log_bytes, transactions, uncommitted) = (0, 0, 0, 0);
        let runs = Runs::default();
        let origin = None;
        Self { filter, runs, snapshot_bytes, log_bytes, transactions, uncommitted, memory, origin }
    }

    /// Whether the file is unchanged since it was mapped; to be called after the last answer.
    /// Overwriting a filter file in place, as `cp` does, changes what a mapped filter reads.
    ///
    /// # Errors
    ///
    /// [`Reason::Overwritten`]: answers may have been wrong.
    pub fn check_origin(&self) -> Result<(), StoreError> {
        match &self.origin {
            Some(origin) if !origin.base.is_in(&origin.file) => {
                Err(Reason::Overwritten.at(&origin.path))
            }
            _ => Ok(()),
        }
    }

    /// The filter, for lookups of these keys. The pages that they need are fetched together, and after very many
    /// keys the file is read into memory, where answers are faster.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// let mut view = Store::read(&path)?;
    /// let hash = view.filter.hasher().hash(b"a");
    /// assert!(view.asked(&[hash]).contains(hash));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked(&mut self, hashes: &[KeyHash]) -> &Generations {
        self.memory.touch(&mut self.filter, hashes);
        &self.filter
    }

    /// The filter, for so many lookups by one of several threads; none if only one thread may ask, by
    /// [`asked`](Self::asked), because pages come from a disk or the file is to be read into memory first.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// let view = Store::read(&path)?;
    /// let filter = view.asked_beside(1).expect("a small filter is read into memory");
    /// assert!(filter.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked_beside(&self, keys: u64) -> Option<&Generations> {
        if self.memory.is_fetched() || self.memory.better_way().is_some() {
            return None;
        }
        self.memory.count(&self.filter, keys);
        Some(&self.filter)
    }
}

#[cfg(test)]
mod tests {
    use coua::CuckooFilter;

    use super::*;

    /// A second copy would take twice the memory.
    #[test]
    fn windows_do_not_count_as_mapped() {
        for layout in [Layout::Buckets, Layout::Overlapping] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("seen.coua");
            let builder = CuckooFilter::builder().capacity(4_000_000).rate(0.001).layout(layout);
            builder.build().unwrap().save_atomically(&path).unwrap();
            let file = File::open(&path).unwrap();
            let bytes = file.metadata().unwrap().len();
            let mut memory = Memory::of(Access::BySize, &file, bytes, Touch::Change);
            memory.bring_in(&file, None, 0, 0).unwrap();
            assert_eq!(memory.is_mapped, layout == Layout::Buckets);
        }
    }
}
