//! Numbers of the server's C interface.

use std::ffi::{c_int, c_uint};

/// Declares numbers that the server's header defines.
macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr;)+) => {
        $(pub(in crate::server) const $name: $type = $value;)+

        /// Names and values.
        #[cfg(test)]
        pub(super) const CONSTANTS: &[(&str, i128)] = &[$((stringify!($name), $name as i128),)+];
    };
}

constants! {
    REDISMODULE_APIVER_1: c_int = 1;
    REDISMODULE_OK: c_int = 0;
    REDISMODULE_ERR: c_int = 1;

    REDISMODULE_READ: c_int = 1 << 0;
    REDISMODULE_WRITE: c_int = 1 << 1;
    REDISMODULE_KEYTYPE_EMPTY: c_int = 0;
    REDISMODULE_REPLY_ARRAY: c_int = 3;
    REDISMODULE_TYPE_METHOD_VERSION: u64 = 5;
    REDISMODULE_NOTIFY_GENERIC: c_int = 1 << 2;
    REDISMODULE_NOTIFY_MODULE: c_int = 1 << 13;

    REDISMODULE_CTX_FLAGS_SLAVE: c_int = 1 << 3;
    REDISMODULE_CTX_FLAGS_REPLICATED: c_int = 1 << 12;
    REDISMODULE_CTX_FLAGS_LOADING: c_int = 1 << 13;
    REDISMODULE_CTX_FLAGS_RESP3: c_int = 1 << 22;
    REDISMODULE_CTX_FLAGS_ASYNC_LOADING: c_int = 1 << 23;

    REDISMODULE_OPTIONS_HANDLE_IO_ERRORS: c_int = 1 << 0;
    REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;
    REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;

    REDISMODULE_CONFIG_DEFAULT: c_uint = 0;
    REDISMODULE_CONFIG_MEMORY: c_uint = 1 << 7;

    REDISMODULE_CMD_ARG_OPTIONAL: c_int = 1 << 0;
    REDISMODULE_CMD_ARG_MULTIPLE: c_int = 1 << 1;

    REDISMODULE_CMD_KEY_RO: u64 = 1 << 0;
    REDISMODULE_CMD_KEY_RW: u64 = 1 << 1;
    REDISMODULE_CMD_KEY_ACCESS: u64 = 1 << 4;
    REDISMODULE_CMD_KEY_UPDATE: u64 = 1 << 5;
}

/// Only Valkey's header since version 9 has this one.
pub(in crate::server) const VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// Members of enumerations of the header, counted from 0.
pub(in crate::server) const REDISMODULE_ARG_TYPE_STRING: c_uint = 0;
pub(in crate::server) const REDISMODULE_ARG_TYPE_INTEGER: c_uint = 1;
pub(in crate::server) const REDISMODULE_ARG_TYPE_DOUBLE: c_uint = 2;
pub(in crate::server) const REDISMODULE_ARG_TYPE_KEY: c_uint = 3;
pub(in crate::server) const REDISMODULE_ARG_TYPE_PURE_TOKEN: c_uint = 6;
pub(in crate::server) const REDISMODULE_ARG_TYPE_ONEOF: c_uint = 7;
pub(in crate::server) const REDISMODULE_KSPEC_BS_INDEX: c_uint = 2;
pub(in crate::server) const REDISMODULE_KSPEC_FK_RANGE: c_uint = 2;
