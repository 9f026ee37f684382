//! Filters that the program `coua` and a program in C make for each other, with 100,000 keys of all kinds.
//! `COUA_PROGRAM` names the program.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use coua::CuckooFilter;
use coua_store::Options;

use crate::compile::{Linked, Program, output};

/// Between two records, as in `program.c`.
const END: &str = r"\xff\x00|end of key|\n";

/// Without the program: a note as it writes them.
#[test]
fn needs_cc_a_description_says_how_the_program_makes_keys() {
    let program = Program::compiled("tests/c/program.c", Linked::Statically, &[]);
    let path = program.folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).expect("a filter");
    store.set_note("coua/keys", br#"{"find":{},"normalize":["ignore-case"]}"#).expect("a note");
    store.finish().expect("a file");
    let said = output(Command::new(&program.path).arg("describe").arg(&path));
    let expected = r#""key_options":{"find":{},"normalize":["ignore-case"]}"#;
    assert_eq!(said.matches(expected).count(), 2, "{said}");
}

#[test]
fn needs_cc_each_reads_what_the_other_wrote() {
    let Some(coua) = std::env::var_os("COUA_PROGRAM") else {
        println!("skipped: COUA_PROGRAM does not name the program coua");
        return;
    };
    let program = Program::compiled("tests/c/program.c", Linked::Statically, &[]);
    let run = |what: &str, name: &str| {
        output(Command::new(&program.path).arg(what).arg(program.folder.path().join(name)))
    };
    let coua = |arguments: &[&str]| {
        let in_folder = program.folder.path();
        let done =
            Command::new(OsString::from(&coua)).args(arguments).current_dir(in_folder).output();
        done.expect("the program coua").stdout
    };
    run("keys", "");
    let bytes = |name: &str| fs::read(program.folder.path().join(name)).expect("a file");

    coua(&["add", "--delimiter", END, "made-by-coua", "some"]);
    run("read", "made-by-coua");

    run("write", "made-by-c");
    let found = coua(&["check", "--delimiter", END, "made-by-c", "all"]);
    assert!(found == bytes("some"), "{} bytes are found, not {}", found.len(), bytes("some").len());
}
