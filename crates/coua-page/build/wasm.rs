//! The library as WebAssembly: found in the package, or built from the sources beside it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";
const MODULE: &str = "coua_wasm.wasm";

/// Where the module is. `here` is the folder of this crate. The variable `COUA_PAGE` may name a module that is
/// built already, or say `no` to leave the page out.
pub(crate) fn find_or_build(here: &Path, out: &Path) -> Result<PathBuf, String> {
    println!("cargo::rerun-if-env-changed=COUA_PAGE");
    match env::var("COUA_PAGE") {
        Ok(value) if value == "no" => return Err("COUA_PAGE=no was set".to_owned()),
        Ok(module) => {
            println!("cargo::rerun-if-changed={module}");
            return Ok(module.into());
        }
        Err(_) => {}
    }
    let packaged = here.join("page").join(MODULE);
    if packaged.exists() {
        return Ok(packaged);
    }
    let workspace = here.join("../..");
    let sources = ["coua", "coua-store", "coua-wasm"].map(|name| here.join("..").join(name));
    if sources.iter().any(|source| !source.join("src").exists()) {
        return Err(format!("{MODULE} is missing from the package"));
    }
    for source in &sources {
        println!("cargo::rerun-if-changed={}", source.join("src").display());
        println!("cargo::rerun-if-changed={}", source.join("Cargo.toml").display());
    }
    if !has_target() {
        return Err(format!("add the target with `rustup target add {TARGET}` and build again"));
    }
    build(&workspace, out)
}

/// Whether the compiler has a standard library for the target.
fn has_target() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    asked.is_ok_and(|answer| {
        let folder = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        answer.status.success() && Path::new(&folder).exists()
    })
}

/// Builds the module in a folder of its own: cargo holds a lock on the usual one.
fn build(workspace: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("wasm");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["build", "--profile", "wasm", "--package", "coua-wasm", "--target", TARGET])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(workspace)
        // What was meant for the program: its own processor, and clippy.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !done.status.success() {
        return Err(format!(
            "coua-wasm cannot be built:\n{}",
            String::from_utf8_lossy(&done.stderr)
        ));
    }
    Ok(folder.join(TARGET).join("wasm").join(MODULE))
}
