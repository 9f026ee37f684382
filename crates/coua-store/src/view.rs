//! Asking without writing.

use std::fs::File;
use std::io::Seek;

use coua::{Generations, KeyHash, LoadError};

use crate::access::Access;
use crate::ahead;
use crate::progress::Progress;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) access: Access,
    /// Bytes of the snapshot.
    pub(crate) bytes: u64,
    pub(crate) is_mapped: bool,
    /// [`questions`] since it was opened.
    pub(crate) touched: u64,
}

/// How often a generation is asked or changed if these keys are, each in as many as there are.
pub(crate) fn questions(filter: &Generations, keys: u64) -> u64 {
    keys.saturating_mul(filter.generations().count().max(1) as u64)
}

impl Memory {
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

    /// Goes over to memory with large pages once so much is touched that it pays.
    pub(crate) fn touch(&mut self, filter: &mut Generations, hashes: &[KeyHash]) {
        let more = questions(filter, hashes.len() as u64);
        self.touched = self.touched.saturating_add(more);
        if self.is_mapped && !self.access.maps(self.bytes, self.touched) {
            self.is_mapped = false;
            // Without the memory it stays mapped, which is slower but not wrong.
            if let Ok(copy) = filter.try_clone() {
                *filter = copy;
            }
        }
        if self.is_mapped {
            ahead::fetch(hashes, |keys| filter.contains_hash_batch(keys, &mut Vec::new()));
        }
    }

    /// Has the pages of these keys in one generation fetched if the filter is mapped.
    pub(crate) fn fetch(&self, filter: &Generations, generation: u64, hashes: &[KeyHash]) {
        let found = filter.generations().rev().find(|one| one.number == generation);
        if let Some(one) = found.filter(|_| self.is_mapped) {
            ahead::fetch(hashes, |keys| one.filter.contains_hash_batch(keys, &mut Vec::new()));
        }
    }
}

impl View {
    /// The filter, to be asked about these keys: what they need of a mapped filter is fetched together,
    /// and after very many of them it is read into memory, where answers are faster.
    pub fn asked(&mut self, hashes: &[KeyHash]) -> &Generations {
        self.memory.touch(&mut self.filter, hashes);
        &self.filter
    }
}
