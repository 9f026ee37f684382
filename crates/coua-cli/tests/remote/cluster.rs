//! A cluster of three primaries, each with a replica.

use crate::client::Client;
use crate::server::{Kind, PATIENCE, Server};
use crate::support::{
    Folder, Repeats, coua, expected, lines, messages, run, run_with, until, wait,
};
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

on_both!(every_command_works_on_a_cluster, a_primary_that_is_killed_loses_no_line,);

const PRIMARIES: usize = 3;

struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Three primaries that share the slots, and then a replica of each.
    fn start(kind: Kind) -> Self {
        let buses: Vec<u16> = (0..2 * PRIMARIES).map(|_| free_port()).collect();
        let start = |bus: &u16| {
            let bus = bus.to_string();
            let options =
                ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port"];
            Server::with(kind, &[&options[..], &[&bus]].concat())
        };
        let cluster = Self { nodes: buses.iter().map(start).collect() };
        let mut clients: Vec<Client> = cluster.nodes.iter().map(Server::client).collect();
        for (client, slots) in clients.iter_mut().zip(["0 5460", "5461 10922", "10923 16383"]) {
            client.good(&format!("CLUSTER ADDSLOTSRANGE {slots}"));
        }
        for (node, bus) in cluster.nodes.iter().zip(&buses).skip(1) {
            clients[0].good(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port()));
        }
        let says = |client: &mut Client, words: &str, part: &str| {
            client.run(words).to_string().contains(part)
        };
        let all = format!("cluster_known_nodes:{}", 2 * PRIMARIES);
        for client in &mut clients {
            patiently(|| says(client, "CLUSTER INFO", &all));
        }
        for number in 0..PRIMARIES {
            let primary = clients[number].run("CLUSTER MYID").to_string();
            let primary = primary.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
            let replica = &mut clients[PRIMARIES + number];
            patiently(|| !replica.run(&format!("CLUSTER REPLICATE {primary}")).is_error());
            patiently(|| says(replica, "INFO replication", "master_link_status:up"));
        }
        for client in &mut clients {
            patiently(|| says(client, "CLUSTER INFO", "cluster_state:ok"));
        }
        cluster
    }

    fn address(&self, filter: &str) -> String {
        format!("valkey://127.0.0.1:{}/{filter}", self.nodes[0].port())
    }
}

#[track_caller]
fn patiently(mut what: impl FnMut() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "it never happened");
        thread::sleep(Duration::from_millis(20));
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn every_command_works_on_a_cluster(kind: Kind) {
    let cluster = Cluster::start(kind);
    let at = cluster.address("seen?shards=16");
    let text = lines(50_000, Repeats::Many);
    let unique = expected(&text);
    assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), unique);
    assert_eq!(run_with(&unique, ["check", &at]).good(), unique);
    run_with(&unique, ["add", &at]).good();
    let counts = run_with(&unique, ["count", &at]).text();
    assert!(counts.lines().all(|line| line.starts_with("2\t")));
    run_with(&unique, ["remove", &at]).good();
    run_with(&unique, ["remove", &at]).good();
    assert!(run(["info", "--json", &at]).text().contains("\"items\": 0"));
    for node in &cluster.nodes[..PRIMARIES] {
        assert_ne!(node.client().run("DBSIZE").to_string(), ":0", "every primary has shards");
    }
}

fn a_primary_that_is_killed_loses_no_line(kind: Kind) {
    let mut cluster = Cluster::start(kind);
    let at = cluster.address("seen?shards=16");
    let text = lines(150_000, Repeats::Many);
    let folder = Folder::new();
    let out = folder.file("out", "");
    let child = coua(["dedup", "--filter", &at, "-o", &out]).stdin(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let half = text.len() / 2;
    stdin.write_all(&text[..half]).unwrap();
    until(|| fs::metadata(&out).unwrap().len() > 0);
    // Not the one that the address names, and not one that has nothing to do with it.
    cluster.nodes[1].stop();
    stdin.write_all(&text[half..]).unwrap();
    drop(stdin);
    assert!(wait(&mut child).success());
    assert!(messages(&mut child).contains("trying again for 60 s"));
    let out = folder.read("out");
    let set = |text: &[u8]| {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect::<HashSet<_>>()
    };
    assert_eq!(set(&out), set(&text), "no line is lost");
    // What the replica had not got yet is printed once more, and then known.
    run_with(&text, ["dedup", "-q", "--filter", &at]).good();
    assert_eq!(run_with(&text, ["dedup", "-q", "--filter", &at]).good(), b"");
}
