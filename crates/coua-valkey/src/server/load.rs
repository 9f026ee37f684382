//! The module is loaded: its types, commands, settings and its section of `INFO` become known to
//! the server.

use std::ffi::{CStr, c_int, c_void};
use std::panic;
use std::sync::OnceLock;

use super::call::{bytes_of, log};
use super::command::Command;
use super::command_name::stand_beside;
use super::configuration::{Setting, register_settings};
use super::value_type::{ValueType, create_type};
use super::{FAILED, OK, catch_panic, raw, server_function};

/// Adds a category of access control, where the server has those of modules.
fn add_category(context: *mut raw::RedisModuleCtx, name: &CStr) {
    // SAFETY: the function came with Redis 7.4 and Valkey 8; a C string, which the server copies.
    unsafe {
        if let Some(add) = raw::RedisModule_AddACLCategory.get()
            && add(context, name.as_ptr()) != OK
        {
            log(context, c"notice", "the ACL category already exists");
        }
    }
}

/// The name of the module, which is global on a server.
const NAME: &CStr = c"coua";
/// Its version in `MODULE LIST`: major * 10,000 + minor * 100 + patch.
const VERSION: c_int = 100;
/// The category of access control of its commands.
const CATEGORY: &CStr = c"cuckoo";
/// The category where its commands have other names.
const CATEGORY_BESIDE: &CStr = c"coua";

/// The content of a module.
pub(crate) struct ModuleSpec {
    /// Its commands.
    pub(crate) commands: &'static [Command],
    /// Its settings.
    pub(crate) settings: &'static [&'static Setting],
    /// Its section of `INFO`.
    pub(crate) info: InfoSection,
}

/// Loads the module, whose keys have values of a type.
///
/// # Safety
///
/// The arguments are those with which the server has called `RedisModule_OnLoad`.
pub(crate) unsafe fn load_module<T: ValueType>(
    spec: &'static ModuleSpec,
    context: *mut c_void,
    words: *mut *mut c_void,
    count: c_int,
) -> c_int {
    let context: *mut raw::RedisModuleCtx = context.cast();
    // Nothing is allocated before this: the allocator would not be the server's.
    // SAFETY: the context is the server's.
    let initialized = unsafe { raw::initialize(context, NAME, VERSION) };
    if !initialized {
        // The server has provided its functions, but refused the name.
        let why = "the module is not loaded: a module named coua is already loaded";
        catch_panic((), || log(context, c"warning", why));
        return FAILED;
    }
    let loaded = catch_panic(Err("it panicked".to_owned()), || {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: as many strings of the server as it says, which live during this call.
        let arguments: Vec<&[u8]> =
            (0..count).map(|number| unsafe { bytes_of((*words.add(number)).cast()) }).collect();
        load::<T>(spec, context, &arguments)
    });
    match loaded {
        Ok(()) => OK,
        Err(why) => {
            log(context, c"warning", &format!("the module is not loaded: {why}"));
            FAILED
        }
    }
}

/// The option that lets slots of a cluster be moved while they are in use, if the server has it:
/// Valkey since 9. It moves keys as an append-only file does. Redis may mean something else by the
/// same bit.
fn slot_migration() -> c_int {
    // SAFETY: a function without arguments.
    let known = raw::ValkeyModule_GetModuleOptionsAll.get().map_or(0, |all| unsafe { all() });
    known & raw::VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION
}

fn load<T: ValueType>(
    spec: &'static ModuleSpec,
    context: *mut raw::RedisModuleCtx,
    arguments: &[&[u8]],
) -> Result<(), String> {
    panic::set_hook(Box::new(|panic| {
        // The server's own crash report follows if the panic is in the server's way.
        log(
            std::ptr::null_mut(),
            c"warning",
            &format!("internal error of the module coua: {panic}"),
        );
    }));
    // SAFETY: the context is valid while the module is loaded.
    unsafe {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            // A replica may answer from its old data while it loads new data: values share nothing.
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
            | slot_migration();
        server_function!(RedisModule_SetModuleOptions)(context, options);
    }
    avoid_huge_pages();
    register_commands::<T>(spec.commands, context)?;
    register_settings(spec.settings, context, arguments)?;
    if register_info(context, spec.info) {
        Ok(())
    } else {
        Err("its section of INFO cannot be registered".to_owned())
    }
}

/// Adds the type and the commands. Where the server has commands of their usual names, they have other names.
fn register_commands<T: ValueType>(
    commands: &[Command],
    context: *mut raw::RedisModuleCtx,
) -> Result<(), String> {
    let mut category = CATEGORY;
    if commands.iter().any(|command| command.exists(context)) {
        stand_beside();
        category = CATEGORY_BESIDE;
        let line = "the server already has CF.* commands, so those of this module are COUA.*";
        log(context, c"notice", line);
    }
    if !create_type::<T>(context) {
        return Err("another module already has a type of the same name".to_owned());
    }
    add_category(context, category);
    commands.iter().try_for_each(|command| command.register(context, category))
}

/// Places the memory that this server maps from now on in pages of the usual size, as servers themselves advise: the
/// slowest command matters more than throughput. The system clears 2 MiB when a huge page is first touched: 0.2 ms,
/// and 5 ms in a virtual machine that does not have the memory yet.
#[cfg(target_os = "linux")]
fn avoid_huge_pages() {
    // SAFETY: the call reads no memory. If it fails, commands are slower, not wrong.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

#[cfg(not(target_os = "linux"))]
fn avoid_huge_pages() {}

/// What the module tells: names and numbers.
pub(crate) type InfoSection = fn() -> Vec<(&'static CStr, u64)>;

/// The section of the module that was loaded.
static SECTION: OnceLock<InfoSection> = OnceLock::new();

/// Registers the section.
fn register_info(context: *mut raw::RedisModuleCtx, section: InfoSection) -> bool {
    SECTION.get_or_init(|| section);
    // SAFETY: the function stays loaded as long as the module.
    unsafe { server_function!(RedisModule_RegisterInfoFunc)(context, Some(write_info)) == OK }
}

unsafe extern "C" fn write_info(info: *mut raw::RedisModuleInfoCtx, _for_crash_report: c_int) {
    catch_panic((), || {
        // SAFETY: the server's own, valid during this call; names are C strings.
        unsafe {
            if server_function!(RedisModule_InfoAddSection)(info, c"filters".as_ptr()) != OK {
                return;
            }
            for (name, number) in SECTION.get().map_or_else(Vec::new, |section| section()) {
                server_function!(RedisModule_InfoAddFieldULongLong)(info, name.as_ptr(), number);
            }
        }
    });
}
