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
    let until = Instant::now() + PATIENCE;
    loop {
        let (sent, got) = (section(primary), section(replica));
        let sent = field(&sent, "master_repl_offset:");
        if field(&got, "master_link_status:") == Some("up")
            && field(&got, "slave_repl_offset:") == sent
        {
            return;
        }
        assert!(Instant::now() < until, "the replica does not follow:\n{got}\n{}", replica.log());
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn section(server: &Server) -> String {
    let info = server.client().good("INFO replication");
    String::from_utf8(info.bytes().to_vec()).unwrap()
}

pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name))
}
