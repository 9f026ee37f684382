//! Where the names of this module are taken: by itself, or by another module.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::{Kind, Server, module};

on_both!(loaded_twice, beside_a_module_with_the_same_commands_needs_cc);

/// The second one is refused with the reason in the log, and the first one goes on.
fn loaded_twice(kind: Kind) {
    let server = Server::with(kind, &["--enable-module-command", "yes"]);
    let mut client = server.client();
    client.good("CF.ADD f a");
    let copy = server.path("copy.so");
    std::fs::copy(module(), &copy).unwrap();
    for path in [module(), &copy] {
        let reply = client.run(&format!("MODULE LOAD {}", path.display()));
        assert!(reply.is_error(), "{reply}");
    }
    let log = server.log();
    let told = log.matches("the module is not loaded: a module named coua is already loaded");
    assert_eq!(told.count(), 2, "{log}");
    assert_eq!(client.run("CF.EXISTS f a").integer(), 1);
}

/// The other module keeps its commands, and this one adds none.
fn beside_a_module_with_the_same_commands_needs_cc(kind: Kind) {
    let directory = tempfile::tempdir().unwrap();
    let foreign = build_foreign(directory.path());
    let server = Server::configured(kind, &format!("loadmodule {}\n", foreign.display()));
    let mut client = server.client();
    assert_eq!(client.run("CF.RESERVE f 100").to_string(), "$-1");
    assert!(client.run("CF.ADD f a").to_string().starts_with("-ERR unknown command"));
    assert_eq!(client.info_number("coua", "coua_cuckoo_filters"), 0);
    let log = server.log();
    let line = "the server already has CF.* commands, so this module adds none";
    assert!(log.contains(line), "{log}");
}

fn build_foreign(directory: &Path) -> PathBuf {
    let library = directory.join("foreign.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/foreign.c");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).output();
    let built = built.expect("cc starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}
