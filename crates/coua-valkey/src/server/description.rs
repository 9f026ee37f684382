//! What the server's `COMMAND` tells of a command, and by which it checks words, keys and permissions.

use std::ffi::{CStr, c_int};
use std::mem::{size_of, zeroed};

use super::arguments::Arguments;
use super::command::{Access, Command};
use super::{OK, raw, server_function};

/// All parts are of the first version of the interface.
static VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

/// The version of the module that brought the commands.
const SINCE: &CStr = c"0.1.0";
/// How long most commands take.
const PER_ITEM: &CStr = c"O(1) for each item";
/// How long those take that read or rebuild a filter.
const PER_FILTER: &CStr = c"O(n) with n the size of the filter";

/// Describes a command that was just created.
pub(super) fn describe<C: Command>(command: *mut raw::RedisModuleCommand) -> bool {
    let own = match C::ACCESS {
        Access::Read | Access::ReadAll => raw::REDISMODULE_CMD_KEY_RO,
        Access::Shrink | Access::Rebuild | Access::Grow => {
            raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE
        }
    };
    let mut keys = vec![key_spec(own | raw::REDISMODULE_CMD_KEY_ACCESS, 1, 0)];
    if C::HAS_SOURCES {
        let read = raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS;
        keys.push(key_spec(read, 2, -1));
    }
    // SAFETY: all zeros are what the server takes for the end of the list, and for fields not given.
    let (end, mut info): (_, raw::RedisModuleCommandInfo) = unsafe { (zeroed(), zeroed()) };
    keys.push(end);
    info.version = &raw const VERSION;
    info.summary = C::SUMMARY.as_ptr();
    info.complexity = match C::ACCESS {
        _ if C::HAS_SOURCES => PER_FILTER.as_ptr(),
        Access::Read | Access::Shrink | Access::Grow => PER_ITEM.as_ptr(),
        Access::ReadAll | Access::Rebuild => PER_FILTER.as_ptr(),
    };
    info.since = SINCE.as_ptr();
    info.arity = C::ARITY;
    info.key_specs = keys.as_mut_ptr();
    let mut arguments = Arguments::of(C::WORDS);
    info.args = arguments.as_mut_ptr();
    // SAFETY: a command of this module, and a description that the server copies.
    unsafe { server_function!(RedisModule_SetCommandInfo)(command, &raw const info) == OK }
}

/// Keys from word `first` on: one, or with `last` -1 all.
fn key_spec(flags: u64, first: c_int, last: c_int) -> raw::RedisModuleCommandKeySpec {
    // SAFETY: all zeros are a description in which nothing is given yet.
    let mut spec: raw::RedisModuleCommandKeySpec = unsafe { zeroed() };
    spec.flags = flags;
    spec.begin_search_type = raw::REDISMODULE_KSPEC_BS_INDEX;
    spec.begin_search.index = first;
    spec.find_keys_type = raw::REDISMODULE_KSPEC_FK_RANGE;
    spec.range = raw::KeyRange { lastkey: last, keystep: 1, limit: 0 };
    spec
}
