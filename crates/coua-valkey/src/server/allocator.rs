//! Memory of the module, taken from the server so that it counts as the server's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;

use super::{raw, server_function};

/// What the server's allocator aligns to by itself: as C's `malloc` does.
const NATURAL: usize = 16;

/// Takes memory from the server and may fail, where the server's usual call ends the process.
///
/// Before the module is initialized there is no server to ask; nothing is allocated then, except in
/// unit tests, which have no server at all.
struct ServerMemory;

#[global_allocator]
static MEMORY: ServerMemory = ServerMemory;

/// From this size on memory that shall be zero is fresh memory of the system, rather than written.
const FRESH: usize = 1 << 20;

/// # Safety
///
/// `aligned` lies in a block, at least the size of an address after its start.
#[expect(clippy::cast_ptr_alignment, reason = "aligned to more than an address")]
unsafe fn address_before(aligned: *mut u8) -> *mut usize {
    // SAFETY: as the caller promises.
    unsafe { aligned.cast::<usize>().sub(1) }
}

impl ServerMemory {
    fn take(bytes: usize) -> *mut c_void {
        // SAFETY: they take any size.
        unsafe {
            match (raw::RedisModule_TryAlloc.get(), raw::RedisModule_Alloc.get()) {
                (Some(take), _) | (None, Some(take)) => take(bytes.max(1)),
                (None, None) => std::ptr::null_mut(),
            }
        }
    }

    /// Zeroed memory, of which the pages are cleared when they are touched first. Only on some servers
    /// may such a call fail: so it is tried before whether as much can be had.
    fn take_fresh(bytes: usize) -> *mut c_void {
        let tried = Self::take(bytes);
        if tried.is_null() {
            return tried;
        }
        // SAFETY: functions of the server as in `take`; what was tried is freed once, unused.
        unsafe {
            server_function!(RedisModule_Free)(tried);
            server_function!(RedisModule_Calloc)(1, bytes)
        }
    }

    fn has_server() -> bool {
        raw::RedisModule_Free.get().is_some()
    }
}

// SAFETY: blocks come from the server's allocator, which hands out each only once. Those with a larger
// alignment than it promises lie inside a larger block, whose address stands right before them.
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
