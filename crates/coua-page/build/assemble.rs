//! One page from its parts.

use std::io::{self, Write};
use std::path::Path;
use std::{fs, iter};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The modules, each after those that it imports. In the page they are one script, so no two of them use a name for
/// different things.
const MODULES: [&str; 14] = [
    "text",
    "coua",
    "ui",
    "state",
    "textbook",
    "why",
    "two",
    "evict",
    "positives",
    "remove",
    "growth",
    "sizes",
    "look",
    "main",
];

/// The page with everything in it.
pub(crate) fn page(folder: &Path, wasm: &[u8]) -> io::Result<String> {
    let mut script = String::new();
    for name in MODULES {
        script += &joined(&fs::read_to_string(folder.join(name).with_extension("js"))?);
    }
    let style = fs::read_to_string(folder.join("style.css"))?;
    let page = fs::read_to_string(folder.join("index.html"))?;
    Ok(page
        .replace("/* STYLE */", &style)
        .replace("WASM_PACKED", &packed(wasm)?)
        .replace("SCRIPT_PACKED", &packed(script.as_bytes())?))
}

/// A module without imports and exports, and without the comments that stand on lines of their own.
fn joined(module: &str) -> String {
    let is_code = |line: &&str| {
        let begin = line.trim_start();
        !(begin.starts_with("//") || begin.starts_with("/**") && begin.ends_with("*/"))
    };
    let lines = module.lines().filter(is_code).filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).chain(iter::once("\n")).collect()
}

/// Compressed, as text.
fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(bytes)?;
    Ok(STANDARD.encode(out.finish()?))
}
