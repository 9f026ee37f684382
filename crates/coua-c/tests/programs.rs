//! The tests in C and C++, and the examples: compiled with all warnings as errors, and run; under valgrind and
//! `AddressSanitizer` too.

use std::process::Command;

use crate::compile::{Linked, Program, output};

/// Every test in C.
const TESTS: [&str; 7] = [
    "tests/c/verbs.c",
    "tests/c/hostile.c",
    "tests/c/files.c",
    "tests/c/disk.c",
    "tests/c/threads.c",
    "tests/c/plus.cpp",
    "tests/c/wrapper.cpp",
];

#[test]
fn needs_cc_all_tests_pass_linked_statically() {
    for test in TESTS {
        Program::compiled(test, Linked::Statically, &[]).run_in_folder();
    }
}

#[test]
fn needs_cc_all_tests_pass_linked_dynamically() {
    for test in TESTS {
        Program::compiled(test, Linked::Dynamically, &[]).run_in_folder();
    }
}

#[test]
fn needs_cc_address_sanitizer_finds_nothing() {
    for test in TESTS {
        let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        Program::compiled(test, Linked::Statically, &flags).run_in_folder();
    }
}

#[test]
fn needs_valgrind_finds_nothing() {
    // Fewer keys: valgrind takes fifty times as long.
    for test in TESTS {
        Program::compiled(test, Linked::Dynamically, &["-DMANY=2000"]).run_under_valgrind();
    }
}

/// Sanitizers need memory of their own.
#[test]
fn needs_cc_a_lack_of_memory_is_an_error() {
    Program::compiled("tests/c/memory.c", Linked::Statically, &[]).run(&[]);
}

/// Without this, flags that do nothing would pass.
#[test]
fn needs_cc_address_sanitizer_finds_a_filter_that_is_not_freed() {
    let flags = ["-fsanitize=address"];
    let wrong = Program::compiled("tests/c/wrong.c", Linked::Statically, &flags);
    let done = Command::new(&wrong.path).output().expect("it runs");
    assert!(!done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("detected memory leaks"));
}

#[test]
fn needs_cc_examples_print_what_they_say() {
    let example =
        |name: &str| Program::compiled(&format!("examples/{name}.c"), Linked::Dynamically, &[]);
    let set = example("set");
    let lines = set.folder.path().join("lines");
    // Two long lines that begin and end alike.
    let long = |middle| format!("{}{middle}{}\n", "x".repeat(5000), "y".repeat(5000));
    let all = ["a\n", "b\n", &long(1), &long(2)].concat();
    std::fs::write(&lines, format!("{all}a\n{}", long(1))).expect("a file");
    let input = std::fs::File::open(&lines).expect("a file");
    assert_eq!(output(Command::new(&set.path).stdin(input)), all);

    let said = example("batches").run(&[]);
    let numbers: Vec<f64> =
        said.split(' ').filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
    let &[keys, bits, wrong] = &numbers[..] else { panic!("{said}") };
    assert!(keys > 999_999.0 && bits < 14.5 && wrong < 1200.0, "{said}");

    let file = example("file");
    let filter = file.folder.path().join("seen.coua");
    let filter = filter.to_str().expect("a name");
    assert_eq!(file.run(&[filter, "kestrel"]), "kestrel: new\n");
    assert_eq!(file.run(&[filter, "kestrel", "osprey"]), "kestrel: seen before\nosprey: new\n");

    assert_eq!(example("threads").run(&[]), "1000000 keys were new\n");
}
