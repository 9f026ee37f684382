//! Accounting for memory that the server does not see, and freeing memory.
//!
//! The library maps large tables itself, but the server counts only what it has
//! allocated, and `maxmemory` would overlook the filter. So the same amount is allocated again and never
//! touched: it takes addresses, not memory, and the server's count is right. Small tables are allocated by
//! the server anyway.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The smallest block, to which smaller amounts are rounded up.
const SMALLEST: u64 = 1 << 20;

/// Bytes charged for all filters together.
static CHARGED: AtomicU64 = AtomicU64::new(0);

/// The charge of one filter.
#[derive(Default)]
pub(crate) struct MemoryCharge {
    blocks: Vec<Vec<u8>>,
    bytes: u64,
}

impl MemoryCharge {
    /// Charges a filter that has `mapped_bytes` mapped bytes. If the server cannot allocate them, its count
    /// is too low.
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

/// Freeing more than this takes the system too long for a command: some milliseconds per hundred
/// MiB.
const LARGE: usize = 1 << 20;

/// Drops a value of `bytes` bytes, in a separate thread if it is large.
pub(crate) fn release<T: Send + 'static>(memory: T, bytes: usize) {
    if bytes > LARGE {
        // If no thread can be started, it is dropped here.
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
