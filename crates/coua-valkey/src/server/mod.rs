//! The server's C interface, made safe: the only place of this crate with `unsafe`.
//!
//! What the other modules see: commands are unit types with a [`Command`] implementation, values of
//! keys are types with a [`NativeType`] implementation, and a [`Call`] gives access to the server
//! while a command runs. No panic leaves this module: every function that the server calls catches it.
//!
//! The server runs commands, and the functions of a type, one at a time and with its lock held. Only
//! `free` may come from another thread, for a value that nothing else refers to any more.

#![expect(unsafe_code, reason = "calls C functions, and is called by them")]

mod allocator;
mod arguments;
mod call;
mod catch;
mod command;
mod configuration;
mod description;
mod info;
mod io;
mod key;
mod later;
mod load;
mod loader;
mod native;
mod raw;
mod registration;
mod respond;

pub(crate) use allocator::{aligned_block_bytes, block_bytes};
pub(crate) use call::{Call, Word, random_bytes};
pub(crate) use command::{Access, Command};
pub(crate) use configuration::{Configuration, RateSetting, Setting, Unit};
pub(crate) use io::{AppendOnly, RdbReader};
pub(crate) use key::Key;
pub(crate) use later::commands_pending;
pub(crate) use load::{Family, ModuleSpec, load_module};
pub(crate) use loader::Loader;
pub(crate) use native::{NativeType, TypeSlot};

/// A function of the server's interface, which is there once the module is initialized.
///
/// All functions called through this exist in Redis since 7.0 and in Valkey; those that do not
/// are asked for with `if let`.
macro_rules! server_function {
    ($name:ident) => {
        crate::server::raw::$name
            .get()
            .expect(concat!("servers since version 7 have ", stringify!($name)))
    };
}
pub(crate) use server_function;

/// What the server's functions mean by success.
const OK: std::ffi::c_int = raw::REDISMODULE_OK;
/// And by failure.
const FAILED: std::ffi::c_int = raw::REDISMODULE_ERR;
