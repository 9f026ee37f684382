//! Cuckoo filters as a module for Valkey and Redis.
//!
//! A command passes each module once: `server` (the C interface) -> `commands` (words to a checked
//! request, and to a reply) -> the `value` of the key -> `cuckoo` -> the library. `docs/valkey.md` describes the commands; `tests/texts.txt` lists all texts.

mod commands;
mod cuckoo;
mod error;
#[doc(hidden)]
#[cfg(any(test, feature = "fuzz"))]
pub mod harness;
mod parse;
#[doc(hidden)]
pub mod redisbloom;
mod server;
mod settings;
mod value;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use server::{ModuleSpec, VALUES};
use value::Value;

static SPEC: ModuleSpec =
    ModuleSpec { commands: commands::COMMANDS, settings: settings::ALL, info };

/// The server calls this first.
///
/// # Safety
///
/// Only the server calls it.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "called by the server")]
pub unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut c_void,
    words: *mut *mut c_void,
    count: c_int,
) -> c_int {
    // SAFETY: the server's own arguments.
    unsafe { server::load_module::<Value>(&SPEC, context, words, count) }
}

fn info() -> Vec<(&'static CStr, u64)> {
    vec![
        (c"cuckoo_filters", VALUES.values()),
        (c"cuckoo_bytes", VALUES.bytes()),
        (c"mapped_bytes", cuckoo::MemoryCharge::total()),
        (c"items_inserted", settings::INSERTED.load(Relaxed)),
        (c"items_removed", settings::REMOVED.load(Relaxed)),
        (c"items_refused", settings::REFUSED.load(Relaxed)),
        (c"growths", settings::GROWTHS.load(Relaxed)),
        (c"rebuilds", settings::REBUILDS.load(Relaxed)),
        (c"compactions_pending", server::commands_pending()),
        (c"longest_command_usec", server::longest_command()),
    ]
}
