//! Descriptions of commands for the server: `COMMAND` and `COMMAND DOCS` return them, and the server checks
//! words, keys and permissions with them.
//!
//! The words after a command's name come from a line such as `key [CAPACITY capacity:integer]
//! [NOCREATE] ITEMS item...`. Words in capital letters are literal. The others are values, the key first;
//! `...` means one or more. Options are in brackets, and `|` separates
//! alternatives.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::{size_of, zeroed};
use std::ptr::{null, null_mut};

use super::{OK, raw, server_function};

/// How a command uses the memory and the keys of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads.
    Read,
    /// Reads, and takes time in proportion to the key.
    ReadAll,
    /// Changes, but allocates nothing.
    Shrink,
    /// Changes, and takes time in proportion to the key.
    Rebuild,
    /// Changes, and may allocate: refused when the server has no memory left.
    Grow,
    /// As [`Grow`](Self::Grow), and reads all further keys, its other words.
    Merge,
}

impl Access {
    pub(super) fn flags(self) -> &'static CStr {
        match self {
            Self::Read => c"readonly fast",
            Self::ReadAll => c"readonly",
            Self::Shrink => c"write fast",
            Self::Rebuild => c"write",
            Self::Grow | Self::Merge => c"write deny-oom",
        }
    }

    /// The server's own categories of access control, which it does not derive from the flags.
    pub(super) fn categories(self) -> &'static str {
        match self {
            Self::Read => "read fast",
            Self::ReadAll => "read slow",
            Self::Shrink => "write fast",
            Self::Rebuild | Self::Grow | Self::Merge => "write slow",
        }
    }
}

/// The words of a command, in the server's form.
#[derive(Default)]
struct DocArguments {
    /// The texts and lists of descriptions that descriptions point to.
    texts: Vec<CString>,
    lists: Vec<Vec<raw::RedisModuleCommandArg>>,
}

impl DocArguments {
    /// Reads the words after the name of a command. Returns their list.
    fn read(&mut self, words: &CStr) -> *mut raw::RedisModuleCommandArg {
        let spaced = words.to_string_lossy().replace('[', "[ ").replace(']', " ]");
        let (mut list, mut keys) = (Vec::new(), 0..);
        let mut words = spaced.split_whitespace();
        while let Some(word) = words.next() {
            let mut argument = if word == "[" {
                let inside: Vec<_> = words.by_ref().take_while(|word| *word != "]").collect();
                self.option(&inside)
            } else {
                self.argument(&[word])
            };
            if argument.r#type == raw::REDISMODULE_ARG_TYPE_KEY {
                argument.key_spec_index = keys.next().unwrap_or(0);
            }
            list.push(argument);
        }
        self.list(list)
    }

    /// A list, with the description that ends it.
    fn list(
        &mut self,
        mut list: Vec<raw::RedisModuleCommandArg>,
    ) -> *mut raw::RedisModuleCommandArg {
        list.push(raw::RedisModuleCommandArg::NONE);
        let start = list.as_mut_ptr();
        self.lists.push(list);
        start
    }

    fn text(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let start = text.as_ptr();
        self.texts.push(text);
        start
    }

    /// The content of brackets.
    fn option(&mut self, words: &[&str]) -> raw::RedisModuleCommandArg {
        let alternatives = words.split(|word| *word == "|").map(|words| self.argument(words));
        let mut alternatives: Vec<_> = alternatives.collect();
        let mut option = match alternatives.len() {
            1 => alternatives.remove(0),
            _ => raw::RedisModuleCommandArg {
                name: c"alternatives".as_ptr(),
                r#type: raw::REDISMODULE_ARG_TYPE_ONEOF,
                subargs: self.list(alternatives),
                ..raw::RedisModuleCommandArg::NONE
            },
        };
        option.flags |= raw::REDISMODULE_CMD_ARG_OPTIONAL;
        option
    }

    /// A literal word, a value, or both.
    fn argument(&mut self, words: &[&str]) -> raw::RedisModuleCommandArg {
        let (token, value) = match words {
            [word] if word.chars().all(char::is_uppercase) => (*word, None),
            [value] => ("", Some(*value)),
            [token, value, ..] => (*token, Some(*value)),
            [] => ("", None),
        };
        let value_name = value.map(|value| value.strip_suffix("...").unwrap_or(value));
        let lower = token.to_lowercase();
        let (name, kind) =
            value_name.map_or((&*lower, raw::REDISMODULE_ARG_TYPE_PURE_TOKEN), kind_of);
        let flags = if value_name == value { 0 } else { raw::REDISMODULE_CMD_ARG_MULTIPLE };
        raw::RedisModuleCommandArg {
            name: self.text(name),
            r#type: kind,
            flags,
            token: if token.is_empty() { null() } else { self.text(token) },
            ..raw::RedisModuleCommandArg::NONE
        }
    }
}

fn kind_of(value: &str) -> (&str, raw::RedisModuleCommandArgType) {
    match value.split_once(':') {
        Some((name, "integer")) => (name, raw::REDISMODULE_ARG_TYPE_INTEGER),
        Some((name, "double")) => (name, raw::REDISMODULE_ARG_TYPE_DOUBLE),
        Some((name, "key")) => (name, raw::REDISMODULE_ARG_TYPE_KEY),
        _ if value == "key" => (value, raw::REDISMODULE_ARG_TYPE_KEY),
        _ => (value, raw::REDISMODULE_ARG_TYPE_STRING),
    }
}

impl raw::RedisModuleCommandArg {
    /// Ends a list.
    const NONE: Self = Self {
        name: null(),
        r#type: raw::REDISMODULE_ARG_TYPE_STRING,
        key_spec_index: -1,
        token: null(),
        summary: null(),
        since: null(),
        flags: 0,
        deprecated_since: null(),
        subargs: null_mut(),
        display_text: null(),
    };
}

/// The first version of the interface, for all parts.
static VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

/// The version of the module that brought the commands.
const SINCE: &CStr = c"0.1.0";
/// The complexity of most commands.
const PER_ITEM: &CStr = c"O(1) for each item";
/// The complexity of commands that read or rebuild a filter.
const PER_FILTER: &CStr = c"O(n) with n the size of the filter";

/// Describes a command that was just created.
pub(super) fn describe(
    command: *mut raw::RedisModuleCommand,
    arity: c_int,
    words: &CStr,
    summary: &CStr,
    access: Access,
) -> bool {
    let own = match access {
        Access::Read | Access::ReadAll => raw::REDISMODULE_CMD_KEY_RO,
        Access::Shrink | Access::Rebuild | Access::Grow | Access::Merge => {
            raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE
        }
    };
    let mut keys = vec![key_spec(own | raw::REDISMODULE_CMD_KEY_ACCESS, 1, 0)];
    if access == Access::Merge {
        let read = raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS;
        keys.push(key_spec(read, 2, -1));
    }
    // SAFETY: all zeros mark the end of the list for the server, and missing
    // fields.
    let (end, mut info): (_, raw::RedisModuleCommandInfo) = unsafe { (zeroed(), zeroed()) };
    keys.push(end);
    info.version = &raw const VERSION;
    info.summary = summary.as_ptr();
    info.complexity = match access {
        Access::Read | Access::Shrink | Access::Grow => PER_ITEM.as_ptr(),
        Access::ReadAll | Access::Rebuild | Access::Merge => PER_FILTER.as_ptr(),
    };
    info.since = SINCE.as_ptr();
    info.arity = arity;
    info.key_specs = keys.as_mut_ptr();
    let mut arguments = DocArguments::default();
    info.args = arguments.read(words);
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
