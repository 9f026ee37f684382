//! Asking without writing.

use coua::{Generations, KeyHash};

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
    pub(crate) memory: Memory,
}

/// Where the filter's memory is, and how much of it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) access: Access,
    /// Bytes of the snapshot.
    pub(crate) bytes: u64,
    pub(crate) is_mapped: bool,
    /// Changes and questions since it was opened.
    pub(crate) touched: u64,
}

impl Memory {
    /// Goes over to memory with large pages once so much is touched that it pays.
    pub(crate) fn touch(&mut self, filter: &mut Generations, hashes: &[KeyHash]) {
        self.touched = self.touched.saturating_add(hashes.len() as u64);
        if self.is_mapped && !self.access.maps(self.bytes, self.touched) {
            self.is_mapped = false;
            // Without the memory it stays mapped, which is slower but not wrong.
            if let Ok(copy) = filter.try_clone() {
                *filter = copy;
            }
        }
        self.fetch(filter, hashes);
    }

    /// Has the pages of these keys fetched if the filter is mapped.
    pub(crate) fn fetch(&self, filter: &Generations, hashes: &[KeyHash]) {
        if self.is_mapped {
            ahead::fetch(filter, hashes);
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
