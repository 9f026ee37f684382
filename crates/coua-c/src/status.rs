//! The status that every call returns.

use std::ffi::CStr;

/// The result of a call: 0, or the reason of the failure. A failed call changes nothing, unless its comment says
/// otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum coua_status {
    /// Done.
    COUA_OK = 0,
    /// An argument is null, misaligned, overlapping, too large, or invalid.
    COUA_INVALID = 1,
    /// The filter has no room for a key.
    COUA_FULL = 2,
    /// There is not enough memory for a filter, a copy of it, or a batch. (If a few kilobytes are missing, or memory
    /// runs out within a batch, the process aborts, as Rust programs do.)
    COUA_OUT_OF_MEMORY = 3,
    /// The bytes or the file are not a complete filter, or its secret key is missing or wrong.
    COUA_NOT_A_FILTER = 4,
    /// Two filters cannot be merged, or the filter in a file differs from the options.
    COUA_MISMATCH = 5,
    /// An error of the operating system.
    COUA_IO = 6,
    /// Another process, or another handle of this one, is writing the file.
    COUA_BUSY = 7,
    /// Filters of this kind do not support the call.
    COUA_UNSUPPORTED = 8,
    /// The buffer is too small; the required length was stored.
    COUA_TOO_SMALL = 9,
    /// An earlier call failed internally, so the filter is unusable: only coua_free() accepts it.
    COUA_POISONED = 10,
    /// The call failed internally, because of a bug in this library. Its filter is now poisoned.
    COUA_PANIC = 11,
}

use coua_status::{
    COUA_BUSY, COUA_FULL, COUA_INVALID, COUA_IO, COUA_MISMATCH, COUA_NOT_A_FILTER, COUA_OK,
    COUA_OUT_OF_MEMORY, COUA_PANIC, COUA_POISONED, COUA_TOO_SMALL, COUA_UNSUPPORTED,
};

/// Each with its name, in the order of their numbers.
const NAMES: [(coua_status, &CStr); 12] = [
    (COUA_OK, c"COUA_OK"),
    (COUA_INVALID, c"COUA_INVALID"),
    (COUA_FULL, c"COUA_FULL"),
    (COUA_OUT_OF_MEMORY, c"COUA_OUT_OF_MEMORY"),
    (COUA_NOT_A_FILTER, c"COUA_NOT_A_FILTER"),
    (COUA_MISMATCH, c"COUA_MISMATCH"),
    (COUA_IO, c"COUA_IO"),
    (COUA_BUSY, c"COUA_BUSY"),
    (COUA_UNSUPPORTED, c"COUA_UNSUPPORTED"),
    (COUA_TOO_SMALL, c"COUA_TOO_SMALL"),
    (COUA_POISONED, c"COUA_POISONED"),
    (COUA_PANIC, c"COUA_PANIC"),
];

/// The name of the status with this number.
pub(crate) fn name_of(number: i32) -> &'static CStr {
    let found = NAMES.iter().find(|(status, _)| *status as i32 == number);
    found.map_or(c"unknown status", |(_, name)| name)
}
