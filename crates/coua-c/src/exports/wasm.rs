//! What only the host of the WebAssembly needs, in which C's pointers are offsets into its memory.

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<u64>> = RefCell::default();
}

/// Memory of `length` bytes for arguments and results, aligned for all of them, or null. It stays until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn coua_buffer(length: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        if buffer.try_reserve_exact(length.div_ceil(size_of::<u64>())).is_err() {
            return std::ptr::null_mut();
        }
        buffer.as_mut_ptr().cast()
    })
}
