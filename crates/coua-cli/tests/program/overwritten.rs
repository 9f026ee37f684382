//! Mapped filter files that are overwritten or shortened in place: the run ends with an error, not by a signal, and
//! gives no wrong answers.

use crate::support::{Folder, coua, messages, run_in, run_with, wait};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};

/// Large enough to be mapped.
fn folder() -> Folder {
    let folder = Folder::new();
    run_with(b"a\nb\n", ["add", &folder.join("seen"), "--capacity", "1000000"]).good();
    run_in(&folder, &["merge", "-o", "other", "seen"]).good();
    run_with(b"c\n", ["add", &folder.join("other")]).good();
    run_in(&folder, &["merge", "-o", "other", "other"]).good();
    assert!(folder.read("seen").len() == folder.read("other").len());
    folder
}

/// The running program, which has answered one line and waits for more.
fn at_work(folder: &Folder, args: &[&str]) -> (Child, ChildStdin) {
    let mut command = coua(args);
    let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\nx\n").unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    (child, input)
}

const COMMANDS: [&[&str]; 3] =
    [&["check", "seen"], &["count", "seen"], &["dedup", "--filter", "seen"]];

#[test]
fn a_shortened_filter_is_an_error() {
    for command in COMMANDS {
        let folder = folder();
        let (mut child, mut input) = at_work(&folder, command);
        let file = File::options().write(true).open(folder.join("seen")).unwrap();
        file.set_len(0).unwrap();
        let lines: Vec<_> = (0..1_000).map(|number| format!("{number}\n")).collect();
        // It may have ended by then.
        input.write_all(lines.concat().as_bytes()).ok();
        drop(input);
        assert_eq!(wait(&mut child).code(), Some(2), "{command:?}");
        let said = messages(&mut child);
        assert!(said.contains("seen: is no longer readable: "), "{said}");
    }
}

#[test]
fn an_overwritten_filter_is_an_error() {
    for command in COMMANDS {
        let folder = folder();
        let (mut child, input) = at_work(&folder, command);
        fs::copy(folder.join("other"), folder.join("seen")).unwrap();
        drop(input);
        assert_eq!(wait(&mut child).code(), Some(2), "{command:?}");
        let said = messages(&mut child);
        assert!(said.contains("seen: was ") && said.contains("overwritten while it "), "{said}");
        assert!(folder.read("seen") == folder.read("other"), "what was restored stays");
    }
}
