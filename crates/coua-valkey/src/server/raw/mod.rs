//! The server's C interface, as far as the module uses it: what `redismodule.h` of Redis 7.0
//! declares.
//!
//! Names are those of the header. A test compares all of this with a header, where one is
//! installed.

#![expect(non_upper_case_globals, reason = "names are those of the server's header")]

mod constants;
#[cfg(test)]
mod tests;
mod types;

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uchar, c_uint, c_ulonglong, c_void};
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) use constants::*;
pub(super) use types::*;

/// A function of the server, available after the module is initialized.
pub(super) struct Function<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    signature: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    /// Only for `functions!`: `F` is the type of the server's function of this name.
    const fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        Self { name, address: AtomicPtr::new(null_mut()), signature: PhantomData }
    }

    /// The function, if the server has it.
    pub(super) fn get(&self) -> Option<F> {
        let address = NonNull::new(self.address.load(Ordering::Relaxed))?;
        // SAFETY: the server's function of this name, which has type `F`: `functions!` declares it
        // so, and `tests` compare that with the server's header.
        Some(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) })
    }

    fn find(&self, get: GetApi) {
        let mut address: *mut c_void = null_mut();
        // SAFETY: the server looks the name up, and writes an address if it knows it.
        let found = unsafe { get(self.name.as_ptr(), (&raw mut address).cast()) };
        if found == REDISMODULE_OK {
            self.address.store(address, Ordering::Relaxed);
        }
    }
}

type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// A name that ends with its only zero byte.
pub(super) const fn name_of(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with its only zero byte"),
    }
}

/// Declares functions of the server, and `find_functions`, which asks it for all of them.
macro_rules! functions {
    ($($function:ident: fn $arguments:tt $(-> $result:ty)?;)+) => {
        $(
            pub(super) static $function: Function<unsafe extern "C" fn $arguments $(-> $result)?> =
                Function::new(name_of(concat!(stringify!($function), "\0")));
        )+

        fn find_functions(get: GetApi) {
            $($function.find(get);)+
        }

        /// Names and types of the functions.
        #[cfg(test)]
        const FUNCTIONS: &[(&str, &str, &str)] = &[
            $((stringify!($function), stringify!($arguments), concat!("" $(, stringify!($result))?)),)+
        ];
    };
}

