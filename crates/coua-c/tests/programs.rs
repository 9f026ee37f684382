//! The tests in C and C++, and the examples: compiled with all warnings as errors, and run; under valgrind and
//! `AddressSanitizer` too.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const STRICT: [&str; 6] = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-g"];
/// What the standard library of Rust needs of the system.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

/// How a program is linked with libcoua.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Linked {
    Statically,
    Dynamically,
}

struct Program {
    folder: TempDir,
    path: PathBuf,
}

fn in_crate(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Where cargo puts the library under test: beside this program.
fn library_folder() -> PathBuf {
    std::env::current_exe().expect("a program").parent().expect("a folder").to_owned()
}

/// What a command prints. It must succeed.
fn output(command: &mut Command) -> String {
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
    fn compiled(source: &str, linked: Linked, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        let is_cpp = Path::new(source).extension().is_some_and(|extension| extension == "cpp");
        let (compiler, standard) = if is_cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
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

    fn run(&self, arguments: &[&str]) -> String {
        output(Command::new(&self.path).args(arguments))
    }

    fn run_in_folder(&self) -> String {
        self.run(&[self.folder.path().to_str().expect("a folder")])
    }

    fn run_under_valgrind(&self) -> String {
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

/// Every test in C.
const TESTS: [&str; 5] = [
    "tests/c/verbs.c",
    "tests/c/hostile.c",
    "tests/c/files.c",
    "tests/c/threads.c",
    "tests/c/plus.cpp",
];

#[test]
fn needs_cc_all_tests_pass_linked_statically() {
    for test in TESTS {
        Program::compiled(test, Linked::Statically, &[]).run_in_folder();
    }
}

#[test]
fn needs_cc_all_tests_pass_linked_dynamically() {
    for test in TESTS {
        Program::compiled(test, Linked::Dynamically, &[]).run_in_folder();
    }
}

#[test]
fn needs_cc_address_sanitizer_finds_nothing() {
    for test in TESTS {
        let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        Program::compiled(test, Linked::Statically, &flags).run_in_folder();
    }
}

#[test]
fn needs_valgrind_finds_nothing() {
    // Fewer keys: valgrind takes fifty times as long.
    for test in TESTS {
        Program::compiled(test, Linked::Dynamically, &["-DMANY=2000"]).run_under_valgrind();
    }
}

/// Without this, flags that do nothing would pass.
#[test]
fn needs_cc_address_sanitizer_finds_a_filter_that_is_not_freed() {
    let flags = ["-fsanitize=address"];
    let wrong = Program::compiled("tests/c/wrong.c", Linked::Statically, &flags);
    let done = Command::new(&wrong.path).output().expect("it runs");
    assert!(!done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("detected memory leaks"));
}

#[test]
fn needs_cc_examples_print_what_they_say() {
    let example =
        |name: &str| Program::compiled(&format!("examples/{name}.c"), Linked::Dynamically, &[]);
    let set = example("set");
    let lines = set.folder.path().join("lines");
    std::fs::write(&lines, "a\nb\na\n").expect("a file");
    let input = std::fs::File::open(&lines).expect("a file");
    assert_eq!(output(Command::new(&set.path).stdin(input)), "a\nb\n");

    let said = example("batches").run(&[]);
    let numbers: Vec<f64> =
        said.split(' ').filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
    let &[keys, bits, wrong] = &numbers[..] else { panic!("{said}") };
    assert!(keys > 999_999.0 && bits < 14.5 && wrong < 1200.0, "{said}");

    let file = example("file");
    let filter = file.folder.path().join("seen.coua");
    let filter = filter.to_str().expect("a name");
    assert_eq!(file.run(&[filter, "kestrel"]), "kestrel: new\n");
    assert_eq!(file.run(&[filter, "kestrel", "osprey"]), "kestrel: seen before\nosprey: new\n");

    assert_eq!(example("threads").run(&[]), "1000000 keys were new\n");
}
