//! Commands made known to the server, and how it calls them.

use std::ffi::{CStr, CString, c_int};

use super::call::{Call, log};
use super::catch::caught;
use super::command::Command;
use super::description::describe;
use super::loader::Loader;
use super::{FAILED, OK, raw, respond, server_function};
use crate::refusal::Refusal;
use crate::reply::Reply;

/// Whether the server has a command of this name, its own or another module's.
pub(super) fn exists(context: *mut raw::RedisModuleCtx, name: &CStr) -> bool {
    // SAFETY: asks for a command by its name; null if it is there but belongs to somebody else, which
    // is why `register` may still fail.
    let reply = unsafe {
        server_function!(RedisModule_Call)(
            context,
            c"COMMAND".as_ptr(),
            c"cc".as_ptr(),
            c"INFO".as_ptr(),
            name.as_ptr(),
        )
    };
    if reply.is_null() {
        return false;
    }
    // SAFETY: a reply of the server: an array with one element, which is an array if the command is
    // there, else null; each function checks the type of what it gets.
    unsafe {
        let first = server_function!(RedisModule_CallReplyArrayElement)(reply, 0);
        let found = !first.is_null()
            && server_function!(RedisModule_CallReplyType)(first) == raw::REDISMODULE_REPLY_ARRAY;
        server_function!(RedisModule_FreeCallReply)(reply);
        found
    }
}

impl Loader {
    /// Adds a command, to a category of access control and to the server's own if it has those of modules.
    pub(crate) fn command<C: Command>(&self, category: &CStr) -> Result<(), String> {
        register::<C>(self.context, category)
            .map_err(|name| format!("command {} cannot be added", name.to_string_lossy()))
    }
}

fn register<C: Command>(
    context: *mut raw::RedisModuleCtx,
    category: &CStr,
) -> Result<(), &'static CStr> {
    let last_key = if C::HAS_SOURCES { -1 } else { 1 };
    // SAFETY: names and flags are C strings, which the server copies.
    let command = unsafe {
        let created = server_function!(RedisModule_CreateCommand)(
            context,
            C::NAME.as_ptr(),
            Some(run::<C>),
            C::ACCESS.flags().as_ptr(),
            1,
            last_key,
            1,
        );
        if created != OK {
            return Err(C::NAME);
        }
        server_function!(RedisModule_GetCommand)(context, C::NAME.as_ptr())
    };
    if command.is_null() || !describe::<C>(command) {
        return Err(C::NAME);
    }
    let categories = format!("{} {}", category.to_string_lossy(), C::ACCESS.categories());
    let categories = CString::new(categories).map_err(|_| C::NAME)?;
    // SAFETY: these two functions came with Redis 7.2 and 7.4 and with Valkey 8; where one is missing
    // there are no categories of modules.
    unsafe {
        if let (Some(assign), Some(_)) =
            (raw::RedisModule_SetCommandACLCategories.get(), raw::RedisModule_AddACLCategory.get())
            && assign(command, categories.as_ptr()) != OK
        {
            log(context, c"notice", "a command could not be put into its categories");
        }
    }
    Ok(())
}

/// What the server calls.
unsafe extern "C" fn run<C: Command>(
    context: *mut raw::RedisModuleCtx,
    words: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    let done = caught(None, || {
        // SAFETY: the server gives the words of the command, which live while it runs.
        let call = unsafe { Call::new(context, words, count) };
        let answer = C::run(&call).unwrap_or_else(Reply::Refused);
        respond::send(&call, &answer);
        Some(())
    });
    if done.is_none() {
        respond::send_refusal(context, &Refusal::Defect);
        return FAILED;
    }
    OK
}
