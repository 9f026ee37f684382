//! Clients that are not ours, as `scripts/install-client` installs them.

mod go_redis;

use std::path::PathBuf;
use std::process::Command;

use crate::server::{Kind, REDIS, Server};

on_both!(
    every_call_needs_redis_py,
    every_call_needs_valkey_py,
    its_own_tests_needs_redis_py_suite,
    every_call_needs_node_redis,
    every_call_needs_go_redis,
    #[ignore = "takes long"]
    every_call_of_jedis_needs_java,
    #[ignore = "takes long"]
    every_call_of_lettuce_needs_java,
    #[ignore = "takes long"]
    every_call_of_redisson_needs_java,
);

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/clients");

/// Where a client is installed.
fn installed(client: &str) -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients");
    let folder = PathBuf::from(root).join(client);
    let is_there = folder.join("installed").exists();
    assert!(is_there, "{client} is missing; ./test installs it, or: {HERE}/install {client}");
    folder
}

#[track_caller]
fn check(command: &mut Command) {
    let run = command.output().unwrap();
    let [output, errors] = [&run.stdout, &run.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(run.status.success(), "{output}\n{errors}");
}

fn every_call_needs_redis_py(kind: Kind) {
    let server = Server::start(kind);
    let python = installed("redis-py").join("bin/python3");
    let script = format!("{HERE}/redis_py.py");
    check(Command::new(python).args([&script, &server.port().to_string(), "redis"]));
}

/// valkey-py is a copy of an earlier redis-py.
fn every_call_needs_valkey_py(kind: Kind) {
    let server = Server::start(kind);
    let python = installed("valkey-py").join("bin/python3");
    let script = format!("{HERE}/redis_py.py");
    check(Command::new(python).args([&script, &server.port().to_string(), "valkey"]));
}

/// The tests of these filters that redis-py's authors have written, in one protocol for each server (our own
/// scripts run in both).
fn its_own_tests_needs_redis_py_suite(kind: Kind) {
    let server = Server::start(kind);
    let folder = installed("redis-py-suite");
    let protocol = if kind == REDIS { "2" } else { "3" };
    check(
        Command::new(folder.join("bin/python3"))
            .args(["-m", "pytest", "-q", "-p", "pytest_coua", "-p", "no:cacheprovider"])
            .args(["tests/test_bloom.py", "tests/test_asyncio/test_bloom.py"])
            .args(["-k", "cf_", "--protocol", protocol])
            .arg(format!("--redis-url=redis://localhost:{}/0", server.port()))
            .arg(format!("--redis-mod-url=redis://localhost:{}/0", server.port()))
            .env("PYTHONPATH", HERE)
            .current_dir(folder.join("source")),
    );
}

fn every_call_needs_node_redis(kind: Kind) {
    let server = Server::start(kind);
    let script = format!("{HERE}/node_redis.js");
    let modules = installed("node-redis").join("node_modules");
    check(
        Command::new("node").args([&script, &server.port().to_string()]).env("NODE_PATH", modules),
    );
}

fn every_call_needs_go_redis(kind: Kind) {
    let server = Server::start(kind);
    let calls = installed("go-redis").join("calls");
    check(Command::new(calls).arg(server.port().to_string()));
}

fn every_call_of_java(kind: Kind, client: &str) {
    let server = Server::start(kind);
    let folder = installed("java");
    let path = format!("{0}:{0}/*", folder.display());
    check(Command::new("java").args(["-cp", &path, "Clients", &server.port().to_string(), client]));
}

fn every_call_of_jedis_needs_java(kind: Kind) {
    every_call_of_java(kind, "jedis");
}

fn every_call_of_lettuce_needs_java(kind: Kind) {
    every_call_of_java(kind, "lettuce");
}

fn every_call_of_redisson_needs_java(kind: Kind) {
    every_call_of_java(kind, "redisson");
}
