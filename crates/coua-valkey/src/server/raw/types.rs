//! Types of the server's C interface.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_void};

/// A timer's number.
pub(in crate::server) type RedisModuleTimerID = u64;

/// Declares types whose contents only the server knows.
macro_rules! opaque {
    ($($name:ident)+) => {
        $(
            #[repr(C)]
            pub(in crate::server) struct $name {
                contents: [u8; 0],
            }
        )+
    };
}

opaque! {
    RedisModuleCallReply RedisModuleCommand RedisModuleCtx RedisModuleDefragCtx RedisModuleDigest
    RedisModuleIO RedisModuleInfoCtx RedisModuleKey RedisModuleServerInfoData RedisModuleString RedisModuleType
}

/// Declares functions of the module that the server calls.
macro_rules! callbacks {
    ($($name:ident: fn $arguments:tt $(-> $result:ty)?;)+) => {
        $(pub(in crate::server) type $name =
            Option<unsafe extern "C" fn $arguments $(-> $result)?>;)+

        /// Names and types.
        #[cfg(test)]
        pub(super) const CALLBACKS: &[(&str, &str, &str)] = &[
            $((stringify!($name), stringify!($arguments), concat!("" $(, stringify!($result))?)),)+
        ];
    };
}

callbacks! {
    RedisModuleCmdFunc: fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;
    RedisModuleInfoFunc: fn(*mut RedisModuleInfoCtx, c_int);
    RedisModuleNotificationFunc: fn(
        *mut RedisModuleCtx, c_int, *const c_char, *mut RedisModuleString
    ) -> c_int;
    RedisModuleTimerProc: fn(*mut RedisModuleCtx, *mut c_void);

    RedisModuleConfigGetNumericFunc: fn(*const c_char, *mut c_void) -> c_longlong;
    RedisModuleConfigSetNumericFunc: fn(
        *const c_char, c_longlong, *mut c_void, *mut *mut RedisModuleString
    ) -> c_int;
    RedisModuleConfigApplyFunc: fn(
        *mut RedisModuleCtx, *mut c_void, *mut *mut RedisModuleString
    ) -> c_int;

    RedisModuleTypeLoadFunc: fn(*mut RedisModuleIO, c_int) -> *mut c_void;
    RedisModuleTypeSaveFunc: fn(*mut RedisModuleIO, *mut c_void);
    RedisModuleTypeRewriteFunc: fn(*mut RedisModuleIO, *mut RedisModuleString, *mut c_void);
    RedisModuleTypeMemUsageFunc: fn(*const c_void) -> usize;
    RedisModuleTypeDigestFunc: fn(*mut RedisModuleDigest, *mut c_void);
    RedisModuleTypeFreeFunc: fn(*mut c_void);
    RedisModuleTypeFreeEffortFunc: fn(*mut RedisModuleString, *const c_void) -> usize;
    RedisModuleTypeCopyFunc: fn(
        *mut RedisModuleString, *mut RedisModuleString, *const c_void
    ) -> *mut c_void;
    RedisModuleTypeDefragFunc: fn(
        *mut RedisModuleDefragCtx, *mut RedisModuleString, *mut *mut c_void
    ) -> c_int;
}

/// A callback that the module does not have.
pub(in crate::server) type Unused = Option<unsafe extern "C" fn()>;

/// Declares structures that the module fills.
macro_rules! structures {
    ($($(#[$comment:meta])* $name:ident { $($field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$comment])*
            #[repr(C)]
            pub(in crate::server) struct $name {
                $(pub(in crate::server) $field: $type,)+
            }
        )+

        /// Names, and names and types of their fields.
        #[cfg(test)]
        pub(super) const STRUCTURES: &[(&str, &[(&str, &str)])] = &[
            $((stringify!($name), &[$((stringify!($field), stringify!($type)),)+]),)+
        ];
    };
}

structures! {
    /// The server's callbacks for values of a type.
    RedisModuleTypeMethods {
        version: u64,
        rdb_load: RedisModuleTypeLoadFunc,
        rdb_save: RedisModuleTypeSaveFunc,
        aof_rewrite: RedisModuleTypeRewriteFunc,
        mem_usage: RedisModuleTypeMemUsageFunc,
        digest: RedisModuleTypeDigestFunc,
        free: RedisModuleTypeFreeFunc,
        aux_load: Unused,
        aux_save: Unused,
        aux_save_triggers: c_int,
        free_effort: RedisModuleTypeFreeEffortFunc,
        unlink: Unused,
        copy: RedisModuleTypeCopyFunc,
        defrag: RedisModuleTypeDefragFunc,
        mem_usage2: Unused,
        free_effort2: Unused,
        unlink2: Unused,
        copy2: Unused,
        aux_save2: Unused,
    }

    /// A word of a command, or several, as `COMMAND DOCS` shows them.
    RedisModuleCommandArg {
        name: *const c_char,
        r#type: RedisModuleCommandArgType,
        key_spec_index: c_int,
        token: *const c_char,
        summary: *const c_char,
        since: *const c_char,
        flags: c_int,
        deprecated_since: *const c_char,
        subargs: *mut RedisModuleCommandArg,
        display_text: *const c_char,
    }

    /// A change of a command between two versions.
    RedisModuleCommandHistoryEntry {
        since: *const c_char,
        changes: *const c_char,
    }

    /// Sizes by which the server reads the parts of a description.
    RedisModuleCommandInfoVersion {
        version: c_int,
        sizeof_historyentry: usize,
        sizeof_keyspec: usize,
        sizeof_arg: usize,
    }

    /// The description of a command.
    RedisModuleCommandInfo {
        version: *const RedisModuleCommandInfoVersion,
        summary: *const c_char,
        complexity: *const c_char,
        since: *const c_char,
        history: *mut RedisModuleCommandHistoryEntry,
        tips: *const c_char,
        arity: c_int,
        key_specs: *mut RedisModuleCommandKeySpec,
        args: *mut RedisModuleCommandArg,
    }
}

/// The kind of a word: a member of an enumeration.
pub(in crate::server) type RedisModuleCommandArgType = c_uint;

/// Where the keys of a command are: a range that begins at one of its words.
///
/// In C the last four fields are in two unions. Their other members are not used by this module.
#[repr(C)]
pub(in crate::server) struct RedisModuleCommandKeySpec {
    pub(in crate::server) notes: *const c_char,
    pub(in crate::server) flags: u64,
    pub(in crate::server) begin_search_type: c_uint,
    pub(in crate::server) begin_search: BeginSearch,
    pub(in crate::server) find_keys_type: c_uint,
    pub(in crate::server) range: KeyRange,
}

/// The number of a word.
#[repr(C)]
pub(in crate::server) struct BeginSearch {
    pub(in crate::server) index: c_int,
    /// The union's other member is an address and a number.
    pub(in crate::server) rest: *const c_char,
}

/// Words from there on.
#[repr(C)]
pub(in crate::server) struct KeyRange {
    pub(in crate::server) lastkey: c_int,
    pub(in crate::server) keystep: c_int,
    pub(in crate::server) limit: c_int,
}
