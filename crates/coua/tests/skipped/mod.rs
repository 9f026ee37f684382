//! Tests that find out only when they run that the machine lacks something.

use std::io::Write;

/// Says so where the test's harness does not catch it: `./test` counts these lines.
pub(crate) fn skipped(why: &str) {
    let line = format!("\nskipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("an open standard error");
}
