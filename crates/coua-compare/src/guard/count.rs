//! Counting the instructions of a case: this program, run by itself under callgrind.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::work::Case;
use crate::output::Failure;

/// The function within which callgrind counts, as it prints names.
const SYMBOL: &str = "*guard::work::counted*";

/// Whether valgrind can be run.
///
/// # Errors
///
/// If not, with what to do.
pub(crate) fn check_valgrind() -> Result<(), Failure> {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    match version {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::of("valgrind --version", &status)),
        Err(why) => Err(Failure::of(
            "valgrind",
            &format!("{why}; it counts the instructions (Debian: apt-get install valgrind)"),
        )),
    }
}

/// Instructions a key; `scratch` is a directory for callgrind's file.
///
/// # Errors
///
/// If valgrind fails, or has counted nothing.
pub(crate) fn instructions(case: Case, scratch: &Path) -> Result<f64, Failure> {
    let told = |why: &dyn std::fmt::Display| Failure::of(case, &why);
    let file = scratch.join(format!("guard-{case}.callgrind").replace(['%', ':', ',', ' '], "-"));
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&file);
    let done = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(option)
        .arg(format!("--toggle-collect={SYMBOL}"))
        .arg(std::env::current_exe()?)
        .args(["guard", "--play"])
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
pub(crate) fn compiler() -> Result<String, Failure> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let done = Command::new(rustc).arg("--version").arg("--verbose").output();
    let text = done.map_err(|why| Failure::of("rustc --version", &why))?.stdout;
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
