//! The guard counts, records, and lets nothing dearer pass.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn guard(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coua-guard"))
        .args(arguments)
        .env("COUA_GUARD_FILE", directory.join("guard.txt"))
        .output()
        .unwrap()
}

#[test]
fn needs_valgrind_counts_are_compared_with_the_record() {
    const CASE: &str = "overlapping: look up in batches, half present";
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let only = ["only", "overlapping: look up in"];
    assert!(!guard(directory, &only).status.success(), "there is no record yet");

    let rustc = Command::new("rustc").args(["--version", "--verbose"]).output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let field = |name| rustc.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let compiler = format!("rustc {} for {}", field("release: "), field("host: "));
    // A lookup takes more than 1 instruction and fewer than a million.
    for (compiler, count, passes) in
        [(&*compiler, "1.0", false), ("another", "1.0", true), (&*compiler, "1000000.0", true)]
    {
        let record = format!("compiler\t{compiler}\n{CASE}\t{count}\n");
        fs::write(directory.join("guard.txt"), record).unwrap();
        let done = guard(directory, &only);
        let told = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.success(), passes, "{told}");
        assert!(told.contains(CASE), "{told}");
    }
}

#[test]
fn a_case_can_be_played_and_unknown_ones_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let play = |name| guard(directory.path(), &["play", name]);
    assert!(play("narrow: look up one by one, half present").status.success());
    let refused = play("narrow: sing");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no such case"));
}
