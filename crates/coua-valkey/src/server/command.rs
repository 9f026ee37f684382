//! Commands as rows of a table, their registration, and their calls.

use std::ffi::{CStr, CString, c_int};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::call::{Call, log};
use super::command_docs::{Access, describe};
use super::command_name::CommandName;
use super::reply::{self, Reply};
use super::{FAILED, OK, catch_panic, raw, server_function};
use crate::error::CommandError;

/// A command of the module.
pub(crate) struct Command {
    /// Its name.
    pub(crate) name: CommandName,
    /// Its number of words; negative: the minimum.
    pub(crate) arity: c_int,
    /// The words after its name, the first of them a key, as [`command_docs`](super::command_docs)
    /// reads them.
    pub(crate) words: &'static CStr,
    /// Its summary.
    pub(crate) summary: &'static CStr,
    /// How it uses its key.
    pub(crate) access: Access,
    /// Its function.
    pub(crate) run: CommandEntry,
}

/// The table of a family's commands. A row has the name, the number of words, the access, the
/// function, the words and the summary of a [`Command`].
macro_rules! commands {
    ($($name:literal, $arity:expr, $access:ident, $function:expr, $words:expr, $summary:expr;)+) => {
        &[$(crate::server::Command {
            name: crate::server::command_name!($name),
            arity: $arity,
            words: $words,
            summary: $summary,
            access: crate::server::Access::$access,
            run: crate::server::CommandEntry::of($function),
        },)+]
    };
}
pub(crate) use commands;

/// The function that the server calls for a command.
pub(crate) struct CommandEntry(
    unsafe extern "C" fn(
        *mut raw::RedisModuleCtx,
        *mut *mut raw::RedisModuleString,
        c_int,
    ) -> c_int,
);

/// The function of a command.
pub(crate) trait Work: Fn(&Call<'_>) -> Result<Reply, CommandError> + Copy {}

impl<F: Fn(&Call<'_>) -> Result<Reply, CommandError> + Copy> Work for F {}

impl CommandEntry {
    /// The entry for a function.
    pub(crate) const fn of<F: Work>(_function: F) -> Self {
        const { assert!(size_of::<F>() == 0, "a function, whose type says which") };
        Self(run::<F>)
    }
}

/// Microseconds of the longest command.
static LONGEST: AtomicU64 = AtomicU64::new(0);

/// Microseconds that the longest command has taken since the module was loaded.
pub(crate) fn longest_command() -> u64 {
    LONGEST.load(Ordering::Relaxed)
}

/// The server's callback.
unsafe extern "C" fn run<F: Work>(
    context: *mut raw::RedisModuleCtx,
    words: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    let begun = Instant::now();
    let done = catch_panic(None, || {
        // SAFETY: a function has no bytes, so any aligned address refers to one; `CommandEntry::of`
        // was given this one.
        let function = unsafe { NonNull::<F>::dangling().as_ref() };
        // SAFETY: the server gives the words of the command, which live while it runs.
        let call = unsafe { Call::new(context, words, count) };
        let answer = function(&call).unwrap_or_else(Reply::Error);
        reply::send(&call, &answer);
        Some(())
    });
    LONGEST.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
    if done.is_none() {
        reply::send_error(context, &CommandError::Defect);
        return FAILED;
    }
    OK
}

impl Command {
    /// Whether the server has a command of the usual name, its own or another module's.
    pub(super) fn exists(&self, context: *mut raw::RedisModuleCtx) -> bool {
        // SAFETY: asks for a command by its name; null if it is there but belongs to the server,
        // which is why `register` may still fail.
        let reply = unsafe {
            server_function!(RedisModule_Call)(
                context,
                c"COMMAND".as_ptr(),
                c"cc".as_ptr(),
                c"INFO".as_ptr(),
                self.name.usual.as_ptr(),
            )
        };
        if reply.is_null() {
            return false;
        }
        // SAFETY: a reply of the server: an array with one element, which is an array if the
        // command is there, else null; each function checks the type of what it gets.
        unsafe {
            let first = server_function!(RedisModule_CallReplyArrayElement)(reply, 0);
            let found = !first.is_null()
                && server_function!(RedisModule_CallReplyType)(first)
                    == raw::REDISMODULE_REPLY_ARRAY;
            server_function!(RedisModule_FreeCallReply)(reply);
            found
        }
    }

    /// Adds the command, to a category of access control and to the server's own if it has those of
    /// modules.
    pub(super) fn register(
        &self,
        context: *mut raw::RedisModuleCtx,
        category: &CStr,
    ) -> Result<(), String> {
        let name = self.name.on_server();
        let refused = || format!("cannot add the command {}", name.to_string_lossy());
        let last_key = if self.access == Access::Merge { -1 } else { 1 };
        // SAFETY: names and flags are C strings, which the server copies.
        let command = unsafe {
            let created = server_function!(RedisModule_CreateCommand)(
                context,
                name.as_ptr(),
                Some(self.run.0),
                self.access.flags().as_ptr(),
                1,
                last_key,
                1,
            );
            if created != OK {
                return Err(refused());
            }
            server_function!(RedisModule_GetCommand)(context, name.as_ptr())
        };
        if command.is_null()
            || !describe(command, self.arity, self.words, self.summary, self.access)
        {
            return Err(refused());
        }
        let categories = format!("{} {}", category.to_string_lossy(), self.access.categories());
        let categories = CString::new(categories).map_err(|_| refused())?;
        // SAFETY: these two functions came with Redis 7.2 and 7.4 and with Valkey 8; where one is
        // missing there are no categories of modules.
        unsafe {
            if let (Some(assign), Some(_)) = (
                raw::RedisModule_SetCommandACLCategories.get(),
                raw::RedisModule_AddACLCategory.get(),
            ) && assign(command, categories.as_ptr()) != OK
            {
                log(context, c"notice", "a command could not be added to its ACL categories");
            }
        }
        Ok(())
    }
}
