//! A server with the module, in a directory and on a port of its own.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{Client, Protocol};
use crate::resp::Value;

/// No server of these tests takes this long to start, to stop, or to follow another, without a sign of progress.
pub(crate) const PATIENCE: Duration = Duration::from_mins(4);
/// How long a server may take to reply before it is looked after.
const MOMENT: Duration = Duration::from_secs(3);

/// In options: a port that nobody has, another one at each try to start the server.
pub(crate) const FREE_PORT: &str = "a free port";

/// A server's configuration file, in its directory.
const CONFIGURATION: &str = "configuration";

/// The signal that ends a server here.
const KILL: i32 = 9;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    pub(crate) program: &'static str,
    /// Whether valgrind looks at every access to memory.
    pub(crate) checked: bool,
    /// Whether it has the module.
    pub(crate) has_module: bool,
}

pub(crate) const REDIS: Kind = Kind { program: "redis-server", checked: false, has_module: true };
pub(crate) const VALKEY: Kind = Kind { program: "valkey-server", checked: false, has_module: true };

impl Kind {
    /// The same server, slow and strictly checked: it fails the test if it uses memory that is not its
    /// own or was never written. Debian's servers take theirs from a library that valgrind must know.
    pub(crate) fn checked(self) -> Self {
        Self { checked: true, ..self }
    }

    fn command(self) -> Command {
        let mut command = Command::new(if self.checked { "valgrind" } else { self.program });
        if self.checked {
            command.args(["--quiet", "--error-limit=no", "--log-file=memcheck"]);
            // A server that is killed would leave its debugger's pipes in the folder for temporary files.
            command.arg("--vgdb=no");
            command.args(["--soname-synonyms=somalloc=libjemalloc*", self.program]);
        }
        command
    }
}

/// A running server; it ends with this value, also when a test fails.
pub(crate) struct Server {
    kind: Kind,
    options: Vec<String>,
    directory: TempDir,
    port: u16,
    child: Child,
}

impl Server {
    /// A server that keeps nothing on disk.
    pub(crate) fn start(kind: Kind) -> Self {
        Self::with(kind, &[])
    }

    /// A server with further options, as on its command line. Words before the first option are
    /// arguments of the module.
    pub(crate) fn with(kind: Kind, options: &[&str]) -> Self {
        let options = options.iter().map(ToString::to_string).collect::<Vec<_>>();
        let directory = tempfile::tempdir().unwrap();
        let (child, port) = launch(kind, &options, directory.path());
        Self { kind, options, directory, port, child }
    }

