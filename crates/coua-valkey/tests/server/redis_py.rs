//! A client that is not ours: redis-py, in the environment that `./test` makes.

use std::path::Path;
use std::process::Command;

use crate::server::{Kind, Server};

on_both!(every_call_needs_python3_redis);

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/redis_py.py");
/// Where `./test` has redis-py.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/redis-py/bin/python3");

fn every_call_needs_python3_redis(kind: Kind) {
    assert!(
        Path::new(PYTHON).exists(),
        "redis-py is missing; ./test installs it, or: \
         python3 -m venv target/redis-py && target/redis-py/bin/pip install redis"
    );
    let server = Server::start(kind);
    let run = Command::new(PYTHON).arg(SCRIPT).arg(server.port().to_string()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
