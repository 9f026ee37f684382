//! Runs that were stopped rather than killed, and streams.

use super::{DEDUPS, Kind, Trial, rounds};
use crate::support::{Folder, Repeats, coua, expected, lines, run, run_with, send, until, wait};
use rustix::process::Signal;
use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// A run that was told to stop after it had written half, and stopped before its end; and one that was not stopped.
fn stopped(kind: &'static Kind) -> [Trial; 2] {
    for count in rounds() {
        let [trial, whole] = [(); 2].map(|()| Trial::new(kind, count));
        whole.end(&[]);
        let half = whole.folder.read("out").len() as u64 / 2;
        let mut child = trial.start(&[]);
        let output = trial.folder.join("out");
        until(|| fs::metadata(&output).is_ok_and(|output| output.len() >= half));
        send(&child, Signal::TERM);
        let status = wait(&mut child);
        if status.signal() == Some(Signal::TERM.as_raw()) {
            return [trial, whole];
        }
        assert!(status.success(), "{}: {status}", kind.name);
    }
    panic!("{}: no run was caught at work", kind.name);
}

#[test]
fn a_signal_ends_a_run_that_can_be_resumed() {
    for kind in &DEDUPS {
        let [trial, reference] = stopped(kind);
        // The output contains what the filter remembers.
        let again = trial.start(&[]).wait_with_output().unwrap();
        assert_eq!(again.status.code(), Some(2));
        let said = String::from_utf8(again.stderr).unwrap();
        assert!(
            said.contains("/out: holds the output of an interrupted `coua dedup` of "),
            "{said}"
        );
        trial.end(&["--resume"]);
        assert!(trial.results() == reference.results(), "{}", kind.name);
    }
}

/// A run that cannot be resumed is still saved every few seconds: records lost with the process are printed again, and
/// records that were not printed are not in the filter.
#[test]
fn what_went_into_a_pipe_and_nothing_else_is_saved() {
    let folder = Folder::new();
    let text = lines(300_000, Repeats::Few);
    let (file, filter) = (folder.file("lines", &text), folder.join("seen.coua"));
    let args = ["dedup", "--filter", &filter, "--checkpoint-every", "0", &file];
    for read in [100_000, 500_000, 900_000] {
        fs::remove_file(&filter).ok();
        let mut child = coua(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = vec![0; read];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut printed).unwrap();
        child.kill().unwrap();
        stdout.read_to_end(&mut printed).unwrap();
        wait(&mut child);
        let again = run(args).good();
        assert!(again.len() < text.len() - read / 2, "most of it was saved");
        let both = [&printed[..], b"\n", &again].concat();
        let both: HashSet<&[u8]> = both.split(|byte| *byte == b'\n').collect();
        let all = expected(&text);
        assert!(all.split(|byte| *byte == b'\n').all(|line| both.contains(line)), "{read}");
    }
    assert_eq!(run_with(b"", ["dedup", "--resume"]).code, Some(2), "it needs --filter and -o");
}

/// The stream is silent after its first lines, and never ends.
#[test]
fn a_silent_stream_is_saved() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    for threads in ["1", "3"] {
        let args = ["dedup", "--filter", &filter, "--checkpoint-every", "0.05", "-j", threads];
        let mut child = coua(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let line = format!("{threads}\n");
        stdin.write_all(format!("{line}{line}unfinished").as_bytes()).unwrap();
        // Another process sees the file while this one waits.
        until(|| folder.has("seen.coua"));
        until(|| run_with(line.as_bytes(), ["check", "-c", &filter]).stdout == b"1\n");
        child.kill().unwrap();
        wait(&mut child);
        assert_eq!(run_with(line.as_bytes(), ["dedup", "--filter", &filter]).good(), b"");
        assert_eq!(run_with(b"unfinished", ["check", "-c", &filter]).stdout, b"0\n");
    }
}

/// The bytes written by a run that saves after each piece of a stream.
#[cfg(target_os = "linux")]
fn bytes_written_for(pieces: u64) -> u64 {
    let folder = Folder::new();
    let args = ["dedup", "--filter", &folder.join("f"), "--checkpoint-every", "0"];
    let mut child = coua(args).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for piece in 0..pieces {
        let lines = (0..200).map(|line| format!("{piece} {line}\n")).collect::<Vec<_>>().concat();
        stdin.write_all(lines.as_bytes()).unwrap();
        stdout.read_exact(&mut vec![0; lines.len()]).unwrap();
    }
    let figures = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
    let written = figures.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    drop(stdin);
    assert!(wait(&mut child).success());
    written.parse().unwrap()
}

/// The larger the filter, the rarer its snapshots.
#[cfg(target_os = "linux")]
#[test]
fn a_stream_is_saved_in_time_that_grows_with_its_length() {
    let [short, long] = [100, 800].map(bytes_written_for);
    assert!(long < 16 * short, "{long} bytes, and {short} for an eighth");
}

/// The checkpoint is between two files, the first of which lacks its last newline.
#[test]
fn a_missing_newline_is_added_once() {
    for threads in ["1", "2", "3", "4"] {
        let folder = Folder::new();
        folder.file("first", "x\ny");
        // A broken compressed file ends the run.
        folder.file("second", b"\x1f\x8b\x08\0broken");
        let words = ["dedup", "--filter", "seen", "-o", "out", "--checkpoint-every", "0"];
        let words = [&words[..], &["-j", threads, "first", "second"]].concat();
        let ran = coua(&words).current_dir(folder.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert_eq!(folder.read("out"), b"x\ny\n");
        fs::write(folder.join("second"), "y\nz\nx\nlonger than it was\n").unwrap();
        let ran = coua(words.iter().chain(&["--resume"])).current_dir(folder.path()).output();
        assert_eq!(ran.unwrap().status.code(), Some(0));
        assert_eq!(folder.read("out"), b"x\ny\nz\nlonger than it was\n");
    }
}

/// Records that are not printed do not count as seen, however often the program is killed.
fn kill_a_stream(rounds: u64) {
    let folder = Folder::new();
    let filter = folder.join("f");
    let (mut seen, mut printed) = (0, 0);
    for round in 0..rounds {
        let every = ["--checkpoint-every", "0.02"];
        let mut program = coua([&["dedup", "--filter", &filter], &every[..]].concat());
        let mut child = program.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeding = thread::spawn(move || {
            for number in 0.. {
                let line = format!("{round} {number}\n");
                if stdin.write_all(line.as_bytes()).is_err() {
                    return;
                }
                thread::sleep(Duration::from_micros(50));
            }
        });
        let mut stdout = child.stdout.take().unwrap();
        let reading = thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).map(|_| text)
        });
        thread::sleep(Duration::from_millis(40 + round * 37 % 170));
        child.kill().unwrap();
        wait(&mut child);
        feeding.join().unwrap();
        let text = reading.join().unwrap().unwrap();
        printed += String::from_utf8_lossy(&text).lines().count();
        if !folder.has("f") || fs::metadata(&filter).unwrap().len() == 0 {
            continue;
        }
        let found = run_with(&text, ["check", "-c", &filter]).stdout;
        seen += String::from_utf8(found).unwrap().trim().parse::<u64>().unwrap();
        assert_eq!(run(["info", "--json", &filter]).json()["items"], seen, "round {round}");
    }
    assert!(seen > 0 && printed as u64 >= seen, "{seen} of {printed}");
}

#[test]
fn ten_kills_of_a_stream() {
    kill_a_stream(10);
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn a_hundred_kills_of_a_stream() {
    kill_a_stream(100);
}
