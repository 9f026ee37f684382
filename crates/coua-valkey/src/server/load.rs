//! The module is loaded.

use std::ffi::{CStr, c_int, c_void};
use std::panic;

use super::call::{bytes_of, log};
use super::catch::caught;
use super::configuration::Configuration;
use super::info::InfoSection;
use super::loader::Loader;
use super::{FAILED, OK, info, raw, registration, server_function};

/// Commands of one prefix, with the type of their keys. Where a server has one of them already, it has
/// all, and keeps them.
pub(crate) struct Family {
    /// The prefix.
    pub(crate) name: &'static str,
    /// A command whose presence tells.
    pub(crate) probe: &'static CStr,
    /// Adds them.
    pub(crate) add: fn(&Loader) -> Result<(), String>,
}

/// A module: what the server is told when it is loaded.
pub(crate) struct ModuleSpec {
    /// Its name, which is global on a server.
    pub(crate) name: &'static CStr,
    /// What `MODULE LIST` tells.
    pub(crate) version: c_int,
    /// Its commands.
    pub(crate) families: &'static [Family],
    /// Its settings.
    pub(crate) configuration: &'static Configuration,
    /// What it tells in the answer to `INFO`.
    pub(crate) info: InfoSection,
}

/// Loads a module.
///
/// # Safety
///
/// The arguments are those with which the server has called `RedisModule_OnLoad`.
pub(crate) unsafe fn load_module(
    spec: &'static ModuleSpec,
    context: *mut c_void,
    words: *mut *mut c_void,
    count: c_int,
) -> c_int {
    let context: *mut raw::RedisModuleCtx = context.cast();
    // Nothing is allocated before this: the allocator would not be the server's.
    // SAFETY: the context is the server's.
    let initialized = unsafe { raw::initialize(context, spec.name, spec.version) };
    if !initialized {
        // The server has given its functions then, and refused the name.
        let why = "the module is not loaded: a module named coua is there already";
        caught((), || log(context, c"warning", why));
        return FAILED;
    }
    let loaded = caught(Err("it panicked".to_owned()), || {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: as many strings of the server as it says, which live during this call.
        let arguments: Vec<&[u8]> =
            (0..count).map(|number| unsafe { bytes_of((*words.add(number)).cast()) }).collect();
        load(spec, context, &arguments)
    });
    match loaded {
        Ok(()) => OK,
        Err(why) => {
            log(context, c"warning", &format!("the module is not loaded: {why}"));
            FAILED
        }
    }
}

/// The option that lets slots of a cluster be moved while they are in use, if the server has it: Valkey
/// since 9. It moves keys as an append-only file does. Redis may mean something else by the same bit.
fn slot_migration() -> c_int {
    // SAFETY: a function without arguments.
    let known = raw::ValkeyModule_GetModuleOptionsAll.get().map_or(0, |all| unsafe { all() });
    known & raw::VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION
}

fn load(
    spec: &'static ModuleSpec,
    context: *mut raw::RedisModuleCtx,
    arguments: &[&[u8]],
) -> Result<(), String> {
    panic::set_hook(Box::new(|panic| {
        // The server's own crash report follows if the panic is in the server's way.
        log(std::ptr::null_mut(), c"warning", &format!("a defect of the module coua: {panic}"));
    }));
    // SAFETY: the context is valid while the module is loaded.
    unsafe {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            // A replica may answer from its old data while it loads new: values share nothing.
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
            | slot_migration();
        server_function!(RedisModule_SetModuleOptions)(context, options);
    }
    coua::avoid_huge_pages();
    let loader = Loader { context };
    for family in spec.families {
        if registration::exists(context, family.probe) {
            let name = family.name;
            log(
                context,
                c"notice",
                &format!("{name} commands are there already: those of this module are left out"),
            );
            continue;
        }
        (family.add)(&loader)?;
    }
    spec.configuration.register(context, arguments)?;
    if info::register(context, spec.info) {
        Ok(())
    } else {
        Err("its section of INFO cannot be registered".to_owned())
    }
}
