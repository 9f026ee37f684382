//! Makes the page: one file with the library as WebAssembly, the script and the style in it.

#![expect(clippy::print_stdout, reason = "cargo reads there what it is told")]

mod assemble;
mod wasm;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells where this is"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo tells where to write"));
    let page = here.join("page");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=page");
    let made = wasm::find_or_build(&here, &out).and_then(|wasm| assemble(&page, &wasm, &out));
    // A program without its page is better than no program: it says what was missing.
    let (text, reason) = match made {
        Ok(()) => (r#"Some(include_str!(concat!(env!("OUT_DIR"), "/page.html")))"#, String::new()),
        Err(reason) => ("None", reason),
    };
    if !reason.is_empty() {
        println!(
            "cargo::warning=coua explore is built without its page: {}",
            reason.replace('\n', " ")
        );
    }
    let source = format!("const MADE: Option<&str> = {text};\nconst REASON: &str = {reason:?};\n");
    fs::write(out.join("made.rs"), source).expect("the folder of the build can be written");
}

fn assemble(page: &Path, wasm: &Path, out: &Path) -> Result<(), String> {
    let wasm = fs::read(wasm).map_err(|error| format!("{}: {error}", wasm.display()))?;
    let text = assemble::page(page, &wasm).map_err(|error| error.to_string())?;
    fs::write(out.join("page.html"), text).map_err(|error| error.to_string())
}
