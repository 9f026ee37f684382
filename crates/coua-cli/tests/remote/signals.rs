//! Signals during a wait for an answer: no connection is lost.

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{coua, has_read, messages, progress, run_with, send, until, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::Duration;

on_both!(signals_that_go_on_cost_nothing, a_signal_to_end_is_obeyed_while_the_server_is_silent,);

/// Longer than it takes to give up a connection.
const MOMENT: Duration = Duration::from_millis(300);

/// The server's process.
fn process(server: &Server) -> Pid {
    let about = server.client().run("INFO server").to_string();
    let id = about.split("process_id:").nth(1).unwrap();
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    Pid::from_raw(id.parse().unwrap()).unwrap()
}

/// Stops the server's process, and waits until it has stopped.
fn stop(server: &Server) {
    let id = process(server);
    kill_process(id, Signal::STOP).unwrap();
    let about = format!("/proc/{}/stat", id.as_raw_nonzero());
    until(|| fs::read_to_string(&about).unwrap().contains(") T "));
}

/// Whether the server has unread bytes.
fn is_asked(server: &Server) -> bool {
    let port = format!(":{:04X}", server.port());
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().any(|socket| {
        // The fields: number, local and remote address, state, and bytes to send and to read.
        let fields: Vec<_> = socket.split_whitespace().collect();
        fields[1].ends_with(&port) && fields[3] == "01" && !fields[4].ends_with(":00000000")
    })
}

/// A running program that waits for the answer about `b` from a stopped server. It prints something about `a`, if it
/// prints at all.
fn waiting(server: &Server, at: &str, command: &[&str]) -> (Child, ChildStdin) {
    let mut child = coua([command, &[at]].concat()).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a\n").unwrap();
    // It handles signals from its first answer on.
    let exists = match command {
        ["add"] => Some(":1"),
        ["remove"] => Some(":0"),
        _ => None,
    };
    if let Some(exists) = exists {
        let mut client = server.client();
        until(|| client.run("CF.EXISTS seen a").to_string() == exists);
    } else {
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    }
    stop(server);
    stdin.write_all(b"b\n").unwrap();
    until(|| has_read(&stdin) && is_asked(server));
    (child, stdin)
}

fn signals_that_go_on_cost_nothing(kind: Kind) {
    let server = Server::start(kind);
    // The shortest time that a server gets for a reply: five seconds.
    let at = address(&server, "seen?retry=0");
    let id = process(&server);
    let (mut child, stdin) = waiting(&server, &at, &["add"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    for _ in 0..3 {
        let line = progress(&child, &mut stderr);
        assert!(line.starts_with("coua: 1 record, "), "{line}");
    }
    send(&child, Signal::STOP);
    thread::sleep(Duration::from_secs(6));
    send(&child, Signal::CONT);
    thread::sleep(MOMENT);
    kill_process(id, Signal::CONT).unwrap();
    drop(stdin);
    let status = wait(&mut child);
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert!(status.success() && said.is_empty(), "{status} {said}");
    assert_eq!(run_with(b"a\nb\n", ["count", &at]).good(), b"1\ta\n1\tb\n");
}

fn a_signal_to_end_is_obeyed_while_the_server_is_silent(kind: Kind) {
    let commands: [&[&str]; 5] =
        [&["add"], &["remove"], &["check"], &["count"], &["dedup", "-d", "--filter"]];
    // Each gives the server some seconds.
    thread::scope(|scope| {
        for command in commands {
            scope.spawn(move || is_obeyed_while_the_server_is_silent(kind, command));
        }
    });
}

fn is_obeyed_while_the_server_is_silent(kind: Kind, command: &[&str]) {
    let server = Server::start(kind);
    let id = process(&server);
    let at = address(&server, "seen");
    // So that the others print something about it.
    if command != ["add"] {
        run_with(b"a\n", ["add", &at]).good();
    }
    let (mut child, stdin) = waiting(&server, &at, command);
    send(&child, Signal::TERM);
    let status = wait(&mut child);
    let said = messages(&mut child);
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{command:?} {status} {said}");
    assert!(said.contains("the program was told to stop"), "{command:?} {said}");
    kill_process(id, Signal::CONT).unwrap();
    drop(stdin);
    run_with(b"a\n", ["add", "--unique", &at]).good();
}
