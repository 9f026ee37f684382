//! Interrupted runs, gone on with: output and filter are those of a run that was not interrupted.

use crate::support::{Folder, Repeats, coua, expected, lines, run, run_with, send, until, wait};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a run is given beside filter and output, and the outputs beside the first.
struct Kind {
    name: &'static str,
    options: &'static [&'static str],
    inputs: &'static [&'static str],
    filled: bool,
}

const KINDS: [Kind; 4] = [
    Kind { name: "plain", options: &[], inputs: &["many"], filled: false },
    Kind { name: "filled", options: &["-j", "1"], inputs: &["many"], filled: true },
    // The first lacks its last newline.
    Kind {
        name: "two",
        options: &["-j", "2", "--tee-dups", "tee"],
        inputs: &["open", "many"],
        filled: false,
    },
    Kind {
        name: "csv",
        options: &["-j", "5", "--csv", "key"],
        inputs: &["one.csv", "two.csv"],
        filled: false,
    },
];

struct Trial {
    folder: Folder,
    kind: &'static Kind,
}

impl Trial {
    fn new(kind: &'static Kind, count: u64) -> Self {
        let folder = Folder::new();
        let text = lines(count, Repeats::Many);
        folder.file("many", &text);
        let some = &text[..text.len() / 3];
        let end = some.iter().rposition(|byte| *byte == b'\n').unwrap();
        folder.file("open", &some[..end]);
        for (name, part) in [("one.csv", &text[..end]), ("two.csv", &text[end + 1..])] {
            let part = String::from_utf8_lossy(part);
            let rows: Vec<String> = part.lines().map(|line| format!("x,{line}\n")).collect();
            folder.file(name, ["n,key\n".to_owned(), rows.concat()].concat());
        }
        if kind.filled {
            run(["add", &folder.join("seen.coua"), &folder.join("open")]).good();
        }
        Self { folder, kind }
    }

    fn arguments(&self, extra: &[&str]) -> Vec<String> {
        let words = ["dedup", "--filter", "seen.coua", "-o", "out", "--checkpoint-every", "0"];
        let words = words.iter().chain(self.kind.options).chain(extra).chain(self.kind.inputs);
        words.map(|word| (*word).to_owned()).collect()
    }

