//! Output that is shown only on a terminal.

use crate::support::{Folder, coua, until, wait};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A terminal: the test's side, and the program's side.
fn terminal() -> (File, File) {
    let own: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&own).unwrap();
    unlockpt(&own).unwrap();
    let name = ptsname(&own, Vec::new()).unwrap();
    let program = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, 0o600.into()).unwrap();
    rustix::termios::tcsetwinsize(
        &own,
        rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 },
    )
    .unwrap();
    (File::from(own), File::from(program))
}

/// The program with messages on a terminal, and its input.
fn started(args: &[&str], terminal: File) -> (Child, ChildStdin) {
    let mut command = coua(args);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(terminal).env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// The terminal output of a run that is fed lines until `is_enough` is true.
fn shown(args: &[&str], is_enough: impl Fn(&str) -> bool) -> String {
    let (mut own, program) = terminal();
    let (mut child, mut stdin) = started(args, program);
    let (sender, pieces) = mpsc::channel();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        // On Linux the end of a terminal is an error.
        while let Ok(length @ 1..) = own.read(&mut piece) {
            sender.send(piece[..length].to_vec()).unwrap();
        }
    });
    let mut bytes = Vec::new();
    until(|| {
        stdin.write_all(b"line\n").unwrap();
        bytes.extend(pieces.try_iter().flatten());
        is_enough(&String::from_utf8_lossy(&bytes))
    });
    drop(stdin);
    assert!(wait(&mut child).success());
    bytes.extend(pieces.iter().flatten());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn progress_comes_after_a_second_and_goes() {
    let text = shown(&["dedup"], |text| text.contains(" records, ") && text.contains(" unique, "));
    let last_line = text.rsplit(['\r', '\n']).next().unwrap();
    assert!(!last_line.contains("records"), "taken away: {text:?}");
    let start = Instant::now();
    let is_late = |_: &str| start.elapsed() > Duration::from_secs(2);
    assert_eq!(shown(&["dedup", "--quiet"], is_late), "");
    let start = Instant::now();
    let text = shown(&["dedup"], |_| true);
    assert!(text.is_empty() || start.elapsed() > Duration::from_secs(1), "{text:?}");
}

#[test]
fn progress_says_what_the_command_does() {
    let folder = Folder::new();
    let filter = folder.join("seen");
    let commands: [&[&str]; 5] = [
        &["dedup", "--filter", &filter],
        &["add", &filter],
        &["check", &filter],
        &["count", &filter],
        &["remove", &filter],
    ];
    for (command, counted) in
        commands.into_iter().zip(["unique", "added", "found", "found", "removed"])
    {
        let is_there = |text: &str| text.contains(" records, ") && text.contains(counted);
        let text = shown(command, is_there);
        let last_line = text.rsplit(['\r', '\n']).next().unwrap();
        assert!(!last_line.contains("records"), "{command:?}: taken away: {text:?}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    for (args, code) in [(["dedup", "--no-such-option"], 2), (["dedup", "--help"], 0)] {
        for (no_color, coloured) in [(None, true), (Some("1"), false)] {
            let (mut own, program) = terminal();
            let mut command = coua(args);
            command.stdout(program.try_clone().unwrap()).stderr(program);
            command.env("TERM", "xterm").env_remove("NO_COLOR");
            command.envs(no_color.map(|value| ("NO_COLOR", value)));
            let mut child = command.spawn().unwrap();
            drop(command);
            let reading = thread::spawn(move || {
                let mut text = Vec::new();
                own.read_to_end(&mut text).ok();
                String::from_utf8(text).unwrap()
            });
            assert_eq!(wait(&mut child).code(), Some(code));
            let text = reading.join().unwrap();
            assert!(text.contains("dedup"), "{text:?}");
            assert_eq!(text.contains('\x1b'), coloured, "{text:?}");
        }
    }
}
