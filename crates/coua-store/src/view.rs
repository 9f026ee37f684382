//! Asking without writing.

use std::fs::File;
use std::io::Seek;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::{Generations, KeyHash, LoadError};

use crate::access::{Access, Touch};
use crate::ahead;
use crate::progress::Progress;
use crate::residency::Missing;

/// The last committed state, to be asked.
#[derive(Debug)]
pub struct View {
    /// The filter. Changes to it stay in memory.
    pub filter: Generations,
    /// What was committed with it last, if anything was since the file was made.
    pub progress: Option<Progress>,
    /// Bytes at the end of the journal that do not count: of a commit that was interrupted, or is being
    /// written.
    pub uncommitted: u64,
    pub(crate) memory: Memory,
}

/// Where the filter's memory is, and how much of it is used.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) access: Access,
    /// Bytes of the snapshot.
    pub(crate) bytes: u64,
    /// What was not in the cache when it was opened.
    pub(crate) missing: Missing,
    pub(crate) is_mapped: bool,
    /// What is done to it.
    pub(crate) touch: Touch,
    /// How often since it was opened, each key in [every generation](in_generations).
    pub(crate) touched: AtomicU64,
}

/// Keys, counted in each generation that there is.
pub(crate) fn in_generations(filter: &Generations, keys: u64) -> u64 {
    keys.saturating_mul(filter.generations().count().max(1) as u64)
}

impl Memory {
    /// Of a filter that is in no file yet.
    pub(crate) fn without_a_file(access: Access) -> Self {
        let (missing, touch) = (Missing::NONE, Touch::Change);
        Self { access, bytes: 0, missing, is_mapped: false, touch, touched: AtomicU64::new(0) }
    }

    /// The filter in a snapshot.
    pub(crate) fn bring_in(
        &self,
        mut file: &File,
        key: Option<[u8; 16]>,
    ) -> Result<Generations, LoadError> {
        file.rewind()?;
        if self.is_mapped {
            Generations::map_file(file, key)
        } else {
            Generations::read_file(file, key)
        }
    }

    /// Whether the snapshot is to be mapped for so many keys, and for so many changes that a journal has.
    pub(crate) fn is_enough(&self, keys: u64, logged: u64) -> bool {
        let work = [(self.touch, keys), (Touch::Change, logged)];
        self.access.maps(self.bytes, self.missing, &work)
    }

    fn count(&self, filter: &Generations, keys: u64) {
        self.touched.fetch_add(in_generations(filter, keys), Ordering::Relaxed);
    }

    /// Whether so much of a mapped filter was touched that it pays to go over to memory with large pages.
    fn is_outgrown(&self) -> bool {
        self.is_mapped && !self.is_enough(self.touched.load(Ordering::Relaxed), 0)
    }

    /// Counts keys, goes over to memory once that pays, and has the keys' pages fetched if that is needed.
    pub(crate) fn touch(&mut self, filter: &mut Generations, hashes: &[KeyHash]) {
        self.count(filter, hashes.len() as u64);
        if self.is_outgrown() {
            self.is_mapped = false;
            // Without the memory it stays mapped, which is slower but not wrong.
            if let Ok(copy) = filter.try_clone() {
                *filter = copy;
            }
        }
        if self.is_fetched() {
            ahead::fetch(hashes, |keys| filter.contains_hash_batch(keys, &mut Vec::new()));
        }
    }

    /// Whether pages come from a disk when they are touched.
    fn is_fetched(&self) -> bool {
        self.is_mapped && self.missing != Missing::NONE
    }

    /// Has the pages of these keys in one generation fetched if that is needed.
    pub(crate) fn fetch(&self, filter: &Generations, generation: u64, hashes: &[KeyHash]) {
        let found = filter.generations().rev().find(|one| one.number == generation);
        if let Some(one) = found.filter(|_| self.is_fetched()) {
            ahead::fetch(hashes, |keys| one.filter.contains_hash_batch(keys, &mut Vec::new()));
        }
    }
}

impl View {
    /// The filter, to be asked about these keys: what they need of a mapped filter is fetched together,
    /// and after very many of them it is read into memory, where answers are faster.
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
    /// assert!(view.asked(&[hash]).contains_hash(hash));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked(&mut self, hashes: &[KeyHash]) -> &Generations {
        self.memory.touch(&mut self.filter, hashes);
        &self.filter
    }

    /// The filter, to be asked about so many keys by one of several threads; none if it must be
    /// [`asked`](Self::asked) by one, because keys wait for a disk or it is to be read into memory first.
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
        if self.memory.is_fetched() || self.memory.is_outgrown() {
            return None;
        }
        self.memory.count(&self.filter, keys);
        Some(&self.filter)
    }
}
