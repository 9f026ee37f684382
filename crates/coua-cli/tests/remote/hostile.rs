//! A server may send anything: the result is an error that names the server, within little time and memory.

use crate::fake::{INFO, Manners, Then, start};
use crate::support::{Folder, coua, messages, run, wait};
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// The limit of the program's virtual memory, in KiB: several times what it needs.
const MEMORY: &str = "1000000";

/// Each command, and the server command for its records.
const COMMANDS: [(&str, &str); 5] = [
    ("add", "CF.INSERT"),
    ("check", "CF.MEXISTS"),
    ("count", "CF.MCOUNT"),
    ("remove", "CF.MDEL"),
    ("dedup", "CF.INSERTNX"),
];

const STEPS_BEFORE: [&str; 3] = ["COMMAND", "HELLO", "CF.INFO"];

fn spawn(command: &str, at: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_coua");
    let limited = format!("ulimit -v {MEMORY} && exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited, "sh", program, command]);
    if command == "dedup" {
        shell.arg("--filter");
    }
    shell.arg(at).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    // A program that has already ended is checked by its exit code.
    child.stdin.take().unwrap().write_all(b"a\nb\nc\n").ok();
    child
}

fn manners(at: &'static str, answer: &[u8], then: Then) -> Manners {
    Manners { at, answer: answer.to_vec(), then, mode: "standalone" }
}

/// The program's messages: one that names the server, or two.
#[track_caller]
fn told(command: &str, manners: Manners) -> String {
    told_after("0", command, manners)
}

/// The same with this number of seconds for new attempts.
#[track_caller]
fn told_after(seconds: &str, command: &str, manners: Manners) -> String {
    let words = format!("{command} {manners:.300?}");
    let at = format!("valkey://127.0.0.1:{}/s", start(manners));
    let mut child = spawn(command, &format!("{at}?retry={seconds}"));
    let status = wait(&mut child);
    let stderr = messages(&mut child);
    assert_eq!(status.code(), Some(2), "{words}: {status} {stderr}");
    assert!(stderr.lines().all(|line| line.starts_with(&format!("coua: {at}: "))), "{stderr}");
    assert!((1..=2).contains(&stderr.lines().count()) && stderr.len() < 2000, "{words}: {stderr}");
    assert!(stderr.chars().all(|c| c == '\n' || !c.is_control()), "{words}: {stderr:?}");
    stderr
}

#[test]
fn what_is_no_reply_is_told() {
    let nested = b"*1\r\n".repeat(200_000);
    let wrong: [&[u8]; 12] = [
        b"garbage\r\n",
        b"\r\n",
        b"\0\xff\xfe\x80",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"*x\r\n",
        b":99999999999999999999\r\n",
        b"$1\r\nabcd\r\n",
        b"|x\r\n",
        b"+\xff\xff\r\n",
        // Of the other protocol.
        b"%1\r\n+a\r\n:1\r\n",
        b">2\r\n+a\r\n:1\r\n",
        &nested,
    ];
    for answer in wrong {
        for step in STEPS_BEFORE {
            let told = told("info", manners(step, answer, Then::Close));
            assert!(told.contains("not a Valkey or Redis reply"), "{step} {answer:.99?}: {told}");
        }
        for (command, question) in COMMANDS {
            let told = told(command, manners(question, answer, Then::Close));
            assert!(
                told.contains("not a Valkey or Redis reply"),
                "{command} {answer:.99?}: {told}"
            );
        }
    }
}

#[test]
fn replies_of_the_wrong_kind_are_told() {
    let wrong: [&[u8]; 7] = [
        b"+OK\r\n",
        b":5\r\n",
        b"$-1\r\n",
        b"*0\r\n",
        b"*1\r\n:1\r\n",
        b"*3\r\n:2\r\n:-7\r\n:9223372036854775807\r\n",
        b"*3\r\n:-9\r\n+1\r\n:0\r\n",
    ];
    for answer in wrong {
        for (command, question) in COMMANDS {
            let told = told(command, manners(question, answer, Then::GoOn));
            assert!(told.contains("a reply that does not fit the command"), "{command}: {told}");
        }
        let told = told("info", manners("CF.INFO s", answer, Then::GoOn));
        assert!(told.contains("unexpected reply to CF.INFO"), "{told}");
    }
    // Impossible numbers.
    let most = INFO.replace(":1024", ":18446744073709551615");
    told("info", manners("CF.INFO s", most.as_bytes(), Then::GoOn));
    let negative = INFO.replace(":1024", ":-1");
    let told = told("info", manners("CF.INFO s", negative.as_bytes(), Then::GoOn));
    assert!(told.contains("unexpected reply to CF.INFO"), "{told}");
}

#[test]
fn replies_without_end_take_no_memory() {
    let endless: [(&[u8], &'static [u8]); 7] = [
        (b"", b"x"),
        (b"+", b"x"),
        (b"-ERR ", b"x"),
        (b"$99999999999\r\n", b"x"),
        (b"*1000000000\r\n", b":1\r\n"),
        (b"*2147483647\r\n", b"*0\r\n"),
        (b"%1000000000\r\n", b"+a\r\n*1\r\n$0\r\n\r\n"),
    ];
    for (beginning, rest) in endless {
        for step in ["COMMAND", "CF.INFO"] {
            told("info", manners(step, beginning, Then::ForEver(rest)));
        }
        for (command, question) in COMMANDS {
            told(command, manners(question, beginning, Then::ForEver(rest)));
        }
    }
    let slots = Manners {
        mode: "cluster",
        ..manners("CLUSTER", b"*1000000000\r\n", Then::ForEver(b"*0\r\n"))
    };
    told("dedup", slots);
}

#[test]
fn servers_that_close_are_told() {
    for (answer, command) in
        [(&b""[..], "dedup"), (b"*3\r\n:1\r\n", "add"), (b"$99999999999\r\nab", "check")]
    {
        let told = told(command, manners("", answer, Then::Close));
        assert!(told.contains("the connection was closed"), "{told}");
    }
    for (command, question) in COMMANDS {
        let told = told_after("0.2", command, manners(question, b"*3\r\n:1\r\n", Then::Close));
        assert!(told.contains("the connection was closed; gave up after 0.2 s"), "{told}");
    }
}

/// Like protected mode, for clients from other machines.
#[test]
fn a_server_that_speaks_with_nobody_from_here_is_told() {
    let denied = manners("COMMAND", b"-DENIED it is in protected mode\r\n", Then::Close);
    let told = told("dedup", denied);
    assert!(told.contains(": DENIED it is in protected mode"), "{told}");
}

#[test]
fn silent_and_slow_servers_are_told() {
    let slow = [Then::Silence, Then::Slowly(b"+"), Then::Slowly(b":1\r\n")];
    let tests = slow.into_iter().enumerate().flat_map(|(number, then)| {
        let begun = if number == 2 { &b"*9999\r\n"[..] } else { b"" };
        [("info", ""), ("dedup", "CF.INSERTNX")].map(|(command, at)| {
            let manners = manners(at, begun, then.clone());
            std::thread::spawn(move || {
                let told = told(command, manners);
                assert!(told.contains("no answer"), "{told}");
            })
        })
    });
    tests.collect::<Vec<_>>().into_iter().for_each(|test| test.join().unwrap());
}

#[test]
fn words_of_a_server_do_not_reach_the_terminal_as_they_are() {
    let words = b"-ERR \x1b[2J\x07 you are hacked \x9b\r\n".to_vec();
    let long = [b"-ERR ".to_vec(), b"y".repeat(30_000), b"\r\n".to_vec()].concat();
    for answer in [words, long] {
        told("info", manners("CF.INFO", &answer, Then::GoOn));
    }
}

#[test]
fn redirects_that_lead_nowhere_are_told() {
    for answer in [&b"-MOVED 1 127.0.0.1:1\r\n"[..], b"-ASK 1 127.0.0.1:1\r\n", b"-MOVED\r\n"] {
        let told = told("info", manners("CF.INFO", answer, Then::GoOn));
        assert!(told.contains("is not part of a cluster"), "{told}");
    }
    let cluster =
        |at, answer: &[u8]| Manners { mode: "cluster", ..manners(at, answer, Then::GoOn) };
    let node =
        |range: &str, port: &str| format!("*1\r\n*3\r\n{range}*2\r\n$9\r\n127.0.0.1\r\n{port}\r\n");
    let wrong = [
        "+OK\r\n".to_owned(),
        "*1\r\n*0\r\n".to_owned(),
        node(":0\r\n:99999\r\n", ":1"),
        node(":-1\r\n:5\r\n", ":1"),
        node(":0\r\n:5\r\n", ":65536"),
        node(":0\r\n:5\r\n", "+x"),
    ];
    for slots in wrong {
        let told = told("info", cluster("CLUSTER", slots.as_bytes()));
        assert!(told.contains("unexpected reply to CLUSTER SLOTS"), "{slots}: {told}");
    }
    let told_of_none = told("info", cluster("CLUSTER", b"*0\r\n"));
    assert!(told_of_none.contains("no node of the cluster serves slot"), "{told_of_none}");
    let lost = told("info", cluster("CF.INFO", b"-MOVED 1 127.0.0.1:1\r\n"));
    assert!(lost.contains("the cluster is moving keys; gave up after 5 s"), "{lost}");
    let dead = node(":0\r\n:16383\r\n", ":1");
    let told_of_dead = told_after("0.2", "info", cluster("CLUSTER", dead.as_bytes()));
    assert!(told_of_dead.contains("gave up after 0.2 s"), "{told_of_dead}");
}

/// A file of 100,000 lines; a block has `LINES` of them.
fn file_of_blocks(folder: &Folder) -> (String, Vec<u8>) {
    let mut text = Vec::new();
    for line in 0..100_000 {
        writeln!(text, "{line:023}").unwrap();
    }
    (folder.file("in", &text), text)
}

const LINES: usize = 256 * 1024 / 24;

/// When the server has gone, only the block that was sent is without an answer, and dedup prints all of it: nothing of
/// later blocks is in the filter.
#[test]
fn a_server_that_goes_between_two_blocks_is_told() {
    let folder = Folder::new();
    let (file, text) = file_of_blocks(&folder);
    let gone = |command: &[&str], question| {
        let port = start(manners(question, b"", Then::Gone));
        let at = format!("valkey://127.0.0.1:{port}/s?retry=0");
        let done = run([command, &[&at, &file, "-j", "3"]].concat());
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        let number = |before: &str, behind: &str| {
            let (_, rest) =
                done.stderr.split_once(before).unwrap_or_else(|| panic!("{}", done.stderr));
            rest.split_once(behind).unwrap().0.replace(',', "").parse::<usize>().unwrap()
        };
        let unanswered = number("gave up after 0 s; no reply for ", " records");
        assert_eq!(unanswered, LINES, "{}", done.stderr);
        let place =
            number(&format!("{file}: record "), if command[0] == "add" { " " } else { "\n" });
        (place, done.stdout)
    };
    let (last, printed) = gone(&["dedup", "--filter"], "CF.INSERTNX");
    assert_eq!(last, 2 * LINES);
    assert!(printed == text[..last * 24], "{} bytes, {last} records", printed.len());
    let (first, _) = gone(&["add"], "CF.INSERT");
    assert_eq!(first, LINES + 1);
}

/// Without faults, the program accepts this server: so the tests above show something.
#[test]
fn a_server_of_good_manners_is_none_of_these() {
    let at = format!("valkey://127.0.0.1:{}/s", start(manners("NOTHING", b"", Then::Close)));
    let mut child = coua(["dedup", "--filter", &at]).spawn().unwrap();
    assert!(wait(&mut child).success(), "{}", messages(&mut child));
    for (command, _) in COMMANDS {
        let mut child = spawn(command, &at);
        assert!(
            matches!(wait(&mut child).code(), Some(0 | 1)),
            "{command}: {}",
            messages(&mut child)
        );
    }
}
