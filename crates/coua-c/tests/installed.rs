//! The installed library, as pkg-config and `CMake` find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::compile::{in_crate, library_folder, output};

/// Installs the library under test. Returns the prefix, and a folder.
fn installed() -> (PathBuf, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("prefix");
    let mut install = Command::new(in_crate("../../scripts/install-c"));
    output(install.arg(&prefix).arg("--from").arg(library_folder()));
    (prefix, folder)
}

fn prints_lines_once(program: &Path, prefix: &Path) {
    let lines = prefix.join("lines");
    fs::write(&lines, "a\nb\na\n").expect("a file");
    let mut run = Command::new(program);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    assert_eq!(output(run.stdin(fs::File::open(lines).expect("a file"))), "a\nb\n");
}

#[test]
fn needs_pkg_config_static_programs_need_no_more_than_it_says() {
    let (prefix, folder) = installed();
    let mut ask = Command::new("pkg-config");
    ask.args(["--static", "--cflags", "--libs", "coua"]);
    let flags = output(ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let program = folder.path().join("set");
    for link in ["-static", "-pie"] {
        let mut compile = Command::new("cc");
        compile.arg(link).arg("-o").arg(&program).arg(in_crate("examples/set.c"));
        output(compile.args(flags.split_whitespace()));
        prints_lines_once(&program, &prefix);
    }
}

/// `CMake`'s file: the version that it asks for, and the target that it links.
fn project(version: &str, target: &str) -> String {
    let source = in_crate("examples/set.c");
    format!(
        "cmake_minimum_required(VERSION 3.20)\nproject(user C)\nfind_package(coua {version} CONFIG REQUIRED)\n\
         add_executable(user {})\ntarget_link_libraries(user PRIVATE {target})\n",
        source.display()
    )
}

#[test]
fn needs_cmake_the_package_is_found_by_its_version() {
    let (prefix, folder) = installed();
    let build = folder.path().join("build");
    let configure = |version: &str, target: &str| {
        fs::write(folder.path().join("CMakeLists.txt"), project(version, target)).expect("a file");
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(folder.path()).arg("-B").arg(&build);
        cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        cmake
    };
    let series = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    for (version, target) in [("", "coua::coua"), (series, "coua::static")] {
        output(&mut configure(version, target));
        output(Command::new("cmake").arg("--build").arg(&build));
        prints_lines_once(&build.join("user"), &prefix);
    }
    let later = configure("9.1", "coua::coua").output().expect("a program that can be run");
    assert!(!later.status.success());
}