    /// A server with a configuration file, which it reads before its command line.
    pub(crate) fn configured(kind: Kind, lines: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(CONFIGURATION), lines).unwrap();
        let (child, port) = launch(kind, &[], directory.path());
        Self { kind, options: Vec::new(), directory, port, child }
    }

    /// A server that reads this dump file.
    pub(crate) fn with_dump(kind: Kind, options: &[&str], dump: &[u8]) -> Self {
        let options = options.iter().map(ToString::to_string).collect::<Vec<_>>();
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("dump.rdb"), dump).unwrap();
        let (child, port) = launch(kind, &options, directory.path());
        Self { kind, options, directory, port, child }
    }

    /// What a server logs that must not start with these options.
    pub(crate) fn refused(kind: Kind, options: &[&str]) -> String {
        Self::refused_with_dump(kind, options, &[])
    }

    /// What a server logs that must not start with these options and this dump file, if it is not empty.
    pub(crate) fn refused_with_dump(kind: Kind, options: &[&str], dump: &[u8]) -> String {
        let options = options.iter().map(ToString::to_string).collect::<Vec<_>>();
        let directory = tempfile::tempdir().unwrap();
        if !dump.is_empty() {
            fs::write(directory.path().join("dump.rdb"), dump).unwrap();
        }
        let (mut child, port) = spawn(kind, &options, directory.path());
        assert!(
            !answers(&mut child, port, directory.path(), |_| false),
            "{} starts with {options:?}",
            kind.program
        );
        fs::read_to_string(directory.path().join("log")).unwrap()
    }

    /// Starts a server on a dump file, and tells whether it took it. It must not crash.
    pub(crate) fn takes_dump_file(kind: Kind, dump: &[u8]) -> bool {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("dump.rdb"), dump).unwrap();
        let unchecked = ["--rdbchecksum".to_owned(), "no".to_owned()];
        let (mut child, port) = spawn(kind, &unchecked, directory.path());
        // A server that gives up reads the file again with a checker of its own, which may never end
        // where a module's value is cut off: it takes the end of the file for another part of it.
        let gave_up = |log: &str| log.contains("Internal error in RDB reading");
        let takes = answers(&mut child, port, directory.path(), gave_up);
        drop(child.kill());
        let signal = child.wait().unwrap().signal();
        assert!(matches!(signal, None | Some(KILL)), "{} died of signal {signal:?}", kind.program);
        let log = log_in(directory.path());
        assert!(
            !log.contains("internal error of the module") && !log.contains("BUG REPORT"),
            "{log}"
        );
        takes
    }

    /// Options for the next start.
    pub(crate) fn add_options(&mut self, options: &[&str]) {
        self.options.extend(options.iter().map(ToString::to_string));
    }

    pub(crate) fn connect(&self, protocol: Protocol) -> Client {
        Client::connect(self.port, protocol).expect("the server listens")
    }

    /// A connection that speaks RESP2.
    pub(crate) fn client(&self) -> Client {
        self.connect(Protocol::Resp2)
    }

    /// Waits until the server changes nothing of its own accord: until no step of a compaction is to come.
    pub(crate) fn rests(&self) {
        let until = Instant::now() + PATIENCE;
        let mut client = self.client();
        while client.info_number("coua", "coua_compactions_pending") > 0 {
            assert!(Instant::now() < until, "a compaction does not end:\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server at once, as a crash would, and starts it on what it left.
    pub(crate) fn restart(&mut self) {
        self.stop();
        (self.child, self.port) = launch(self.kind, &self.options, self.directory.path());
    }

    /// Ends the server at once, as a crash would.
    pub(crate) fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the server has ended by itself, not by a signal.
    pub(crate) fn ends(&mut self) {
        let until = Instant::now() + PATIENCE;
        let ended = loop {
            if let Some(ended) = self.child.try_wait().unwrap() {
                break ended;
            }
            assert!(Instant::now() < until, "the server does not end:\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
        };
        assert!(ended.code().is_some(), "{ended}");
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }
}

#[expect(clippy::print_stderr, reason = "cargo shows it with the test that failed")]
impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then the test has said so.
        drop(self.child.kill());
        drop(self.child.wait());
        let log = self.log();
        if thread::panicking() {
            // A crash of the server is told nowhere else.
            let told = |line: &&str| !line.contains("Accepted") && !line.contains("Client closed");
            let end: Vec<_> = log.lines().filter(told).collect();
            eprintln!("{}:\n{}", self.kind.program, end[end.len().saturating_sub(40)..].join("\n"));
        } else {
            // The module catches its own panics, and the client sees an error only.
            assert!(!log.contains("internal error of the module"), "{log}");
            let memcheck = fs::read_to_string(self.path("memcheck")).unwrap_or_default();
            assert!(memcheck.is_empty(), "{memcheck}");
        }
    }
}

/// Starts a server and waits until it answers. Another program may take a port in between: then it is
/// tried again with others.
fn launch(kind: Kind, options: &[String], directory: &Path) -> (Child, u16) {
    for _ in 0..10 {
        let (mut child, port) = spawn(kind, options, directory);
        if answers(&mut child, port, directory, |_| false) {
            return (child, port);
        }
        let log = log_in(directory);
        assert!(log.contains("Address already in use"), "{} ended:\n{log}", kind.program);
    }
    panic!("no free ports were found for {}", kind.program);
}

fn spawn(kind: Kind, options: &[String], directory: &Path) -> (Child, u16) {
    let port = free_port();
    let filled = |option: &String| {
        if option == FREE_PORT { free_port().to_string() } else { option.clone() }
    };
    let load = kind.has_module.then(|| [OsStr::new("--loadmodule"), module().as_os_str()]);
    let child = kind
        .command()
        .args(Some(CONFIGURATION).filter(|file| directory.join(file).exists()))
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--daemonize", "no"])
        // Used if it is one of a cluster.
        .args(["--cluster-port", &free_port().to_string()])
        .args(["--save", "", "--appendonly", "no", "--enable-debug-command", "yes"])
        .args(["--repl-diskless-sync-delay", "0", "--loglevel", "verbose"])
        // Their compression reads memory before it was written, on purpose.
        .args(["--rdbcompression", if kind.checked { "no" } else { "yes" }])
        .args(["--logfile", "log", "--dir"])
        .arg(directory)
        .args(load.into_iter().flatten())
        .args(options.iter().map(filled))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", kind.program));
    (child, port)
}

/// Waits until the server answers, and not another one on its port; `false` when it has ended or given
/// up.
fn answers(child: &mut Child, port: u16, directory: &Path, gave_up: impl Fn(&str) -> bool) -> bool {
    let mut until = Instant::now() + PATIENCE;
    let own = format!("\r\nprocess_id:{}\r\n", child.id());
    while Instant::now() < until {
        if child.try_wait().unwrap().is_some() || gave_up(&log_in(directory)) {
            return false;
        }
        let client = Client::connect(port, Protocol::Resp2);
        let info = client.and_then(|mut client| {
            // It listens before it reads its file, and may give up then without a reply.
            client.set_patience(MOMENT)?;
            let ping = client.try_call(&["PING"])?;
            client.set_patience(PATIENCE)?;
            Ok((ping.is_error(), client.run("INFO server")))
        });
        match info {
            Ok((false, Value::Bulk(info))) if String::from_utf8_lossy(&info).contains(&own) => {
                return true;
            }
            // It loads: on a busy machine that takes as long as it takes.
            Ok((true, _)) => until = Instant::now() + PATIENCE,
            _ => {}
        }
        thread::sleep(Duration::from_millis(10));
    }
    drop(child.kill());
    panic!("the server on port {port} does not answer:\n{}", log_in(directory));
}

/// What a server has logged so far.
fn log_in(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The module of the profile that is tested, or the one that `COUA_MODULE` names.
pub(crate) fn module() -> &'static Path {
    static MODULE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os("COUA_MODULE").map(PathBuf::from);
    let module = MODULE.get_or_init(|| named().or_else(build_module));
    module.as_deref().expect("the module builds, and cargo names libcoua_valkey.so")
}

/// RedisBloom's module, as `scripts/install-client` installs it.
pub(crate) fn redisbloom() -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients");
    let path = Path::new(root).join("redisbloom/redisbloom.so");
    assert!(path.exists(), "RedisBloom is missing: scripts/install-client redisbloom");
    path
}

/// Cargo builds the module for a test program, but does not say where: so it is asked.
fn build_module() -> Option<PathBuf> {
    // Optimized as it is delivered: what is a library too is compiled without link-time optimization.
    let how: &[_] = if cfg!(debug_assertions) {
        &["build", "--profile", "test"]
    } else {
        &["rustc", "--release", "--crate-type", "cdylib"]
    };
    let built = Command::new(env!("CARGO"))
        .args(how)
        .args(["-p", "coua-valkey", "--lib", "--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo starts");
    let messages = String::from_utf8(built.stdout).unwrap();
    let mut strings = messages.split('"').filter(|_| built.status.success());
    strings.find(|text| text.ends_with("/libcoua_valkey.so")).map(PathBuf::from)
}
