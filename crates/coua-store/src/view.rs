//! Asking without writing.

use coua::Generations;

use crate::access::Access;
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
    pub(crate) fn touch(&mut self, filter: &mut Generations, more: usize) {
        self.touched = self.touched.saturating_add(more as u64);
        if self.is_mapped && !self.access.maps(self.bytes, self.touched) {
            self.is_mapped = false;
            // Without the memory it stays mapped, which is slower but not wrong.
            if let Ok(copy) = filter.try_clone() {
                *filter = copy;
            }
        }
    }
}

impl View {
    /// The filter, to be asked about `questions` more keys: after very many questions to a mapped
    /// filter it is read into memory, where answers are faster.
    pub fn asked(&mut self, questions: usize) -> &Generations {
        self.memory.touch(&mut self.filter, questions);
        &self.filter
    }
}
