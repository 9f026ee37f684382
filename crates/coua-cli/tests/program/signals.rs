//! Signals: finished work is saved, and the program dies by the signal.

use crate::support::{
    Folder, Repeats, coua, expected, has_read, is_full, lines, messages, progress, run, run_with,
    send, until, wait,
};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// A program that has printed one line, and waits for more.
fn waiting(args: &[&str]) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut child = coua(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"first\nunfinished").unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    (child, stdin, stdout)
}

#[test]
fn a_waiting_program_saves_and_dies_by_the_signal() {
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15)] {
        for threads in ["1", "2", "3", "5"] {
            let folder = Folder::new();
            let filter = folder.join("seen.coua");
            let (mut child, _stdin, mut stdout) =
                waiting(&["dedup", "-j", threads, "--filter", &filter]);
            send(&child, signal);
            let status = wait(&mut child);
            assert_eq!((status.signal(), status.code()), (Some(number), None));
            let mut rest = Vec::new();
            stdout.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"", "an unfinished record is not read");
            assert_eq!(messages(&mut child), "");
            let next = run_with(b"first\nunfinished\n", ["dedup", "--filter", &filter]);
            assert_eq!(next.good(), b"unfinished\n");
        }
    }
}

#[test]
fn a_working_program_loses_and_repeats_nothing() {
    let folder = Folder::new();
    let text = lines(1_000_000, Repeats::Few);
    let filter = folder.join("seen.coua");
    let mut done = Vec::new();
    for (round, signal) in [Signal::INT, Signal::TERM, Signal::INT, Signal::TERM].iter().enumerate()
    {
        // Each round has more input, and after the file an input that does not end before the signal.
        let part = &text[..text.len() / 4 * (round + 1)];
        // Whole records: the program may have read all of them when the signal arrives.
        let end = part.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let file = folder.file("lines", &part[..end]);
        let part = folder.join(&format!("part{round}"));
        let mut child = coua(["dedup", "--filter", &filter, "-o", &part, &file, "-"]);
        let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
        let _open = child.stdin.take();
        until(|| fs::metadata(&part).is_ok_and(|part| part.len() > 1_000_000));
        send(&child, *signal);
        assert_eq!(wait(&mut child).signal(), Some(signal.as_raw()));
        assert_eq!(messages(&mut child), "");
        done.extend_from_slice(&fs::read(&part).unwrap());
    }
    done.extend_from_slice(&run_with(&text, ["dedup", "--filter", &filter]).good());
    assert!(done == expected(&text));
}

/// The signal came first, so an enclosing shell loop must stop.
#[test]
fn a_stopped_program_dies_by_the_signal_also_when_its_output_is_closed() {
    let folder = Folder::new();
    let file = folder.file("lines", lines(300_000, Repeats::Few));
    let (filter, other) = (folder.join("seen"), folder.join("other"));
    run(["add", &filter, &file]).good();
    let commands: [&[&str]; 4] = [
        &["dedup", &file],
        &["dedup", "--filter", &other, &file],
        &["check", &filter, &file],
        &["count", &filter, &file],
    ];
    let start = |command: &[&str]| coua(command).stdout(Stdio::piped()).spawn().unwrap();
    for (mut child, command) in commands.map(start).into_iter().zip(commands) {
        let stderr = interrupted(&mut child);
        drop(child.stdout.take());
        assert_eq!(wait(&mut child).signal(), Some(2), "{command:?}");
        assert_eq!(stderr.lines().count(), 0, "{command:?}");
    }
    // Without a signal it is a normal end.
    let mut child = start(commands[0]);
    drop(child.stdout.take());
    assert_eq!(wait(&mut child).code(), Some(0));
}

/// Waits until a program cannot print more, interrupts it, and waits for its message.
fn interrupted(child: &mut Child) -> BufReader<ChildStderr> {
    until(|| is_full(child.stdout.as_ref().unwrap()));
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    send(child, Signal::INT);
    // The program may handle the second signal first; before a third one it handles both.
    for _ in 0..2 {
        assert!(progress(child, &mut stderr).contains(" records, "));
    }
    stderr
}

