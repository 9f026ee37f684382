//! Programs in C and C++, compiled with all warnings as errors and linked with the library under test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

const STRICT: [&str; 6] = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-g"];
/// What the standard library of Rust needs of the system.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// How a program is linked with libcoua.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linked {
    Statically,
    Dynamically,
}

pub(crate) struct Program {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn in_crate(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Where the library under test is: where `COUA_LIBRARIES` says, or where cargo puts it. Tests do not depend on what only
/// C links, so cargo is asked for it.
pub(crate) fn library_folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("COUA_LIBRARIES").map_or_else(
            || {
                output(Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "coua-c"]));
                let test = std::env::current_exe().expect("a program");
                test.parent().and_then(Path::parent).expect("target/debug").to_owned()
            },
            PathBuf::from,
        )
    });
    &FOLDER
}

/// What a command prints. It must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let done = command.output().expect("a program that can be run");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{command:?}: {}\n{said}{}",
        done.status,
        String::from_utf8_lossy(&done.stderr)
    );
    said
}

impl Program {
    pub(crate) fn compiled(source: &str, linked: Linked, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        let (compiler, standard) = match Path::new(source).file_name().and_then(OsStr::to_str) {
            Some("plus.cpp") => ("c++", "-std=c++17"),
            Some("wrapper.cpp") => ("c++", "-std=c++20"),
            _ => ("cc", "-std=c11"),
        };
        let mut compile = Command::new(compiler);
        compile.arg(standard).args(STRICT).args(flags).arg("-I").arg(in_crate("include"));
        compile.arg("-o").arg(&path).arg(in_crate(source));
        let libraries = library_folder();
        match linked {
            Linked::Statically => compile.arg(libraries.join("libcoua.a")),
            Linked::Dynamically => {
                // What a program looks for at run time.
                let name = folder.path().join("libcoua.so.0");
                std::os::unix::fs::symlink(libraries.join("libcoua.so"), &name).expect("a link");
                compile.arg(name).arg("-Wl,-rpath").arg("-Xlinker").arg(folder.path())
            }
        };
        output(compile.args(SYSTEM));
        Self { folder, path }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        output(Command::new(&self.path).args(arguments))
    }

    pub(crate) fn run_in_folder(&self) -> String {
        self.run(&[self.folder.path().to_str().expect("a folder")])
    }

    pub(crate) fn run_under_valgrind(&self) -> String {
        let mut valgrind = Command::new("valgrind");
        valgrind.args([
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ]);
        output(valgrind.arg(&self.path).arg(self.folder.path()))
    }
}
