//! Coua as WebAssembly, with a plain C interface: no imports, and nothing but numbers and bytes is passed.
//!
//! JavaScript writes the arguments of a call to the *input* ([`input`]) and reads the result from the *output*
//! ([`output`]). A call that fails returns a negative number, and the output is a message. `page/coua.js` wraps
//! these calls; nothing else should call them.

#![expect(unsafe_code, reason = "the names of exported functions")]

mod filter;
mod options;
mod plan;
mod snapshot;
mod state;
mod view;

use state::{reserve, with};

/// Makes the input `length` bytes long. Returns its address, which holds until the next call, or null if there is not
/// enough memory.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|state| {
        if reserve(&mut state.input, length).is_err() {
            return std::ptr::null_mut();
        }
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

/// The address of the output, which holds until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|state| state.output.as_ptr())
}

/// The length of the output in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    with(|state| state.output.len())
}
