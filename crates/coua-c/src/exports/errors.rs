//! Versions and errors.

use std::ffi::c_char;

use crate::failure::{last_message, last_os_error};
use crate::status::name_of;

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn coua_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What was wrong with the last call of this thread that failed: what was found, what was expected, what to do. Never
/// NULL. It stays until the next call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn coua_last_error() -> *const c_char {
    last_message()
}

/// The number of the operating system's error that was its cause, as errno has it (in Windows, GetLastError()), or 0:
/// such as ENOENT for a file that is missing.
#[unsafe(no_mangle)]
pub extern "C" fn coua_last_os_error() -> i32 {
    last_os_error()
}

/// The name of a coua_status, such as "COUA_FULL".
#[unsafe(no_mangle)]
pub extern "C" fn coua_status_name(status: i32) -> *const c_char {
    name_of(status).as_ptr()
}