functions! {
    // Memory.
    RedisModule_TryAlloc: fn(usize) -> *mut c_void;
    RedisModule_Free: fn(*mut c_void);
    RedisModule_DefragAlloc: fn(*mut RedisModuleDefragCtx, *mut c_void) -> *mut c_void;

    // The module itself.
    RedisModule_GetApi: fn(*const c_char, *mut c_void) -> c_int;
    RedisModule_IsModuleNameBusy: fn(*const c_char) -> c_int;
    RedisModule_SetModuleAttribs: fn(*mut RedisModuleCtx, *const c_char, c_int, c_int);
    RedisModule_SetModuleOptions: fn(*mut RedisModuleCtx, c_int);
    RedisModule_GetContextFlags: fn(*mut RedisModuleCtx) -> c_int;
    RedisModule_GetRandomBytes: fn(*mut c_uchar, usize);
    RedisModule_GetServerInfo: fn(*mut RedisModuleCtx, *const c_char) -> *mut RedisModuleServerInfoData;
    RedisModule_FreeServerInfo: fn(*mut RedisModuleCtx, *mut RedisModuleServerInfoData);
    RedisModule_ServerInfoGetFieldUnsigned: fn(
        *mut RedisModuleServerInfoData, *const c_char, *mut c_int
    ) -> c_ulonglong;
    RedisModule_ServerInfoGetFieldC: fn(
        *mut RedisModuleServerInfoData, *const c_char
    ) -> *const c_char;
    RedisModule_Log: fn(*mut RedisModuleCtx, *const c_char, *const c_char, ...);

    RedisModule_AvoidReplicaTraffic: fn() -> c_int;
    RedisModule_CreateTimer: fn(
        *mut RedisModuleCtx, c_longlong, RedisModuleTimerProc, *mut c_void
    ) -> RedisModuleTimerID;

    // Its commands.
    RedisModule_CreateCommand: fn(
        *mut RedisModuleCtx, *const c_char, RedisModuleCmdFunc, *const c_char, c_int, c_int, c_int
    ) -> c_int;
    RedisModule_GetCommand: fn(*mut RedisModuleCtx, *const c_char) -> *mut RedisModuleCommand;
    RedisModule_SetCommandInfo: fn(*mut RedisModuleCommand, *const RedisModuleCommandInfo) -> c_int;
    RedisModule_AddACLCategory: fn(*mut RedisModuleCtx, *const c_char) -> c_int;
    RedisModule_SetCommandACLCategories: fn(*mut RedisModuleCommand, *const c_char) -> c_int;
    RedisModule_WrongArity: fn(*mut RedisModuleCtx) -> c_int;

    // Its settings and its section of INFO.
    RedisModule_RegisterNumericConfig: fn(
        *mut RedisModuleCtx, *const c_char, c_longlong, c_uint, c_longlong, c_longlong,
        RedisModuleConfigGetNumericFunc, RedisModuleConfigSetNumericFunc,
        RedisModuleConfigApplyFunc, *mut c_void
    ) -> c_int;
    RedisModule_LoadConfigs: fn(*mut RedisModuleCtx) -> c_int;
    RedisModule_RegisterInfoFunc: fn(*mut RedisModuleCtx, RedisModuleInfoFunc) -> c_int;
    RedisModule_InfoAddSection: fn(*mut RedisModuleInfoCtx, *const c_char) -> c_int;
    RedisModule_InfoAddFieldULongLong: fn(
        *mut RedisModuleInfoCtx, *const c_char, c_ulonglong
    ) -> c_int;

    // Strings of the server.
    RedisModule_CreateString: fn(*mut RedisModuleCtx, *const c_char, usize) -> *mut RedisModuleString;
    RedisModule_FreeString: fn(*mut RedisModuleCtx, *mut RedisModuleString);
    RedisModule_StringPtrLen: fn(*const RedisModuleString, *mut usize) -> *const c_char;

    // Keys.
    RedisModule_OpenKey: fn(*mut RedisModuleCtx, *mut RedisModuleString, c_int) -> *mut RedisModuleKey;
    RedisModule_CloseKey: fn(*mut RedisModuleKey);
    RedisModule_KeyType: fn(*mut RedisModuleKey) -> c_int;
    RedisModule_CreateDataType: fn(
        *mut RedisModuleCtx, *const c_char, c_int, *mut RedisModuleTypeMethods
    ) -> *mut RedisModuleType;
    RedisModule_ModuleTypeGetType: fn(*mut RedisModuleKey) -> *mut RedisModuleType;
    RedisModule_ModuleTypeGetValue: fn(*mut RedisModuleKey) -> *mut c_void;
    RedisModule_ModuleTypeSetValue: fn(*mut RedisModuleKey, *mut RedisModuleType, *mut c_void) -> c_int;
    RedisModule_GetSelectedDb: fn(*mut RedisModuleCtx) -> c_int;
    RedisModule_SelectDb: fn(*mut RedisModuleCtx, c_int) -> c_int;
    RedisModule_SubscribeToKeyspaceEvents: fn(
        *mut RedisModuleCtx, c_int, RedisModuleNotificationFunc
    ) -> c_int;
    RedisModule_SignalModifiedKey: fn(*mut RedisModuleCtx, *mut RedisModuleString) -> c_int;
    RedisModule_NotifyKeyspaceEvent: fn(
        *mut RedisModuleCtx, c_int, *const c_char, *mut RedisModuleString
    ) -> c_int;

    // Calls of other commands.
    RedisModule_Call: fn(
        *mut RedisModuleCtx, *const c_char, *const c_char, ...
    ) -> *mut RedisModuleCallReply;
    RedisModule_CallReplyArrayElement: fn(*mut RedisModuleCallReply, usize) -> *mut RedisModuleCallReply;
    RedisModule_CallReplyType: fn(*mut RedisModuleCallReply) -> c_int;
    RedisModule_FreeCallReply: fn(*mut RedisModuleCallReply);
    RedisModule_Replicate: fn(*mut RedisModuleCtx, *const c_char, *const c_char, ...) -> c_int;
    RedisModule_ReplicateVerbatim: fn(*mut RedisModuleCtx) -> c_int;

    // Answers.
    RedisModule_ReplyWithArray: fn(*mut RedisModuleCtx, c_long) -> c_int;
    RedisModule_ReplyWithBool: fn(*mut RedisModuleCtx, c_int) -> c_int;
    RedisModule_ReplyWithDouble: fn(*mut RedisModuleCtx, f64) -> c_int;
    RedisModule_ReplyWithError: fn(*mut RedisModuleCtx, *const c_char) -> c_int;
    RedisModule_ReplyWithLongLong: fn(*mut RedisModuleCtx, c_longlong) -> c_int;
    RedisModule_ReplyWithMap: fn(*mut RedisModuleCtx, c_long) -> c_int;
    RedisModule_ReplyWithNull: fn(*mut RedisModuleCtx) -> c_int;
    RedisModule_ReplyWithSimpleString: fn(*mut RedisModuleCtx, *const c_char) -> c_int;
    RedisModule_ReplyWithStringBuffer: fn(*mut RedisModuleCtx, *const c_char, usize) -> c_int;

    // Dump files, append-only files, digests.
    RedisModule_SaveStringBuffer: fn(*mut RedisModuleIO, *const c_char, usize);
    RedisModule_LoadStringBuffer: fn(*mut RedisModuleIO, *mut usize) -> *mut c_char;
    RedisModule_LoadUnsigned: fn(*mut RedisModuleIO) -> u64;
    RedisModule_IsIOError: fn(*mut RedisModuleIO) -> c_int;
    RedisModule_GetContextFromIO: fn(*mut RedisModuleIO) -> *mut RedisModuleCtx;
    RedisModule_GetKeyNameFromIO: fn(*mut RedisModuleIO) -> *const RedisModuleString;
    RedisModule_GetDbIdFromIO: fn(*mut RedisModuleIO) -> c_int;
    RedisModule_EmitAOF: fn(*mut RedisModuleIO, *const c_char, *const c_char, ...);
    RedisModule_DigestAddStringBuffer: fn(*mut RedisModuleDigest, *const c_char, usize);
    RedisModule_DigestEndSequence: fn(*mut RedisModuleDigest);

    // Only Valkey has these.
    ValkeyModule_MustObeyClient: fn(*mut RedisModuleCtx) -> c_int;
    ValkeyModule_GetModuleOptionsAll: fn() -> c_int;
}

/// Gets the server's functions, and passes it the module's name and version. Returns whether it has no
/// other module of this name.
///
/// # Safety
///
/// `context` is the context of the server's call of `RedisModule_OnLoad`.
pub(super) unsafe fn initialize(
    context: *mut RedisModuleCtx,
    name: &'static CStr,
    version: c_int,
) -> bool {
    // SAFETY: a context begins with the address of the function that tells the others.
    let get = unsafe { context.cast::<GetApi>().read() };
    find_functions(get);
    let is_busy = RedisModule_IsModuleNameBusy.get();
    // SAFETY: a C string that lives for ever; the context is the server's.
    unsafe {
        if is_busy.is_some_and(|is_busy| is_busy(name.as_ptr()) != 0) {
            return false;
        }
        RedisModule_SetModuleAttribs.get().is_some_and(|set| {
            set(context, name.as_ptr(), version, REDISMODULE_APIVER_1);
            true
        })
    }
}
