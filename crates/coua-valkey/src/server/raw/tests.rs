//! Compares the declarations with the server's header `redismodule.h` or `valkeymodule.h`.
//!
//! The header is read as text. So the test needs no C compiler.

use std::collections::HashMap;

use super::FUNCTIONS;
use super::constants::CONSTANTS;
use super::types::{CALLBACKS, STRUCTURES};

/// Names another header.
const VARIABLE: &str = "COUA_SERVER_HEADER";
/// Where packages of the servers put it.
const USUAL: [&str; 2] = ["/usr/include/redismodule.h", "/usr/include/valkeymodule.h"];

/// The header, with the names that Redis gives its parts.
fn header() -> Option<String> {
    let named = std::env::var(VARIABLE);
    let paths = named.iter().map(String::as_str).chain(USUAL);
    let text = paths.into_iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let code = without_comments(&text);
    let code = code.replace("ValkeyModule", "RedisModule").replace("VALKEYMODULE", "REDISMODULE");
    Some(code.replace("CTX_FLAGS_REPLICA ", "CTX_FLAGS_SLAVE "))
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// The type in Rust of a parameter, a field or a result in C, with or without its name.
fn rust_type(declaration: &str) -> String {
    let spaced = declaration.replace('*', " * ").replace("struct ", "");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let is_type = |word: &&&str| {
        [
            "void", "char", "int", "long", "double", "unsigned", "size_t", "uint64_t", "mstime_t",
            "...",
        ]
        .contains(*word)
            || word.starts_with("RedisModule")
    };
    let base: Vec<_> = words.iter().filter(is_type).copied().collect();
    let base = match base.join(" ").as_str() {
        "void" => "c_void",
        "char" => "c_char",
        "unsigned char" => "c_uchar",
        "int" => "c_int",
        "unsigned int" => "c_uint",
        "long" => "c_long",
        "long long" | "mstime_t" => "c_longlong",
        "unsigned long long" => "c_ulonglong",
        "double" => "f64",
        "size_t" => "usize",
        "uint64_t" => "u64",
        other => return pointers(&words, other),
    };
    pointers(&words, base)
}

fn pointers(words: &[&str], base: &str) -> String {
    let stars = words.iter().filter(|word| **word == "*").count();
    let innermost = if words.contains(&"const") { "*const " } else { "*mut " };
    match stars {
        0 => base.to_owned(),
        stars => "*mut ".repeat(stars - 1) + innermost + base,
    }
}

/// Every function pointer that the header declares: its name, and the types of arguments and
/// result.
fn functions_of(header: &str) -> HashMap<String, (String, String)> {
    let mut found = HashMap::new();
    for statement in header.split(';') {
        let Some((before, rest)) = statement.split_once("(*") else { continue };
        let Some((name, rest)) = rest.split_once(')') else { continue };
        let Some(arguments) = rest.trim().strip_prefix('(').and_then(|it| it.split(')').next())
        else {
            continue;
        };
        let line = before.rsplit('\n').next().unwrap_or_default();
        let result = line.replace("REDISMODULE_API", "").replace("typedef", "");
        let result = rust_type(&result);
        let arguments: Vec<_> =
            arguments.split(',').map(rust_type).filter(|it| it != "c_void").collect();
        let result = if result == "c_void" { String::new() } else { result };
        found.insert(name.to_owned(), (arguments.join(", "), result));
    }
    found
}

/// Arguments as `stringify!` shows them, without its spaces and line breaks.
fn plain(arguments: &str) -> String {
    let inner = arguments.trim_start_matches('(').trim_end_matches(')');
    let spaced = inner.split_whitespace().collect::<Vec<_>>().join(" ").replace("* ", "*");
    spaced.replace(" ,", ",").trim_matches([' ', ',']).to_owned()
}

#[test]
fn functions_are_those_of_the_server() {
    let Some(header) = header() else {
        println!("skipped: no header of a server in {USUAL:?}, and none named by {VARIABLE}");
        return;
    };
    let declared = functions_of(&header);
    assert!(declared.len() > 300, "only {} functions were found", declared.len());
    for &(name, arguments, result) in FUNCTIONS.iter().chain(CALLBACKS) {
        let is_of_valkey = name.starts_with("ValkeyModule");
        let name = name.replace("ValkeyModule", "RedisModule");
        let Some((theirs, their_result)) = declared.get(&name) else {
            assert!(is_of_valkey, "the header has no {name}");
            continue;
        };
        assert_eq!(plain(arguments), *theirs, "arguments of {name}");
        assert_eq!(plain(result), *their_result, "result of {name}");
    }
}

#[test]
fn structures_are_those_of_the_server() {
    let Some(header) = header() else {
        println!("skipped: no header of a server");
        return;
    };
    for &(name, fields) in STRUCTURES {
        let end = header.find(&format!("}} {name};")).unwrap_or_else(|| panic!("no {name}"));
        let start = header[..end].rfind('{').unwrap_or_default() + 1;
        let theirs = header[start..end].split(';').map(str::trim).filter(|it| !it.is_empty());
        let theirs: Vec<_> = theirs
            .map(|field| {
                let name = field.rsplit([' ', '*']).next().unwrap_or_default();
                (name.to_owned(), rust_type(field))
            })
            .collect();
        assert_eq!(fields.len(), theirs.len(), "{name}");
        for (&(field, of_type), (their_field, their_type)) in fields.iter().zip(&theirs) {
            assert_eq!(field.trim_start_matches("r#"), their_field, "{name}");
            let is_equal = plain(of_type) == *their_type;
            assert!(of_type == "Unused" || is_equal, "{name}.{field}: {of_type}, {their_type}");
        }
    }
}

#[test]
fn numbers_are_those_of_the_server() {
    let Some(header) = header() else {
        println!("skipped: no header of a server");
        return;
    };
    for &(name, value) in CONSTANTS {
        let line = format!("#define {name} ");
        let text = header.lines().find_map(|it| it.strip_prefix(&line));
        let text = text.unwrap_or_else(|| panic!("the header has no {name}"));
        let text = text.trim().trim_matches(['(', ')']).replace("ULL", "");
        let number = |text: &str| text.trim().parse::<i128>().unwrap_or(-1);
        let theirs = match text.split_once("<<") {
            Some((one, shift)) => number(one) << number(shift),
            None => number(&text),
        };
        assert_eq!(value, theirs, "{name}");
    }
}
