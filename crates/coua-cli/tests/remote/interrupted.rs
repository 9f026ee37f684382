//! `push` and `pull` that other clients, signals and lost connections interrupt: nothing incomplete is left, and nobody
//! else's data are changed.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use crate::address;
use crate::client::Client;
use crate::proxy::Proxy;
use crate::server::{Kind, Server};
use crate::support::{Folder, coua, messages, run, run_with, send, until, wait};
use rustix::process::Signal;

on_both!(
    a_push_leaves_the_key_of_another_client,
    a_push_that_is_stopped_leaves_no_key,
    a_push_survives_lost_connections,
    a_pull_that_is_killed_leaves_no_file,
    a_pull_leaves_a_file_that_somebody_else_made,
);

/// A filter with a few items that takes hundreds of chunks.
fn large_filter(folder: &Folder) -> String {
    let file = folder.join("large");
    run_with(b"a\n", ["add", "--capacity", "20000000", &file]).good();
    file
}

/// A running push of which some chunks have arrived, and which does not go on for now.
fn begun_push(file: &str, at: &str, client: &mut Client) -> Child {
    let child = coua(["push", file, at]).stdin(Stdio::null()).spawn().unwrap();
    until(|| client.run("DBSIZE").integer() > 0);
    send(&child, Signal::STOP);
    child
}

fn a_push_leaves_the_key_of_another_client(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    let (file, mut client) = (large_filter(&folder), server.client());
    let at = address(&server, "copy");
    for loss in ["DEL copy", "FLUSHALL"] {
        let mut child = begun_push(&file, &at, &mut client);
        client.run(loss);
        client.good("CF.ADD copy precious");
        send(&child, Signal::CONT);
        let (status, said) = (wait(&mut child), messages(&mut child));
        assert_eq!(status.code(), Some(2), "{said}");
        let reason =
            if loss == "FLUSHALL" { "refused or lost the filter" } else { "exists already" };
        assert!(said.contains(reason), "{said}");
        assert_eq!(client.run("CF.EXISTS copy precious").integer(), 1);
        assert_eq!(client.run("DBSIZE").integer(), 1);
        client.good("FLUSHALL");
    }
}

fn a_push_that_is_stopped_leaves_no_key(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    let (file, mut client) = (large_filter(&folder), server.client());
    for signal in [Signal::TERM, Signal::INT] {
        let mut child = begun_push(&file, &address(&server, "copy"), &mut client);
        send(&child, signal);
        send(&child, Signal::CONT);
        let (status, said) = (wait(&mut child), messages(&mut child));
        assert_eq!(status.signal(), Some(signal.as_raw()), "{said}");
        assert!(said.contains("the program was told to stop"), "{said}");
        assert_eq!(client.run("DBSIZE").integer(), 0);
    }
}

fn a_push_survives_lost_connections(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    let (proxy, mut client) = (Proxy::to(server.port()), server.client());
    let file = folder.join("seen");
    run_with(b"a\n", ["add", "--capacity", "200000", &file]).good();
    let at = format!("valkey://127.0.0.1:{}/copy", proxy.port);
    let mut successes = 0;
    for replies in (400..).step_by(4) {
        proxy.cut_after(replies);
        let done = run(["push", &file, &at]);
        let exists = client.run("EXISTS copy").integer();
        assert_eq!(client.run("DBSIZE").integer(), exists, "{replies}: {}", done.stderr);
        if exists == 1 {
            assert_eq!(client.run("CF.EXISTS copy a").integer(), 1, "{replies}");
        }
        if done.code == Some(0) {
            assert_eq!(exists, 1, "{replies}");
            successes += usize::from(proxy.was_cut());
        } else if exists == 1 {
            let said = "the connection was lost while the filter got its name";
            assert!(done.stderr.contains(said), "{replies}: {}", done.stderr);
        }
        client.good("FLUSHALL");
        if !proxy.was_cut() {
            break;
        }
    }
    assert!(successes > 2, "{successes}");
}

/// A running pull that waits for the filter from a server that is stopped.
fn begun_pull(server: &Server, file: &str) -> Child {
    let mut client = server.client();
    client.good("CF.RESERVE seen 1024 SEED 000102030405060708090a0b0c0d0e0f");
    client.good("CF.ADD seen a");
    client.good("CLIENT PAUSE 2000 ALL");
    let key = format!("{file}.key");
    let words = ["pull", &address(server, "seen"), file, "--secret", &key];
    coua(words).stdin(Stdio::null()).spawn().unwrap()
}

fn a_pull_that_is_killed_leaves_no_file(kind: Kind) {
    for signal in [Signal::TERM, Signal::KILL] {
        let (server, folder) = (Server::start(kind), Folder::new());
        let mut child = begun_pull(&server, &folder.join("new"));
        until(|| is_connected(&server));
        send(&child, signal);
        assert_eq!(wait(&mut child).signal(), Some(signal.as_raw()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

fn a_pull_leaves_a_file_that_somebody_else_made(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    let mut child = begun_pull(&server, &folder.join("new"));
    until(|| is_connected(&server));
    folder.file("new", "precious");
    let (status, said) = (wait(&mut child), messages(&mut child));
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("new: already exists"), "{said}");
    assert_eq!(folder.read("new"), b"precious");
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["new", "new.key"]);
}

/// Whether the server has a client.
fn is_connected(server: &Server) -> bool {
    let port = format!(":{:04X}", server.port());
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let clients = sockets.lines().filter(|socket| {
        // The fields: number, local and remote address, state.
        let fields: Vec<_> = socket.split_whitespace().collect();
        fields[1].ends_with(&port) && fields[3] == "01"
    });
    clients.count() > 0
}
