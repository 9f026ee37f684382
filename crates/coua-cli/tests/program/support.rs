//! Runs the program as users do.

use coua::CuckooFilterBuilder;
use coua_store::{Lock, Notes, Options, Wait};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No test takes this long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(4);

/// The user `nobody`, by the convention of Linux and BSD.
const NOBODY: u32 = 65_534;

/// Commands that read records.
const READERS: [&str; 5] = ["dedup", "add", "remove", "check", "count"];

/// Whether an option sets the number of threads.
fn is_about_threads(word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    word.starts_with("--threads") || is_short && word.contains('j')
}

/// The program, without a terminal. The argument `COUA_NOW` and the time after it go into its environment. Without a
/// number of threads it gets two, while small inputs would get one.
pub(crate) fn coua<I: IntoIterator>(args: I) -> Command
where
    I::Item: AsRef<std::ffi::OsStr>,
{
    let mut command = Command::new(env!("CARGO_BIN_EXE_coua"));
    let args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
    let has_threads = args.iter().any(|arg| arg.to_str().is_some_and(is_about_threads));
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "COUA_NOW" {
            command.env("COUA_NOW", args.next().expect("a time"));
            continue;
        }
        let is_reader = arg.to_str().is_some_and(|arg| READERS.contains(&arg));
        let is_first = command.get_args().next().is_none();
        command.arg(arg);
        if is_first && is_reader && !has_threads {
            command.arg("-j2");
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).expect("messages are text");
        for word in ["panicked", "RUST_BACKTRACE", "Some(", "Err(", "os error", "defect"] {
            assert!(!stderr.contains(word), "{stderr}");
        }
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// The standard output of a run that must succeed without messages.
    #[track_caller]
    pub(crate) fn good(self) -> Vec<u8> {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// The standard output of a run that must succeed, as text.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        String::from_utf8(self.stdout).expect("text")
    }

    /// The standard output of a run that must succeed, as a JSON value.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        json(&self.text())
    }

    /// Checks a failed run: its exit code and its message.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, message: &str) {
        assert_eq!((self.code, self.stderr.as_str()), (Some(code), message));
    }
}

/// Parses a JSON value, with nothing after it.
#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs the program without input.
#[track_caller]
pub(crate) fn run<I: IntoIterator>(args: I) -> Run
where
    I::Item: AsRef<std::ffi::OsStr>,
{
    Run::of(coua(args).output().expect("the program starts"))
}

/// Runs the program in a folder, without input.
#[track_caller]
pub(crate) fn run_in(folder: &Folder, args: &[&str]) -> Run {
    run_as_is(coua(args).current_dir(folder.path()))
}

/// Runs the program with this standard input.
#[track_caller]
pub(crate) fn run_with<I: IntoIterator>(input: &[u8], args: I) -> Run
where
    I::Item: AsRef<std::ffi::OsStr>,
{
    fed(&mut coua(args), input)
}

/// Runs a prepared command with this standard input.
#[track_caller]
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = thread::spawn(move || {
        // A program that stops reading is checked by its exit code.
        stdin.write_all(&input).ok();
    });
    let run = Run::of(child.wait_with_output().expect("the program ends"));
    writer.join().expect("the writer ends");
    run
}

/// Writes an empty filter that the program's options cannot describe.
pub(crate) fn filter_of(builder: CuckooFilterBuilder, path: &str) {
    let lock = Lock::take(Path::new(path), Wait::No).unwrap();
    let filter = builder.build().unwrap();
    coua_store::Options::new().replace(lock, filter, Notes::default()).unwrap();
}

/// Words of a command line.
pub(crate) fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The program run by a user without special permissions: the superuser may read and write everything.
///
/// The superuser runs a copy of it (other users may not have access to the build folder) as nobody; every other user
/// already is one without special permissions.
pub(crate) fn powerless(folder: &Folder) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(env!("CARGO_BIN_EXE_coua"));
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
    let copy = folder.join("coua");
    if !folder.has("coua") {
        // Copied by another process: a file that this process has open for writing cannot be executed, and child
        // processes of other threads inherit open files.
        let args = ["-p", env!("CARGO_BIN_EXE_coua"), &copy];
        assert!(Command::new("cp").args(args).status().expect("cp").success());
    }
    let mut command = Command::new(copy);
    command.uid(NOBODY).gid(NOBODY);
    command
}

