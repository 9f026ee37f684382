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

/// The names, in the order of the numbers.
const NAMES: [&CStr; 12] = [
    c"COUA_OK",
    c"COUA_INVALID",
    c"COUA_FULL",
    c"COUA_OUT_OF_MEMORY",
    c"COUA_NOT_A_FILTER",
    c"COUA_MISMATCH",
    c"COUA_IO",
    c"COUA_BUSY",
    c"COUA_UNSUPPORTED",
    c"COUA_TOO_SMALL",
    c"COUA_POISONED",
    c"COUA_PANIC",
];

/// The name of the status with this number.
pub(crate) fn name_of(number: i32) -> &'static CStr {
    let found = usize::try_from(number).ok().and_then(|number| NAMES.get(number));
    found.unwrap_or(&c"unknown status")
}
