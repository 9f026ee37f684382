//! Memory of the module, taken from the server so that it counts as the server's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;

use super::call::end_server;
use super::raw;

/// The alignment of the server's allocator, as of C's `malloc`.
const NATURAL: usize = 16;

/// The bytes that the server's allocator takes for a block: jemalloc rounds sizes up, in four steps per
/// power of two. In a fresh block the added pages are never touched.
pub(crate) fn block_bytes(bytes: u64) -> u64 {
    const EVEN: u64 = 128;
    if bytes <= EVEN {
        return bytes.next_multiple_of(NATURAL as u64);
    }
    if bytes >= FRESH as u64 {
        return bytes;
    }
    let step = 1 << ((bytes - 1).ilog2() - 2);
    bytes.next_multiple_of(step)
}

/// The same for a block with a larger alignment than the allocator's own.
pub(crate) fn aligned_block_bytes(bytes: u64, alignment: u64) -> u64 {
    if bytes == 0 { 0 } else { block_bytes(bytes + alignment + size_of::<usize>() as u64) }
}

/// Allocates from the server, and may fail, while the server's usual call ends the process.
///
/// Before the module is initialized there is no server, and nothing is allocated, except in unit
/// tests, which have no server at all.
struct ServerMemory;

#[global_allocator]
static MEMORY: ServerMemory = ServerMemory;

/// From this size on, a caller learns that there is no memory. Below, the server ends, as it does for its own data:
/// Rust would abort where no caller handles the error, and the server's crash report may wait forever for memory.
const LARGE: usize = 64 << 20;

/// From this size on, zeroed memory is fresh memory from the system, not written.
const FRESH: usize = 1 << 20;

/// A multiple of the system's page size.
const PAGE: usize = 64 << 10;

/// # Safety
///
/// `aligned` is in a block, at least the size of an address after its start.
#[expect(clippy::cast_ptr_alignment, reason = "aligned to more than an address")]
unsafe fn address_before(aligned: *mut u8) -> *mut usize {
    // SAFETY: as the caller promises.
    unsafe { aligned.cast::<usize>().sub(1) }
}

/// Zeroes a block. Whole pages are returned to the system, which replaces them by zeros.
///
/// # Safety
///
/// The block is the caller's, in private memory of the process, such as an
/// allocator's.
unsafe fn clear(block: *mut u8, bytes: usize) {
    let before = block.align_offset(PAGE).min(bytes);
    let whole = (bytes - before) / PAGE * PAGE;
    // SAFETY: both lie in the block.
    unsafe {
        let pages = block.add(before);
        let given = cfg!(target_os = "linux")
            && libc::madvise(pages.cast(), whole, libc::MADV_DONTNEED) == 0;
        if !given {
            pages.write_bytes(0, whole);
        }
        block.write_bytes(0, before);
        pages.add(whole).write_bytes(0, bytes - before - whole);
    }
}

impl ServerMemory {
    fn take(bytes: usize) -> *mut c_void {
        let take = raw::RedisModule_TryAlloc.get();
        // SAFETY: it takes any size.
        let block = take.map_or(std::ptr::null_mut(), |take| unsafe { take(bytes.max(1)) });
        if block.is_null() && bytes < LARGE {
            end_server();
        }
        block
    }

    /// Zeroed memory whose pages the system clears at their first use, so a command that lets a filter grow
    /// does not wait for all of them.
    fn take_fresh(bytes: usize) -> *mut c_void {
        let block = Self::take(bytes);
        if !block.is_null() {
            // SAFETY: the block has this many bytes, and only this function knows it.
            unsafe { clear(block.cast(), bytes) };
        }
        block
    }

    fn has_server() -> bool {
        raw::RedisModule_Free.get().is_some()
    }
}

// SAFETY: blocks come from the server's allocator, which hands out each only once. Those with a
// larger alignment than it promises lie inside a larger block, whose address stands right before
// them.
unsafe impl GlobalAlloc for ServerMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::has_server() {
            // SAFETY: the caller's promises are the same.
            return unsafe { System.alloc(layout) };
        }
        if layout.align() <= NATURAL {
            return Self::take(layout.size()).cast();
        }
        let Some(bytes) = layout.size().checked_add(layout.align() + size_of::<usize>()) else {
            return std::ptr::null_mut();
        };
        let block: *mut u8 = Self::take(bytes).cast();
        if block.is_null() {
            return block;
        }
        let start = block as usize + size_of::<usize>();
        let shift = start.next_multiple_of(layout.align()) - block as usize;
        // SAFETY: `shift` is at least the size of an address and at most that and the alignment, so
        // both the address before the result and the result's bytes lie in the block.
        unsafe {
            let aligned = block.add(shift);
            address_before(aligned).write(block as usize);
            aligned
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::has_server() && layout.align() <= NATURAL && layout.size() >= FRESH {
            return Self::take_fresh(layout.size()).cast();
        }
        // SAFETY: the caller's promises are the same.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: as many bytes were allocated.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` with the same layout, which chose the same branch.
        unsafe {
            let Some(free) = raw::RedisModule_Free.get() else {
                return System.dealloc(pointer, layout);
            };
            if layout.align() <= NATURAL {
                free(pointer.cast());
            } else {
                free(address_before(pointer).read() as *mut c_void);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_cleared_to_its_ends_and_no_further() {
        for (start, bytes) in
            [(0, 1 << 20), (1, 300_000), (4_096, 65_536), (100, 10), (65_535, 65_538)]
        {
            let mut memory = vec![7u8; 2 << 20];
            let block = memory[start..].as_mut_ptr();
            // SAFETY: a part of the vector.
            unsafe { clear(block, bytes) };
            assert!(memory[..start].iter().all(|&byte| byte == 7));
            assert!(memory[start..start + bytes].iter().all(|&byte| byte == 0));
            assert!(memory[start + bytes..].iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn blocks_are_rounded_up_in_four_steps_for_each_power_of_two() {
        for (bytes, block) in
            [(0, 0), (1, 16), (120, 128), (129, 160), (300, 320), (513, 640), (1 << 20, 1 << 20)]
        {
            assert_eq!(block_bytes(bytes), block);
        }
    }
}
