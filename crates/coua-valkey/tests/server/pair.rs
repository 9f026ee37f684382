//! A primary and its replica.

use std::thread;
use std::time::{Duration, Instant};

use crate::server::{Kind, PATIENCE, Server};

/// A primary, and a replica that follows it.
pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
}

impl Pair {
    pub(crate) fn start(kind: Kind, replica_options: &[&str]) -> Self {
        let pair =
            Self { primary: Server::start(kind), replica: Server::with(kind, replica_options) };
        follow(&pair.replica, &pair.primary);
        pair
    }

    /// Waits until the replica has all, and compares.
    #[track_caller]
    pub(crate) fn same(&self, after: &str) {
        self.primary.rests();
        caught_up(&self.primary, &self.replica);
        let [one, other] = [&self.primary, &self.replica].map(|s| s.client().good("DEBUG DIGEST"));
        assert_eq!(one, other, "after {after}");
        let log = self.replica.log();
        assert!(!log.contains("== CRITICAL =="), "the replica refused something:\n{log}");
    }
}

pub(crate) fn follow(replica: &Server, primary: &Server) {
    replica.client().good(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    caught_up(primary, replica);
}

/// Waits until the replica has taken all that the primary has sent.
#[track_caller]
pub(crate) fn caught_up(primary: &Server, replica: &Server) {
    let mut until = Instant::now() + PATIENCE;
    let mut before = None;
    loop {
        let sent = told(primary, "master_repl_offset");
        let got = told(replica, "slave_repl_offset");
        if told(replica, "master_link_status").as_deref() == Some("up") && got == sent {
            return;
        }
        if before != got {
            until = Instant::now() + PATIENCE;
            before.clone_from(&got);
        }
        let log = replica.log();
        assert!(Instant::now() < until, "the replica does not follow: {sent:?}, {got:?}\n{log}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a server says of its replication.
pub(crate) fn told(server: &Server, field: &str) -> Option<String> {
    server.client().info("replication", field)
}