#[test]
fn add_and_remove_save_too() {
    let folder = Folder::new();
    let filter = folder.join("f.coua");
    for (command, text, left) in [("add", "a\nb\nc\n", "a\nb\nc\n"), ("remove", "a\nc\n", "b\n")] {
        let mut child = coua([command, &filter]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        // It handles signals before it reads.
        until(|| has_read(&stdin));
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let done = format!("coua: {} records, ", text.lines().count());
        until(|| progress(&child, &mut stderr).starts_with(&done));
        send(&child, Signal::TERM);
        assert_eq!(wait(&mut child).signal(), Some(15), "{command}");
        drop(stdin);
        let run = run_with(b"a\nb\nc\nd\n", ["check", &filter]);
        assert_eq!(run.text(), left, "{command}");
    }
}

#[test]
fn usr1_prints_a_line_about_the_progress() {
    let (mut child, stdin, _stdout) = waiting(&["dedup"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    for _ in 0..3 {
        let line = progress(&child, &mut stderr);
        assert!(line.starts_with("coua: 1 record, 1 unique, "), "{line}");
    }
    drop(stdin);
    assert!(wait(&mut child).success());
}

#[cfg(target_os = "linux")]
#[test]
fn each_command_has_its_own_word_for_what_it_counts() {
    let folder = Folder::new();
    let filter = folder.join("f");
    for (args, counted) in [
        (&["add"][..], "1 added, "),
        (&["count"], "1 found, "),
        (&["check"], "1 found, "),
        (&["remove"], "1 removed, "),
    ] {
        let mut child = coua([args, &[&filter]].concat()).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        stdin.write_all(b"first\n").unwrap();
        // It handles signals before it reads, and counts the record after it.
        until(|| has_read(&stdin));
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        until(|| {
            line = progress(&child, &mut stderr);
            line.starts_with("coua: 1 record, ")
        });
        assert!(line.contains(counted), "{args:?}: {line}");
        drop(stdin);
        assert!(wait(&mut child).success());
    }
}

#[test]
fn a_signal_that_was_to_be_ignored_is_ignored() {
    // Like nohup, or a shell without job control that starts a background process.
    for (name, signal) in [("INT", Signal::INT), ("TERM", Signal::TERM), ("USR1", Signal::USR1)] {
        let script = format!("trap '' {name}; exec \"$0\" dedup");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_coua")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        for text in ["first\n", "second\n", "third\n"] {
            stdin.write_all(text.as_bytes()).unwrap();
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, text);
            send(&child, signal);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        drop(stdin);
        assert_eq!(wait(&mut child).code(), Some(0), "{name}");
        assert_eq!(messages(&mut child), "", "{name}");
    }
}

#[test]
fn a_second_signal_ends_a_program_that_cannot_write() {
    let folder = Folder::new();
    let file = folder.file("lines", lines(200_000, Repeats::Few));
    // Nobody reads its output.
    let mut child = coua(["dedup", &file]).spawn().unwrap();
    let _stderr = interrupted(&mut child);
    assert!(child.try_wait().unwrap().is_none(), "it waits for the reader");
    send(&child, Signal::INT);
    assert_eq!(wait(&mut child).signal(), Some(2));
}

/// Whether a process has this file open.
fn has_open(child: &Child, path: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    let mut files = open.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    let path = fs::canonicalize(path).unwrap();
    files.any(|file| file == path)
}

#[test]
fn a_signal_ends_the_wait_for_a_writer_of_a_named_pipe() {
    let folder = Folder::new();
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for threads in ["1", "3", "4"] {
        let mut child = coua(["dedup", "-j", threads, &pipe]).spawn().unwrap();
        until(|| has_open(&child, &pipe));
        send(&child, Signal::TERM);
        assert_eq!(wait(&mut child).signal(), Some(15));
    }
}

#[test]
fn a_signal_ends_the_wait_for_another_process() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let (mut first, stdin, _stdout) = waiting(&["dedup", "--filter", &filter]);
    let mut second = coua(["dedup", "--filter", &filter]).spawn().unwrap();
    let mut stderr = BufReader::new(second.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, format!("coua: {filter}: waiting for another process\n"));
    send(&second, Signal::TERM);
    assert_eq!(wait(&mut second).signal(), Some(15));
    drop(stdin);
    assert!(wait(&mut first).success());
}
