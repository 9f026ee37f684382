//! The module's section in the answer to `INFO`.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use super::catch::caught;
use super::{OK, raw, server_function};

/// What the module tells: names and numbers.
pub(crate) type InfoSection = fn() -> Vec<(&'static CStr, u64)>;

/// The section of the module that was loaded.
static SECTION: OnceLock<InfoSection> = OnceLock::new();

/// Registers the section.
pub(super) fn register(context: *mut raw::RedisModuleCtx, section: InfoSection) -> bool {
    SECTION.get_or_init(|| section);
    // SAFETY: the function stays loaded as long as the module.
    unsafe { server_function!(RedisModule_RegisterInfoFunc)(context, Some(tell)) == OK }
}

unsafe extern "C" fn tell(info: *mut raw::RedisModuleInfoCtx, _for_crash_report: c_int) {
    caught((), || {
        // SAFETY: the server's own, valid during this call; names are C strings.
        unsafe {
            if server_function!(RedisModule_InfoAddSection)(info, c"filters".as_ptr()) != OK {
                return;
            }
            for (name, number) in SECTION.get().map_or_else(Vec::new, |section| section()) {
                server_function!(RedisModule_InfoAddFieldULongLong)(info, name.as_ptr(), number);
            }
        }
    });
}
