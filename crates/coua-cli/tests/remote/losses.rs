//! Connections that break, servers that die: no line is lost, and repeats occur only as documented.

use crate::address;
use crate::proxy::Proxy;
use crate::server::{Kind, Server};
use crate::support::{Folder, Repeats, coua, expected, lines, messages, run_with, until, wait};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

on_both!(
    lost_answers_lose_no_line,
    a_server_that_is_killed_and_comes_back_loses_no_line,
    a_server_that_stays_away_ends_the_run,
    a_server_with_too_many_clients_is_tried_again,
    a_full_filter_tells_of_lost_answers,
    what_nobody_reads_is_not_recorded,
    a_connection_that_was_closed_while_idle_has_lost_nothing,
);

/// How often each line is in the text.
fn counted(text: &[u8]) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Checks that every line of the input is in the output; returns the number of repeats there.
#[track_caller]
pub(crate) fn repeats(input: &[u8], output: &[u8]) -> usize {
    let (given, printed) = (counted(input), counted(output));
    let lost = given.keys().filter(|line| !printed.contains_key(**line)).count();
    assert_eq!(lost, 0, "lines were lost");
    assert!(printed.keys().all(|line| given.contains_key(line)));
    printed.values().map(|count| count - 1).sum()
}

fn lost_answers_lose_no_line(kind: Kind) {
    let server = Server::start(kind);
    let proxy = Proxy::to(server.port());
    let text = lines(60_000, Repeats::Many);
    let unique = expected(&text);
    for (number, replies) in [15_000, 40_000, 90_000, 150_001].into_iter().enumerate() {
        let at = format!("valkey://127.0.0.1:{}/cut{number}?shards=8", proxy.port);
        // The filter exists: only answers about records are lost.
        run_with(b"", ["add", &at]).good();
        proxy.cut_after(replies);
        let run = run_with(&text, ["dedup", "--filter", &at]);
        assert!(proxy.was_cut(), "the wire was cut");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains("trying again for 60 s"), "{}", run.stderr);
        assert!(
            run.stderr.contains("count as new, and may be missing from a filter that becomes full"),
            "{}",
            run.stderr
        );
        // Each line is printed at most once more, whatever number of pending blocks it is in.
        assert!(repeats(&text, &run.stdout) <= counted(&unique).len());
        // Everything is recorded, and nothing twice.
        assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), b"");
        let most = run_with(&unique, ["count", &at]).text();
        assert!(most.lines().all(|line| line.starts_with("1\t")), "one copy of each");
    }
}

fn a_server_that_is_killed_and_comes_back_loses_no_line(kind: Kind) {
    // With `everysec` a server on a slow disk answers before it has written, and would lose that.
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = Server::with(kind, &options);
    let proxy = Proxy::to(server.port());
    let at = format!("valkey://127.0.0.1:{}/seen?shards=4", proxy.port);
    let text = lines(150_000, Repeats::Many);
    let folder = Folder::new();
    let out = folder.file("out", "");
    let mut child = coua(["dedup", "-q", "--filter", &at, "-o", &out]);
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let half = text.len() / 2;
    stdin.write_all(&text[..half]).unwrap();
    until(|| fs::metadata(&out).unwrap().len() > 0);
    server.stop();
    stdin.write_all(&text[half..half + 100]).unwrap();
    server.restart();
    proxy.lead_to(server.port());
    stdin.write_all(&text[half + 100..]).unwrap();
    drop(stdin);
    assert!(wait(&mut child).success());
    // Items that the server had logged but not answered when it died are printed once more.
    repeats(&text, &folder.read("out"));
    assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), b"");
}

fn a_server_that_stays_away_ends_the_run(kind: Kind) {
    let mut server = Server::start(kind);
    let at = format!("valkey://127.0.0.1:{}/seen?retry=0.2", server.port());
    let mut child = coua(["dedup", "--filter", &at]);
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a\nb\na\n").unwrap();
    // Printed records were answered; recorded ones may not have been answered yet.
    let mut answered = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut answered).unwrap();
    assert_eq!(&answered, b"a\nb\n");
    server.stop();
    stdin.write_all(b"a\nc\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(output.stdout, b"a\nc\n", "what could not be asked is printed");
    for part in
        ["gave up after 0.2 s", "no reply for 2 records", "stopped after standard input: record 5"]
    {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

/// As after a failover, when all clients connect at once. With a password, this is the reply to AUTH.
fn a_server_with_too_many_clients_is_tried_again(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CONFIG SET requirepass secret");
    let at = format!("valkey://:secret@127.0.0.1:{}/seen", server.port());
    let mut child = coua(["dedup", "--filter", &at]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a\nb\n").unwrap();
    until(|| client.run("CF.COUNT seen b").to_string() == ":1");
    client.good("CONFIG SET maxclients 1");
    client.good("CLIENT KILL TYPE normal SKIPME yes");
    stdin.write_all(b"c\n").unwrap();
    until(|| {
        let stats = client.good("INFO stats");
        !String::from_utf8_lossy(stats.bytes()).contains("\nrejected_connections:0\r")
    });
    client.good("CONFIG SET maxclients 100");
    stdin.write_all(b"a\nd\n").unwrap();
    drop(stdin);
    let status = wait(&mut child);
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(
        (status.code(), printed.as_str()),
        (Some(0), "a\nb\nc\nd\n"),
        "{}",
        messages(&mut child)
    );
}

/// A key that was sent twice may be recorded by mistake, or may be missing.
fn a_full_filter_tells_of_lost_answers(kind: Kind) {
    let server = Server::start(kind);
    let proxy = Proxy::to(server.port());
    let text = lines(60_000, Repeats::Few);
    for command in [&["dedup", "--filter"][..], &["add"]] {
        let at = format!("valkey://127.0.0.1:{}/{}", proxy.port, command[0]);
        run_with(b"", ["add", &at, "--when-full=stop", "--capacity=5000"]).good();
        proxy.cut_after(8_000);
        let run = run_with(&text, [command, &[at.as_str()]].concat());
        assert!(proxy.was_cut(), "the wire was cut");
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        let words = "records sent again because the reply was lost: ";
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

fn what_nobody_reads_is_not_recorded(kind: Kind) {
    let server = Server::start(kind);
    let at = format!("valkey://127.0.0.1:{}/seen?shards=4", server.port());
    let text = lines(200_000, Repeats::Few);
    let folder = Folder::new();
    folder.file("in", &text);
    let script = format!("\"$COUA\" dedup --filter '{at}' in | head -n 1000 > first");
    crate::support::shell(folder.path(), &script).good();
    let first = folder.read("first");
    let rest = run_with(&text, ["dedup", "--filter", &at]).good();
    repeats(&text, &[first, rest].concat());
}

fn a_connection_that_was_closed_while_idle_has_lost_nothing(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "seen");
    run_with(b"known\n", ["dedup", "--filter", &at]).good();
    let mut child = coua(["dedup", "--filter", &at]);
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut printed) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(b"new\n").unwrap();
    let mut first = [0; 4];
    printed.read_exact(&mut first).unwrap();
    server.client().good("CLIENT KILL TYPE normal");
    thread::sleep(Duration::from_millis(700));
    stdin.write_all(b"known\nnew\n").unwrap();
    drop(stdin);
    let mut rest = Vec::new();
    printed.read_to_end(&mut rest).unwrap();
    assert_eq!((&first, messages(&mut child), rest), (b"new\n", String::new(), Vec::new()));
}
