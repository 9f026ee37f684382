//! Where the names of this module are taken: by itself, or by another module.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pair::{Pair, follow};
use crate::resp::Value;
use crate::server::{Kind, Server, module, redisbloom};
use crate::zoo;

on_both!(
    loaded_twice,
    beside_a_module_with_one_of_the_commands_needs_cc,
    commands_beside_redisbloom_needs_redisbloom,
    other_names_are_passed_on_needs_redisbloom,
    redisbloom_after_this_module_needs_redisbloom,
);

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

const BESIDE: &str = "the server already has CF.* commands, so those of this module are COUA.*";

/// The other module keeps its command, and this one has other names for all.
fn beside_a_module_with_one_of_the_commands_needs_cc(kind: Kind) {
    let directory = tempfile::tempdir().unwrap();
    let foreign = build_foreign(directory.path());
    let server = Server::configured(kind, &format!("loadmodule {}\n", foreign.display()));
    let mut client = server.client();
    assert_eq!(client.run("CF.RESERVE f 100").to_string(), "$-1");
    assert!(client.run("CF.ADD f a").to_string().starts_with("-ERR unknown command"));
    assert_eq!(client.run("COUA.ADD f a").integer(), 1);
    assert_eq!(client.info_number("coua", "coua_cuckoo_filters"), 1);
    assert!(server.log().contains(BESIDE), "{}", server.log());
}

fn beside_redisbloom(kind: Kind) -> Server {
    Server::configured(kind, &format!("loadmodule {}\n", redisbloom().display()))
}

fn commands_beside_redisbloom_needs_redisbloom(kind: Kind) {
    let server = beside_redisbloom(kind);
    let mut client = server.client();
    assert!(server.log().contains(BESIDE), "{}", server.log());
    let all = client.good("COMMAND LIST FILTERBY MODULE coua");
    let is_ours = |name: &Value| name.bytes().starts_with(b"coua.");
    assert!(all.elements().len() >= 20 && all.elements().iter().all(is_ours), "{all}");
    // Each module answers for keys of its own type only.
    client.good("CF.ADD theirs a");
    client.good("COUA.ADD ours a");
    assert_eq!(client.run("CF.EXISTS theirs a").integer(), 1);
    assert_eq!(client.run("COUA.EXISTS ours a").integer(), 1);
    let before = client.good("DUMP theirs");
    for line in ["COUA.ADD theirs b", "COUA.DEL theirs a", "COUA.COMPACT theirs", "CF.ADD ours b"] {
        assert!(client.run(line).to_string().starts_with("-WRONGTYPE"), "{line}");
    }
    assert_eq!(client.good("DUMP theirs"), before);
    // A filter of RedisBloom moves over in chunks.
    client.good(&zoo::with_items("CF.INSERT theirs ITEMS", 0..500));
    let mut position = 0;
    loop {
        let reply = client.good(&format!("CF.SCANDUMP theirs {position}"));
        let [next, chunk] = reply.elements() else { panic!("{reply}") };
        position = next.integer();
        if position == 0 {
            break;
        }
        let position = position.to_string();
        let chunk = [b"COUA.LOADCHUNK", b"moved".as_slice(), position.as_bytes(), chunk.bytes()];
        assert_eq!(client.call(&chunk).to_string(), "+OK");
    }
    let there = client.good(&zoo::with_items("COUA.MEXISTS moved", 0..500));
    assert!(there.elements().iter().all(|it| it.integer() == 1), "{there}");
}

/// Replicas, append-only files and timers use the names of this server.
fn other_names_are_passed_on_needs_redisbloom(kind: Kind) {
    let pair = Pair { primary: beside_redisbloom(kind), replica: beside_redisbloom(kind) };
    follow(&pair.replica, &pair.primary);
    let mut client = pair.primary.client();
    client.good("CONFIG SET appendonly yes");
    client.good("COUA.RESERVE full 100 EXPANSION 0");
    for command in ["COUA.INSERT full ITEMS", "COUA.INSERT f ITEMS", "COUA.INSERTNX f ITEMS"] {
        client.good(&zoo::with_items(command, 0..400));
    }
    client.good(&zoo::with_items("COUA.MDEL f", 300..500));
    client.good("COUA.RESERVE w 100 WINDOW 1h");
    client.good("COUA.ADD w a");
    for start in (0..600_000).step_by(100_000) {
        client.good(&zoo::with_items("COUA.MADD large", start..start + 100_000));
    }
    for start in (0..450_000).step_by(5_000) {
        client.good(&zoo::with_items("COUA.MDEL large", start..start + 5_000));
    }
    client.good("COUA.COMPACT large");
    pair.same("other names");
    let before = client.good("DEBUG DIGEST");
    for command in ["DEBUG RELOAD", "DEBUG LOADAOF", "BGREWRITEAOF"] {
        client.good(command);
        assert_eq!(client.good("DEBUG DIGEST"), before, "{command}");
    }
}

/// The server does not start: RedisBloom cannot add its commands.
fn redisbloom_after_this_module_needs_redisbloom(kind: Kind) {
    let path = redisbloom();
    let log = Server::refused(kind, &["--loadmodule", path.to_str().unwrap()]);
    assert!(log.contains("Can't load module from"), "{log}");
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
