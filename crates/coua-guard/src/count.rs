//! Counting the instructions of a case: this program, run by itself under callgrind.

use std::env;
use std::fs;
use std::process::{self, Command, Stdio};

use crate::work::Case;

/// The function within which callgrind counts, as it prints names.
const SYMBOL: &str = "*coua_guard::work::counted*";

/// Whether valgrind can be run.
///
/// # Errors
///
/// If not, with what to do.
pub(crate) fn check_valgrind() -> Result<(), String> {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    match version {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("valgrind --version: {status}")),
        Err(why) => Err(format!(
            "valgrind: {why}; it counts the instructions (Debian: apt-get install valgrind)"
        )),
    }
}

/// Instructions a key.
///
/// # Errors
///
/// If valgrind fails, or has counted nothing.
pub(crate) fn instructions(case: Case) -> Result<f64, String> {
    let told = |why: &dyn std::fmt::Display| format!("{case}: {why}");
    let name = format!("coua-guard-{}-{case}", process::id());
    let file = env::temp_dir().join(name.replace(['%', ':', ',', ' '], "-"));
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&file);
    let mut valgrind = Command::new("valgrind");
    if case.is_portable {
        valgrind.env("COUA_TEST_INSTRUCTIONS", "portable");
    }
    let done = valgrind
        .args(["--quiet", "--tool=callgrind"])
        .arg(option)
        .arg(format!("--toggle-collect={SYMBOL}"))
        .arg(env::current_exe().map_err(|why| told(&why))?)
        .arg("play")
        .arg(case.to_string())
        .stdout(Stdio::null())
        .output()
        .map_err(|why| told(&why))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        return Err(told(&format!("{}: {}", done.status, why.trim())));
    }
    let text = fs::read_to_string(&file).map_err(|why| told(&why))?;
    fs::remove_file(&file).map_err(|why| told(&why))?;
    match total(&text) {
        Some(count) if count >= case.keys() => Ok(count as f64 / case.keys() as f64),
        found => Err(told(&format!(
            "callgrind counted {} instructions for {} keys, so it has not found {SYMBOL}",
            found.unwrap_or(0),
            case.keys()
        ))),
    }
}

/// The sum that callgrind writes at the end.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "))?;
    line.trim().parse().ok()
}

/// Compiler and target that this program was built by, as far as `rustc` tells it: the counts belong
/// to them.
///
/// # Errors
///
/// If there is no `rustc`.
pub(crate) fn compiler() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let done = Command::new(rustc).arg("--version").arg("--verbose").output();
    let text = done.map_err(|why| format!("rustc --version: {why}"))?.stdout;
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    Ok(format!(
        "rustc {} for {}",
        field("release: ").unwrap_or("unknown"),
        field("host: ").unwrap_or("unknown")
    ))
}

#[cfg(test)]
mod tests {
    use super::{compiler, total};

    #[test]
    fn the_total_is_read() {
        assert_eq!(total("fn=(1)\n12 5\n\ntotals: 4711\n"), Some(4711));
        assert_eq!(total("fn=(1)\n12 5\n"), None);
    }

    #[test]
    fn the_compiler_has_a_version_and_a_target() {
        let compiler = compiler().unwrap();
        assert!(compiler.starts_with("rustc 1.") && compiler.contains(" for "), "{compiler}");
    }
}
