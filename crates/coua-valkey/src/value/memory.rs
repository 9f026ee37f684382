//! Memory that the server would not see, and memory that goes back to the system.
//!
//! A large table of the library is a mapping of its own; the server counts only what it has
//! allocated, and `maxmemory` would overlook the filter. So as much is allocated again and never
//! touched: it takes addresses, not memory, and the server's count is right. Small tables come from
//! the server already.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The smallest block; what is less is rounded up to one.
const SMALLEST: u64 = 1 << 20;

/// Bytes charged in all filters together.
static CHARGED: AtomicU64 = AtomicU64::new(0);

/// What one filter is charged with.
#[derive(Default)]
pub(crate) struct MemoryCharge {
    blocks: Vec<Vec<u8>>,
    bytes: u64,
}

impl MemoryCharge {
    /// Charges a filter of which as many bytes are mapped now. If the server has not got as many,
    /// it sees less: the filter has them already.
    pub(crate) fn update(&mut self, mapped_bytes: u64) {
        let bytes = mapped_bytes.next_multiple_of(SMALLEST);
        if bytes < self.bytes {
            self.clear();
        }
        // Powers of two: allocators round other large sizes up, by up to a quarter.
        while bytes - self.bytes >= SMALLEST {
            let size = 1 << (bytes - self.bytes).ilog2();
            let mut block = Vec::new();
            let reserved =
                usize::try_from(size).is_ok_and(|size| block.try_reserve_exact(size).is_ok());
            if !reserved {
                return;
            }
            self.blocks.push(block);
            self.bytes += size;
            CHARGED.fetch_add(size, Ordering::Relaxed);
        }
    }

    fn clear(&mut self) {
        self.blocks.clear();
        CHARGED.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }

    /// Bytes charged in all filters together.
    pub(crate) fn total() -> u64 {
        CHARGED.load(Ordering::Relaxed)
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What is larger takes the system longer than a command may: some milliseconds for each hundred
/// MiB.
const LARGE: usize = 1 << 20;

/// Drops something of as many bytes: what is large in a thread of its own.
pub(crate) fn release<T: Send + 'static>(memory: T, bytes: usize) {
    if bytes > LARGE {
        // Without a thread it is done here.
        thread::Builder::new().spawn(move || drop(memory)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_follows_the_filter_up_and_down() {
        let mut charge = MemoryCharge::default();
        for (bytes, charged) in [
            (0, 0),
            (8 << 20, 8 << 20),
            (8 << 20, 8 << 20),
            ((11 << 20) + 1, 12 << 20),
            (3 << 20, 3 << 20),
            (0, 0),
        ] {
            charge.update(bytes);
            let reserved: usize = charge.blocks.iter().map(Vec::capacity).sum();
            assert_eq!((charge.bytes, reserved as u64), (charged, charged));
        }
    }
}