/// Runs a prepared command.
#[track_caller]
pub(crate) fn run_as_is(command: &mut Command) -> Run {
    Run::of(command.stdin(Stdio::null()).output().expect("the program starts"))
}

/// Runs a shell command, with the program as `$COUA`, in a folder.
#[track_caller]
pub(crate) fn shell(folder: &Path, script: &str) -> Run {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).env("COUA", env!("CARGO_BIN_EXE_coua"));
    Run::of(command.output().expect("a shell"))
}

/// The output of another program for this input.
pub(crate) fn other(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the other program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input).expect("it reads"));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    assert!(output.status.success());
    output.stdout
}

/// Waits for a child, with a time limit.
#[track_caller]
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().ok();
            panic!("the program hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a condition is true, with a time limit.
#[track_caller]
pub(crate) fn until(mut what: impl FnMut() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "it never happened");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to a running child.
pub(crate) fn send(child: &Child, signal: rustix::process::Signal) {
    assert!(try_send(child, signal), "it lives");
}

/// Sends a signal; false if the child has ended. It was not waited for, so no other process has its number.
pub(crate) fn try_send(child: &Child, signal: rustix::process::Signal) -> bool {
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(id.expect("a process"), signal).is_ok()
}

/// The progress message of a child when asked. It must already handle signals.
pub(crate) fn progress(child: &Child, stderr: &mut impl BufRead) -> String {
    send(child, rustix::process::Signal::USR1);
    let mut line = String::new();
    stderr.read_line(&mut line).expect("text");
    line
}

/// Whether a child has read everything that was written to it.
pub(crate) fn has_read(stdin: &ChildStdin) -> bool {
    rustix::io::ioctl_fionread(stdin).expect("a pipe") == 0
}

/// Whether a child is blocked until its output is read.
pub(crate) fn is_full(stdout: &ChildStdout) -> bool {
    #[cfg(target_os = "linux")]
    let room = rustix::pipe::fcntl_getpipe_size(stdout).expect("a pipe");
    // As large as pipes of macOS get.
    #[cfg(not(target_os = "linux"))]
    let room = 64 << 10;
    rustix::io::ioctl_fionread(stdout).expect("a pipe") >= room as u64
}

/// The rest of a child's standard error.
pub(crate) fn messages(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    text
}

/// A folder that is deleted when dropped.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub(crate) fn join(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    /// The filter in one of its files, with everything committed, as a snapshot; `None` if there is no such file.
    pub(crate) fn filter(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let view =
            self.has(name).then(|| Options::new().read(self.join(name)).expect("a filter"))?;
        view.filter.write_to(&mut bytes).expect("there is memory");
        Some(bytes)
    }

    /// Writes a file in it.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.join(name);
        fs::write(&path, content).expect("written");
        path
    }

    /// Reads a file in it.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).expect("read")
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        PathBuf::from(self.join(name)).exists()
    }

    /// Makes a folder in it whose path has at least so many bytes.
    pub(crate) fn deep(&self, bytes: usize) -> PathBuf {
        let mut deep = fs::canonicalize(self.path()).expect("it is there");
        while deep.as_os_str().len() < bytes {
            deep.push("x".repeat(200));
        }
        fs::create_dir_all(&deep).expect("made");
        deep
    }
}

/// How often the generated records repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    Few,
    Many,
    Only,
}

/// Lines like `https://site7.example/a/1f3`, the same on every machine.
pub(crate) fn lines(count: u64, repeats: Repeats) -> Vec<u8> {
    let different = match repeats {
        Repeats::Few => count * 10,
        Repeats::Many => count / 10 + 1,
        Repeats::Only => 1,
    };
    let mut text = Vec::new();
    for number in 0..count {
        let id = mix(number) % different;
        let line = format!("https://site{}.example/a/{id:x}\n", mix(id) % 97);
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// The finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What `dedup` must print, by an exact set.
pub(crate) fn expected(text: &[u8]) -> Vec<u8> {
    let mut seen = std::collections::HashSet::new();
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter(|line| seen.insert(line.strip_suffix(b"\n").unwrap_or(line)))
        .flatten()
        .copied()
        .collect()
}
