//! `include/coua.h` is what cbindgen makes of the documentation, and `tests/abi.txt` lists what a program is linked
//! with. To write them again: `COUA_WRITE_HEADER=1 cargo test -p coua-c header`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::library_folder;
use cbindgen::{
    Builder, Config, DocumentationStyle, ExportConfig, FunctionConfig, Language, Layout, Style,
};

/// In the order of the header.
const SOURCES: [&str; 11] = [
    "status",
    "filter",
    "options",
    "keys",
    "exports/errors",
    "exports/lifetime",
    "exports/single",
    "exports/batch",
    "exports/measures",
    "exports/files",
    "exports/shared",
];

/// Enumerations that fields name by number.
const NUMBERS: [&str; 4] = ["coua_when_full", "coua_clock", "coua_window_by", "coua_key_kind"];

const TOP: &str = "\
// coua.h: cuckoo filters that answer \"have I seen this before?\" in a few bytes per key, for C11 and C++17.
// docs/c.md is the guide. This file is generated from the sources of libcoua.
//
// The rules for every call:
//
// * It returns a coua_status: COUA_OK (0), or the reason of the failure. Results are stored through pointers, and are
//   unspecified after a failure. coua_last_error() returns the message.
// * A handle comes from a call of this library, and must be freed once, by coua_free(). Any thread may make any call
//   with any handle at any time, except coua_free(). Calls that change a filter (those without const) wait for each
//   other; coua_shared_create() creates a filter that threads can change concurrently.
// * Other pointers must be valid during the call for everything that is read or written there; the library does not
//   keep them. NULL is an error unless the comment allows it, or its length or count is 0. A misaligned, overlapping
//   or impossibly large argument is an error.
// * A failed call changes nothing, unless its comment says otherwise.
// * A key has the same hash, and a filter the same bytes, in every language and on every machine.";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares with what is checked in, or writes that again.
fn is_as_written(file: &Path, made: &str) {
    if std::env::var_os("COUA_WRITE_HEADER").is_some() {
        fs::write(file, made).expect("a file that can be written");
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    assert!(
        found == made,
        "{} is not as the sources say: look at the difference after \
         `COUA_WRITE_HEADER=1 cargo test -p coua-c header`",
        file.display()
    );
}

fn header() -> String {
    let [major, minor, patch] =
        ["MAJOR", "MINOR", "PATCH"].map(|part| std::env::var(format!("CARGO_PKG_VERSION_{part}")));
    let version = [major, minor, patch].map(|part| part.expect("cargo says the version")).join(".");
    let after = format!(
        "// The version of this file; coua_version() is that of the library.\n\
         #define COUA_VERSION \"{version}\"\n\n\
         #if defined(_WIN32) && defined(COUA_SHARED)\n\
         #define COUA_API __declspec(dllimport)\n\
         #else\n\
         #define COUA_API\n\
         #endif"
    );
    let config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        header: Some(TOP.to_owned()),
        include_guard: Some("COUA_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        after_includes: Some(after),
        line_length: 120,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C99,
        function: FunctionConfig {
            prefix: Some("COUA_API".to_owned()),
            args: Layout::Auto,
            ..FunctionConfig::default()
        },
        export: ExportConfig {
            include: NUMBERS.map(str::to_owned).to_vec(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let sources =
        SOURCES.iter().map(|source| folder().join("src").join(source).with_extension("rs"));
    let builder = sources.fold(Builder::new().with_config(config), Builder::with_src);
    let mut text = Vec::new();
    builder.generate().expect("sources that cbindgen reads").write(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn coua_h_is_what_the_sources_say() {
    is_as_written(&folder().join("include/coua.h"), &header());
}

/// Every exported symbol with its declaration, and every number that a program takes from the header.
#[test]
fn needs_nm_the_binary_interface_is_as_listed() {
    let library = library_folder().join("libcoua.so");
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output();
    let listed = String::from_utf8(listed.expect("nm").stdout).expect("text");
    let header = header();
    let code = header.lines().filter(|line| !line.starts_with('#'));
    let code = code.map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join(" ");
    let declarations: Vec<String> =
        code.split(';').map(|item| item.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let mut lines = Vec::new();
    for symbol in listed.lines().filter_map(|line| line.split(' ').next_back()) {
        let call = format!("{symbol}(");
        let declared = declarations.iter().find(|item| item.contains(&call));
        let declared = declared.unwrap_or_else(|| panic!("{symbol} is exported but not in coua.h"));
        lines.push(declared.split("COUA_API ").last().expect("a declaration").to_owned());
    }
    for item in declarations.iter().filter(|item| item.contains("COUA_API ")) {
        let declared = item.split("COUA_API ").last().expect("a declaration");
        assert!(lines.iter().any(|line| line == declared), "{declared}: is not exported");
    }
    lines.sort();
    let constants =
        code.split(['{', ',', '}']).filter(|item| item.contains("COUA_") && item.contains('='));
    lines.extend(constants.map(|item| item.trim().to_owned()));
    lines.push(String::new());
    is_as_written(&folder().join("tests/abi.txt"), &lines.join("\n"));
}