    /// Starts the run in its folder.
    fn start(&self, extra: &[&str]) -> std::process::Child {
        let mut command = coua(self.arguments(extra));
        command.current_dir(self.folder.path()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs to the end.
    fn end(&self, extra: &[&str]) {
        let output = self.start(extra).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{}", self.kind.name);
    }

    /// What a run leaves. (A kill in its last moment leaves a journal as well, which holds nothing.)
    fn results(&self) -> Vec<Option<Vec<u8>>> {
        let names = ["out", "tee", "seen.coua"];
        names.iter().map(|name| fs::read(self.folder.join(name)).ok()).collect()
    }
}

/// A row of numbers below `bound`, the same every time.
fn numbers(bound: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |n| {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % bound
    })
}

fn kill_and_resume(kills: u32, count: u64) {
    let references: Vec<(Duration, Vec<Option<Vec<u8>>>)> = KINDS
        .iter()
        .map(|kind| {
            let (trial, start) = (Trial::new(kind, count), Instant::now());
            trial.end(&[]);
            (start.elapsed(), trial.results())
        })
        .collect();
    let mut killed = 0;
    for (round, kind) in KINDS.iter().cycle().enumerate() {
        let (time, reference) = &references[round % KINDS.len()];
        let (trial, mut is_first) = (Trial::new(kind, count), true);
        let most = u64::try_from(time.as_micros()).unwrap();
        for wait_for in numbers(most).skip(round * 10).take(8) {
            let mut child = trial.start(if is_first { &[] } else { &["--resume"] });
            std::thread::sleep(Duration::from_micros(wait_for));
            child.kill().unwrap();
            let status = wait(&mut child);
            killed += u32::from(status.signal().is_some());
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert_eq!(said, "", "{}: round {round}", kind.name);
            // It may have done all when it was killed; then there is nothing to go on with.
            if status.success() || trial.results() == *reference {
                break;
            }
            assert!(status.signal().is_some(), "{}: {status}", kind.name);
            is_first = false;
        }
        if trial.results() != *reference {
            trial.end(&["--resume"]);
        }
        assert!(trial.results() == *reference, "{}: round {round}", kind.name);
        if killed >= kills {
            return;
        }
    }
}

#[test]
fn fifty_kills() {
    kill_and_resume(50, 60_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills() {
    kill_and_resume(1_000, 200_000);
}

#[test]
fn a_signal_ends_a_run_that_can_be_gone_on_with() {
    for kind in &KINDS {
        let reference = Trial::new(kind, 200_000);
        reference.end(&[]);
        let trial = Trial::new(kind, 200_000);
        let mut child = trial.start(&[]);
        let output = trial.folder.join("out");
        let half = reference.folder.read("out").len() as u64 / 2;
        until(|| fs::metadata(&output).is_ok_and(|output| output.len() >= half));
        send(&child, Signal::TERM);
        if wait(&mut child).success() {
            continue;
        }
        // It holds what the filter remembers.
        let again = trial.start(&[]).wait_with_output().unwrap();
        assert_eq!(again.status.code(), Some(2));
        let said = String::from_utf8(again.stderr).unwrap();
        assert!(said.starts_with("coua: out: holds what an interrupted run found"), "{said}");
        trial.end(&["--resume"]);
        assert!(trial.results() == reference.results(), "{}", kind.name);
    }
}

/// A run in its middle: killed after a checkpoint.
fn interrupted() -> Trial {
    loop {
        let trial = Trial::new(&KINDS[0], 200_000);
        let mut child = trial.start(&[]);
        let output = trial.folder.join("out");
        until(|| fs::metadata(&output).is_ok_and(|output| output.len() > 10_000));
        child.kill().unwrap();
        wait(&mut child);
        // Refused, if there is something in the output that the filter remembers.
        if !wait(&mut trial.start(&[])).success() {
            return trial;
        }
    }
}

fn refused(trial: &Trial, arguments: &[&str]) -> String {
    let before = trial.results();
    let output = coua(arguments).current_dir(trial.folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(trial.results() == before, "nothing was touched");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_not_the_interrupted_run_is_refused() {
    let trial = interrupted();
    let resume = ["dedup", "--filter", "seen.coua", "--resume", "-o"];
    let with = |rest: &[&str]| refused(&trial, &[&resume[..], rest].concat());
    assert!(with(&["other", "many"]).contains("--resume: the interrupted run had "));
    assert!(with(&["out", "open"]).starts_with("coua: "), "another input");
    assert!(with(&["out", "many", "open"]).contains("had 1 input files, this one has 2"));
    assert!(with(&["out", "-"]).contains("--resume: needs inputs that are files"));
    let text = trial.folder.read("many");
    let mut changed = text.clone();
    changed[3] ^= 1;
    let end = text.len() - 1;
    fs::write(trial.folder.join("many"), &text[..end]).unwrap();
    assert!(with(&["out", "many"]).contains("bytes long but had at least"));
    fs::write(trial.folder.join("many"), &text).unwrap();
    let output = trial.folder.read("out");
    fs::write(trial.folder.join("out"), &output[..10]).unwrap();
    assert!(with(&["out", "many"]).contains("bytes long but had at least"));
    fs::write(trial.folder.join("out"), &output).unwrap();
    // Elsewhere a new run may write: the filter remembers what lies in the first output.
    let more = ["dedup", "--filter", "seen.coua", "-o", "rest", "many"];
    let more = coua(more).current_dir(trial.folder.path()).output().unwrap();
    assert_eq!(more.status.code(), Some(0));
    assert!(with(&["out", "many"]).contains("knows of no interrupted run into this file"));
    // The kill may have come in the middle of a line, which was not recorded then.
    let whole = output.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let found = [&output[..whole], &trial.folder.read("rest")].concat();
    let wanted = expected(&text);
    assert!(expected(&found).len() == wanted.len(), "nothing is missing");
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
    assert!(!folder.has("seen.coua"));
    assert!(run(args).good() == expected(&text), "everything comes again, nothing is lost");
    assert_eq!(run_with(b"", ["dedup", "--resume"]).code, Some(2), "it needs --filter and -o");
}

/// The checkpoint lies between two files of which the first lacks its last newline.
#[test]
fn a_missing_newline_is_added_by_the_run_that_goes_on() {
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
