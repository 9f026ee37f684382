//! A safe interface to the server's C interface: the only place of this crate with `unsafe`.
//!
//! For the other modules, commands are rows of a table of [`Command`]s, values of keys are
//! types with a [`ValueType`] implementation, and a [`Call`] gives access to the server while a
//! command runs. No panic leaves this module: every function that the server calls catches it.
//!
//! The server runs commands, and the functions of a type, one at a time with its lock held.
//! Only `free` may be called by another thread, for a value without other references.

#![expect(unsafe_code, reason = "calls C functions, and is called by them")]

mod allocator;
mod call;
mod command;
mod command_docs;
mod command_name;
mod configuration;
mod io;
mod key;
mod load;
mod raw;
mod reply;
mod timer;
mod value_type;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use allocator::{aligned_block_bytes, block_bytes};
pub(crate) use call::{Call, Word, random_bytes, shown};
pub(crate) use command::{Command, CommandEntry, commands, longest_command};
pub(crate) use command_docs::Access;
pub(crate) use command_name::{CommandName, command_name};
pub(crate) use configuration::{Setting, Unit};
pub(crate) use io::{AppendOnly, Pieces, RdbReader};
pub(crate) use key::Key;
pub(crate) use load::{ModuleSpec, load_module};
pub(crate) use reply::Reply;
pub(crate) use timer::commands_pending;
pub(crate) use value_type::{VALUES, ValueType};

/// A function of the server's interface, available after the module is initialized.
///
/// All functions called through this exist in Redis since 7.0 and in Valkey; others
/// are called with `if let`.
macro_rules! server_function {
    ($name:ident) => {
        crate::server::raw::$name
            .get()
            .expect(concat!("servers since version 7 have ", stringify!($name)))
    };
}
pub(crate) use server_function;

/// The server's code for success.
const OK: std::ffi::c_int = raw::REDISMODULE_OK;
/// The server's code for failure.
const FAILED: std::ffi::c_int = raw::REDISMODULE_ERR;

/// Runs `work`. Returns `otherwise` if it panics, which is a bug of this module. The
/// panic's message is then in the server's log (see `load`).
pub(super) fn catch_panic<R>(otherwise: R, work: impl FnOnce() -> R) -> R {
    // AssertUnwindSafe: the library's operations decide before they change anything; a value that a
    // bug leaves half changed gives wrong answers at worst, and the server cannot do without it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}
