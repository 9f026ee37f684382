//! Runs that were stopped rather than killed.

use super::{DEDUPS, Kind, Trial};
use crate::support::{Folder, Repeats, coua, expected, lines, run, run_with, send, until, wait};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// A run that was told to stop when it had written so much, and did before its end.
fn stopped(kind: &'static Kind, written: u64) -> Trial {
    for _ in 0..50 {
        let trial = Trial::new(kind, 200_000);
        let mut child = trial.start(&[]);
        let output = trial.folder.join("out");
        until(|| fs::metadata(&output).is_ok_and(|output| output.len() >= written));
        send(&child, Signal::TERM);
        let status = wait(&mut child);
        if status.signal() == Some(Signal::TERM.as_raw()) {
            return trial;
        }
        assert!(status.success(), "{}: {status}", kind.name);
    }
    panic!("{}: no run was caught at work", kind.name);
}

#[test]
fn a_signal_ends_a_run_that_can_be_resumed() {
    for kind in &DEDUPS {
        let reference = Trial::new(kind, 200_000);
        reference.end(&[]);
        let trial = stopped(kind, reference.folder.read("out").len() as u64 / 2);
        // It holds what the filter remembers.
        let again = trial.start(&[]).wait_with_output().unwrap();
        assert_eq!(again.status.code(), Some(2));
        let said = String::from_utf8(again.stderr).unwrap();
        assert!(said.contains("/out: holds what an interrupted `coua dedup` of "), "{said}");
        trial.end(&["--resume"]);
        assert!(trial.results() == reference.results(), "{}", kind.name);
    }
}

#[test]
fn what_went_into_a_pipe_is_not_recorded_before_its_end() {
    let folder = Folder::new();
    let text = lines(300_000, Repeats::Few);
    let (file, filter) = (folder.file("lines", &text), folder.join("seen.coua"));
    let args = ["dedup", "--filter", &filter, "--checkpoint-every", "0", &file];
    let mut child = coua(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = vec![0; 500_000];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    child.kill().unwrap();
    wait(&mut child);
    assert!(folder.read("seen.coua").is_empty(), "the name is taken, and nothing is committed");
    assert!(run(args).good() == expected(&text), "everything comes again, nothing is lost");
    assert_eq!(run_with(b"", ["dedup", "--resume"]).code, Some(2), "it needs --filter and -o");
}

/// The checkpoint lies between two files of which the first lacks its last newline.
#[test]
fn a_missing_newline_is_added_by_the_run_that_resumes() {
    for threads in ["1", "2", "3", "4"] {
        let folder = Folder::new();
        folder.file("first", "x\ny");
        // Something that begins like a compressed file and is none ends the run.
        folder.file("second", b"\x1f\x8b\x08\0broken");
        let words = ["dedup", "--filter", "seen", "-o", "out", "--checkpoint-every", "0"];
        let words = [&words[..], &["-j", threads, "first", "second"]].concat();
        let ran = coua(&words).current_dir(folder.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert_eq!(folder.read("out"), b"x\ny");
        fs::write(folder.join("second"), "y\nz\nx\nlonger than it was\n").unwrap();
        let ran = coua(words.iter().chain(&["--resume"])).current_dir(folder.path()).output();
        assert_eq!(ran.unwrap().status.code(), Some(0));
        assert_eq!(folder.read("out"), b"x\ny\nz\nlonger than it was\n");
    }
}
