//! The code in the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::compile::{in_crate, output};

/// The blocks of C in the guide.
fn blocks() -> Vec<String> {
    let text = fs::read_to_string(in_crate("../../docs/c.md")).expect("a page");
    let blocks = text.split("```c\n").skip(1);
    blocks.filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned())).collect()
}

fn in_file(folder: &Path, code: &str) -> String {
    let path = folder.join("block.c");
    fs::write(&path, code).expect("a file");
    path.to_str().expect("a name").to_owned()
}

/// What the lines of the guide do not declare.
const DECLARED: &str = "\
#include <coua.h>
#include <stdio.h>
#include <stdlib.h>
int lines(coua_filter *seen, size_t array_length, const char *values, const int32_t *offsets);
int lines(coua_filter *seen, size_t array_length, const char *values, const int32_t *offsets) {
bool is_new, found;
";

#[test]
fn needs_cc_the_lines_of_the_guide_compile() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks();
    assert!(blocks.len() >= 3);
    for block in blocks {
        let source = in_file(folder.path(), &format!("{DECLARED}{{\n{block}\n}}\nreturn 0;\n}}\n"));
        let flags = ["-std=c11", "-Wall", "-Werror", "-Wno-unused", "-fsyntax-only", "-I"];
        output(Command::new("cc").args(flags).arg(in_crate("include")).arg(source));
    }
}
