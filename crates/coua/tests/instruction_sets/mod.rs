//! The tests of a program once more, as if the processor had fewer instructions.

#[path = "../skipped/mod.rs"]
pub(crate) mod skipped;

use std::env;
use std::process::Command;

/// Read by the library where it is compiled with debug assertions, as tests are.
const VARIABLE: &str = "COUA_TEST_INSTRUCTIONS";

/// Runs the other tests of this program whose names contain `filter` with each set of instructions that the machine
/// has, beside the widest: that one is run anyway. `caller` is the name of the test that calls.
pub(crate) fn run_again_with_fewer(filter: &str, caller: &str) {
    if cfg!(not(target_arch = "x86_64")) || cfg!(miri) {
        skipped::skipped("this processor has one set of instructions");
        return;
    }
    for (set, is_there) in sets() {
        if !is_there {
            skipped::skipped(&format!("this processor lacks {set}"));
        }
        // The widest set is what was run already.
        if !is_there || set == WIDEST {
            continue;
        }
        let program = env::current_exe().expect("a test is a program");
        let mut command = Command::new(program);
        command.args([filter, "--skip", caller]).env(VARIABLE, set);
        let done = command.output().expect("the program runs");
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && !told.contains("running 0 tests"), "{set}: {told}");
    }
}

const WIDEST: &str = "avx512";

/// All sets, and whether the machine has them.
#[cfg(target_arch = "x86_64")]
fn sets() -> [(&'static str, bool); 4] {
    let has_avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
    [
        ("portable", true),
        ("bits", is_x86_feature_detected!("bmi2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        (WIDEST, has_avx512),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn sets() -> [(&'static str, bool); 0] {
    []
}
