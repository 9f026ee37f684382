//! What adds commands and types while the module is loaded.

use std::ffi::CStr;

use super::call::log;
use super::{OK, raw};

/// What adds commands and types while the module is loaded.
pub(crate) struct Loader {
    pub(super) context: *mut raw::RedisModuleCtx,
}

impl Loader {
    /// Adds a category of access control, where the server has those of modules.
    pub(crate) fn category(&self, name: &CStr) {
        // SAFETY: the function came with Redis 7.4 and Valkey 8; a C string, which the server copies.
        unsafe {
            if let Some(add) = raw::RedisModule_AddACLCategory.get()
                && add(self.context, name.as_ptr()) != OK
            {
                log(self.context, c"notice", "a category of access control is there already");
            }
        }
    }
}
