//! Runs the tests of a program again with fewer processor instructions, and reports tests that the machine cannot run.

use crate::cases::sample;
use std::env;
use std::io::Write;
use std::process::Command;
use std::thread;

/// The library reads it if compiled with debug assertions, as in tests.
const VARIABLE: &str = "COUA_TEST_INSTRUCTIONS";

/// Reports a skipped test where the test harness does not capture it: `./test` counts these lines.
///
/// # Panics
///
/// If standard error is closed.
pub fn skipped(why: &str) {
    let line = format!("\nskipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("an open standard error");
}

/// Runs the other tests of this program whose names contain `filter` with each instruction set of the machine (the first of few cases) except
/// the widest, which is tested anyway. `caller` is the name of the calling test.
///
/// # Panics
///
/// If one of those tests fails.
pub fn run_again_with_fewer(filter: &str, caller: &str) {
    if cfg!(not(target_arch = "x86_64")) || cfg!(miri) {
        skipped("this processor has one set of instructions");
        return;
    }
    let program = env::current_exe().expect("a test is a program");
    let run = |set| {
        let mut command = Command::new(&program);
        command.args([filter, "--skip", caller]).env(VARIABLE, set);
        let done = command.output().expect("the program runs");
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && !told.contains("running 0 tests"), "{set}: {told}");
    };
    // The widest set has already been tested.
    let widest = sets().into_iter().rfind(|(_, is_there)| *is_there);
    thread::scope(|scope| {
        for (set, is_there) in sample(sets(), [4, 1]) {
            if !is_there {
                skipped(&format!("this processor lacks {set}"));
            } else if widest.is_some_and(|(widest, _)| set != widest) {
                scope.spawn(move || run(set));
            }
        }
    });
}

/// Whether this process is such a repetition.
pub fn are_fewer() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// All sets, the widest last, and whether the machine has them.
#[cfg(target_arch = "x86_64")]
fn sets() -> [(&'static str, bool); 4] {
    [
        ("portable", true),
        ("bits", is_x86_feature_detected!("bmi2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("avx512", is_x86_feature_detected!("avx512dq")),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn sets() -> [(&'static str, bool); 0] {
    []
}
