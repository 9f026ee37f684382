//! Versions and errors.

use std::ffi::c_char;

use crate::failure::{last_message, last_os_error};
use crate::status::name_of;

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn coua_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The message of this thread's last failed call: what was found, what was expected, what to do. Never NULL. Valid
/// until the next failed call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn coua_last_error() -> *const c_char {
    last_message()
}

/// The operating system's error number that caused that failure (errno; on Windows, GetLastError()), or 0. For example,
/// ENOENT for a missing file.
#[unsafe(no_mangle)]
pub extern "C" fn coua_last_os_error() -> i32 {
    last_os_error()
}

/// The name of a coua_status, such as "COUA_FULL".
#[unsafe(no_mangle)]
pub extern "C" fn coua_status_name(status: i32) -> *const c_char {
    name_of(status).as_ptr()
}
