//! The tests of a program once more, as if the processor had fewer instructions.

#[path = "../skipped/mod.rs"]
mod skipped;

use std::env;
use std::process::Command;

/// Read by the library where it is compiled with debug assertions, as tests are.
const VARIABLE: &str = "COUA_TEST_INSTRUCTIONS";

/// Runs all other tests of this program with each of these sets of instructions: `portable`, `bits` or `avx2`.
/// `caller` is the name of the test that calls.
pub(crate) fn run_again_with(sets: &[&str], caller: &str) {
    if cfg!(not(target_arch = "x86_64")) || cfg!(miri) {
        skipped::skipped("this processor has one set of instructions");
        return;
    }
    for set in sets {
        let program = env::current_exe().expect("a test is a program");
        let mut command = Command::new(program);
        command.args(["--skip", caller]).env(VARIABLE, set);
        let done = command.output().expect("the program runs");
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && !told.contains("running 0 tests"), "{set}: {told}");
    }
}
