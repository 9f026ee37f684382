//! The module under valgrind: no access to memory that is not its own. In Redis only: Valkey 8 takes
//! memory by calls of its library that valgrind does not know, and does not start.

use crate::chunks::{load, scan};
use crate::hostile::{changed, restore_all, small_dumps};
use crate::payload::sealed;
use crate::replication::commands;
use crate::server::{REDIS, Server};
use crate::zoo;

#[test]
fn needs_redis_server_needs_valgrind_commands() {
    let server = Server::start(REDIS.checked());
    let mut client = server.client();
    zoo::fill(&mut client);
    for command in commands() {
        client.good(&command);
    }
    zoo::insert(&mut client, "made", 0..30_000);
    client.good(&zoo::with_items("CF.MDEL made", 0..30_000));
    client.good("CF.COMPACT made");
    for key in zoo::keys() {
        for command in ["CF.INFO", "MEMORY USAGE"] {
            client.run(&format!("{command} {key}"));
        }
        client.run(&zoo::with_items(&format!("CF.MCOUNT {key}"), 0..1_000));
        client.run(&zoo::with_items(&format!("CF.MEXISTS {key}"), 0..1_000));
    }
    client.good("INFO everything");
    client.good("FLUSHALL SYNC");
}

#[test]
fn needs_redis_server_needs_valgrind_keeping() {
    let server = Server::start(REDIS.checked());
    let mut client = server.client();
    zoo::fill(&mut client);
    for key in zoo::keys() {
        let dump = client.good(&format!("DUMP {key}"));
        client.call(&[b"RESTORE".as_slice(), b"other", b"0", dump.bytes(), b"REPLACE"]);
        client.good(&format!("COPY {key} other REPLACE"));
        client.good("UNLINK other");
        for chunk in scan(&mut client, key) {
            load(&mut client, "other", &chunk);
        }
        client.good("UNLINK other");
    }
    let before = client.good("DEBUG DIGEST");
    client.good("DEBUG RELOAD");
    assert_eq!(client.good("DEBUG DIGEST"), before);
}

/// A sample of what `hostile` sends.
#[test]
fn needs_redis_server_needs_valgrind_forged_dumps() {
    let server = Server::start(REDIS.checked());
    let mut client = server.client();
    for dump in small_dumps(&mut client) {
        let cut: Vec<_> = (0..dump.len()).step_by(37).map(|end| sealed(&dump[..end])).collect();
        restore_all(&mut client, &cut);
        let changed: Vec<_> = changed(&dump).into_iter().step_by(41).collect();
        restore_all(&mut client, &changed);
    }
    for filter in crate::golden::filters() {
        let Some(dump) = filter.dump else { continue };
        let dump = crate::payload::body(&dump);
        let changed: Vec<_> = changed(dump).into_iter().step_by(41).collect();
        restore_all(&mut client, &changed);
    }
}
