//! A cluster on loopback: primaries that share the slots, and replicas of them.

use std::ops::Index;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, Protocol};
use crate::resp::Value;
use crate::server::{Kind, PATIENCE, Server};

/// Nodes that have slots in the beginning; as many follow them.
pub(crate) const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// Milliseconds after which a silent node counts as dead: a busy machine makes none silent so long.
pub(crate) const PATIENT: u32 = 15_000;
/// For tests that kill one.
pub(crate) const IMPATIENT: u32 = 1_500;

/// The nodes: first the primaries, then their replicas in the same order.
pub(crate) struct Cluster {
    nodes: Vec<Server>,
}

impl Index<usize> for Cluster {
    type Output = Server;

    fn index(&self, node: usize) -> &Server {
        &self.nodes[node]
    }
}

impl Cluster {
    /// Three primaries with a replica each.
    pub(crate) fn start(kind: Kind, timeout: u32) -> Self {
        Self::of(kind, timeout, PRIMARIES, 2 * PRIMARIES)
    }

    /// Starts the nodes, and waits until all of them agree: so many primaries, and each further node
    /// follows one of them and gets what it is told.
    pub(crate) fn of(kind: Kind, timeout: u32, primaries: usize, nodes: usize) -> Self {
        let cluster = Self { nodes: (0..nodes).map(|_| node(kind, timeout)).collect() };
        cluster.introduce();
        for node in 0..primaries {
            let (first, behind) = (node * SLOTS / primaries, (node + 1) * SLOTS / primaries);
            let slots = format!("CLUSTER ADDSLOTSRANGE {first} {}", behind - 1);
            cluster[node].client().good(&slots);
        }
        for node in primaries..nodes {
            let follow = format!("CLUSTER REPLICATE {}", cluster.id(node % primaries));
            wait_for("a replica knows its primary", || {
                !cluster[node].client().run(&follow).is_error()
            });
        }
        cluster.wait_until_sound(0..nodes);
        // A replica that has got the data of its primary may get the commands only a second later. A command
        // that reaches it shows that they flow.
        for node in 0..primaries.min(nodes - primaries) {
            let mut client = cluster[node].client();
            client.good("FLUSHALL");
            assert_ne!(client.good("WAIT 1 30000").integer(), 0, "a replica is silent");
        }
        cluster
    }

    /// What the others call a node.
    pub(crate) fn id(&self, node: usize) -> String {
        let id = self[node].client().good("CLUSTER MYID");
        String::from_utf8(id.bytes().to_vec()).unwrap()
    }

    /// Each gets an epoch of its own: nodes that agree on that for themselves may be about it still when one
    /// of them is killed, and then nobody votes for its replica.
    fn introduce(&self) {
        for (node, epoch) in self.nodes.iter().zip(1..) {
            node.client().good(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}"));
        }
        let mut first = self[0].client();
        for node in &self.nodes[1..] {
            let bus = node.client().good("CONFIG GET cluster-port").elements()[1].clone();
            let bus = String::from_utf8(bus.bytes().to_vec()).unwrap();
            first.good(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port()));
        }
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        for node in &self.nodes {
            wait_for("the nodes know each other", || says(node, "CLUSTER INFO", &known));
        }
    }

    /// Waits until these nodes take commands, and those of them that follow have all.
    pub(crate) fn wait_until_sound(&self, nodes: impl IntoIterator<Item = usize>) {
        for node in nodes {
            let node = &self[node];
            wait_for("the cluster is sound", || {
                says(node, "CLUSTER INFO", "cluster_state:ok")
                    && (says(node, "INFO replication", "role:master")
                        || says(node, "INFO replication", "master_link_status:up"))
            });
        }
    }

    /// Ends a node at once, as a crash would.
    pub(crate) fn stop(&mut self, node: usize) {
        self.nodes[node].stop();
    }

    /// The reply of the node that has the key: the command is repeated while the cluster is taken up
    /// with itself, and sent on where it is told.
    #[track_caller]
    pub(crate) fn run(&self, through: usize, line: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        let mut port = self[through].port();
        loop {
            let client = Client::connect(port, Protocol::Resp2);
            let parts: Vec<_> = line.split_whitespace().collect();
            let reply = client.and_then(|mut client| client.try_call(&parts));
            match reply {
                Ok(Value::Error(text)) if text.starts_with("MOVED ") => {
                    port = text.rsplit(':').next().unwrap().parse().unwrap();
                }
                Ok(Value::Error(text)) if text.starts_with("CLUSTERDOWN ") => {}
                Ok(reply) => return reply,
                Err(_) => port = self[through].port(),
            }
            assert!(Instant::now() < until, "the cluster does not take {line}");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn node(kind: Kind, timeout: u32) -> Server {
    let timeout = timeout.to_string();
    Server::with(kind, &["--cluster-enabled", "yes", "--cluster-node-timeout", &timeout])
}

fn says(node: &Server, command: &str, line: &str) -> bool {
    let reply = node.client().good(command);
    String::from_utf8_lossy(reply.bytes()).lines().any(|found| found == line)
}

/// Waits for something that must come.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
