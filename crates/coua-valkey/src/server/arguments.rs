//! The words of a command, as the server's `COMMAND DOCS` tells them.
//!
//! They come from a line such as `key [CAPACITY capacity:integer] [NOCREATE] ITEMS item...`. Words in
//! capital letters stand as they are. The others are places for values, of which the key is the first; `...`
//! is for one or more. In brackets are options, and `|` stands between alternatives.

use std::ffi::{CStr, CString, c_int};
use std::ptr::{null, null_mut};

use super::raw;

/// A word, a word and the value after it, or alternatives.
struct Argument {
    name: CString,
    kind: raw::RedisModuleCommandArgType,
    token: Option<CString>,
    flags: c_int,
    alternatives: Vec<Argument>,
}

/// The words of a command, in the form that the server takes.
pub(super) struct Arguments {
    /// Owns what the descriptions point to.
    _owned: Vec<Argument>,
    /// The lists of alternatives, which descriptions point to.
    _lists: Vec<Vec<raw::RedisModuleCommandArg>>,
    descriptions: Vec<raw::RedisModuleCommandArg>,
}

impl Arguments {
    /// Of the words after the name of a command.
    pub(super) fn of(words: &CStr) -> Self {
        let spaced = words.to_string_lossy().replace('[', "[ ").replace(']', " ]");
        let mut arguments = Vec::new();
        let mut words = spaced.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if word == "[" {
                let inside: Vec<_> = words.by_ref().take_while(|word| *word != "]").collect();
                arguments.push(option(&inside));
            } else {
                arguments.push(argument(&[word]));
            }
        }
        let mut lists = Vec::new();
        let descriptions = describe_all(&arguments, &mut lists);
        Self { _owned: arguments, _lists: lists, descriptions }
    }

    /// What the server reads, to a description of zeros.
    pub(super) fn as_mut_ptr(&mut self) -> *mut raw::RedisModuleCommandArg {
        self.descriptions.as_mut_ptr()
    }
}

/// What stands in brackets.
fn option(words: &[&str]) -> Argument {
    let mut alternatives: Vec<_> = words.split(|word| *word == "|").map(argument).collect();
    let mut option = match alternatives.len() {
        1 => alternatives.remove(0),
        _ => Argument {
            name: c"alternatives".to_owned(),
            kind: raw::REDISMODULE_ARG_TYPE_ONEOF,
            token: None,
            flags: 0,
            alternatives,
        },
    };
    option.flags |= raw::REDISMODULE_CMD_ARG_OPTIONAL;
    option
}

/// A word in capital letters, a value, or one after the other.
fn argument(words: &[&str]) -> Argument {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let (token, value) = match words {
        [word] if word.chars().all(char::is_uppercase) => (Some(*word), None),
        [value] => (None, Some(*value)),
        [token, value, ..] => (Some(*token), Some(*value)),
        [] => (None, None),
    };
    let Some(value) = value else {
        let token = token.unwrap_or_default();
        return Argument {
            name: text(&token.to_lowercase()),
            kind: raw::REDISMODULE_ARG_TYPE_PURE_TOKEN,
            token: Some(text(token)),
            flags: 0,
            alternatives: Vec::new(),
        };
    };
    let single = value.strip_suffix("...");
    let (name, kind) = kind_of(single.unwrap_or(value));
    let flags = if single.is_some() { raw::REDISMODULE_CMD_ARG_MULTIPLE } else { 0 };
    Argument { name: text(name), kind, token: token.map(text), flags, alternatives: Vec::new() }
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

/// Descriptions of all arguments, and one of zeros that ends them.
fn describe_all(
    arguments: &[Argument],
    lists: &mut Vec<Vec<raw::RedisModuleCommandArg>>,
) -> Vec<raw::RedisModuleCommandArg> {
    let mut keys = 0..;
    let mut descriptions: Vec<_> = arguments
        .iter()
        .map(|argument| {
            let mut description = raw::RedisModuleCommandArg {
                name: argument.name.as_ptr(),
                r#type: argument.kind,
                flags: argument.flags,
                token: argument.token.as_ref().map_or(null(), |token| token.as_ptr()),
                ..raw::RedisModuleCommandArg::NONE
            };
            if argument.kind == raw::REDISMODULE_ARG_TYPE_KEY {
                description.key_spec_index = keys.next().unwrap_or(0);
            }
            if !argument.alternatives.is_empty() {
                let mut list = describe_all(&argument.alternatives, lists);
                description.subargs = list.as_mut_ptr();
                lists.push(list);
            }
            description
        })
        .collect();
    descriptions.push(raw::RedisModuleCommandArg::NONE);
    descriptions
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
