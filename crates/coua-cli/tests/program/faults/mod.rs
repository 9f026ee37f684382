//! The program on a failing disk: a library between the program and the system makes each step fail once; and the
//! messages.

mod again;

use crate::output_dir::{tree, unpacked};
use crate::support::{Folder, Repeats, Run, coua, json, lines, run_as_is, run_in, run_with};
use coua_dev::cases::sample;
use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Error numbers of Linux.
const EIO: u32 = 5;
const ENOSPC: u32 = 28;
const EROFS: u32 = 30;
const ENOLCK: u32 = 37;
const EDQUOT: u32 = 122;
/// A write writes only its first half.
const SHORT: u32 = 0;

const DEDUP: &[&str] = &["dedup", "-j1", "--filter", "seen", "-o", "out", "many"];
const EACH: &[&str] = &[
    "dedup",
    "-j1",
    "--filter",
    "seen",
    "--output-dir",
    "out",
    "--compress=zst:1",
    "many",
    "more",
    "none",
];
/// No filter remembers this run.
const TWICE: &[&str] = &[
    "dedup",
    "-j1",
    "--keep",
    "last",
    "-d",
    "--output-dir",
    "out",
    "--compress=zst:1",
    "many",
    "more",
];
const ADD: &[&str] = &["add", "-j1", "seen", "many"];
const REMOVE: &[&str] = &["remove", "-j1", "seen", "many", "many"];

/// A folder with the library, an input, and the state before the run.
struct Place {
    folder: Folder,
    library: String,
}

impl Place {
    fn new(args: &[&str]) -> Self {
        let folder = Folder::new();
        folder.file("many", lines(120_000, Repeats::Many));
        if args == EACH || args == TWICE {
            folder.file("more", lines(60_000, Repeats::Few));
            folder.file("none", "");
        }
        if args == REMOVE {
            run_in(&folder, &["add", "seen", "many"]).good();
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/faults/shim.c");
        let library = folder.join("shim.so");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o", &library, source, "-ldl"])
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { folder, library }
    }

    fn again(&self, args: &[&str]) {
        for name in ["seen", "out"] {
            fs::remove_file(self.folder.join(name)).ok();
        }
        fs::remove_dir_all(self.folder.join("out")).ok();
        if args == REMOVE {
            run_in(&self.folder, &["add", "seen", "many"]).good();
        }
    }

    /// Runs with frequent checkpoints and these faults.
    fn run(&self, args: &[&str], faults: &[(&str, &str)]) -> Run {
        let every: &[&str] = if args == TWICE { &[] } else { &["--checkpoint-every", "0"] };
        let mut command = coua([args, every].concat());
        command.current_dir(self.folder.path()).env("LD_PRELOAD", &self.library);
        run_as_is(command.envs(faults.iter().copied()))
    }

    /// The contents of the output, and of the filter with everything committed.
    fn results(&self) -> [Option<Vec<u8>>; 2] {
        let filter = self.folder.filter("seen");
        let out = self.folder.path().join("out");
        if out.is_dir() {
            let files = tree(&out).into_iter().map(|(name, bytes)| unpacked(&name, &bytes));
            return [Some(files.collect::<Vec<_>>().join(&b"--"[..])), filter];
        }
        [fs::read(out).ok(), filter]
    }

    /// The steps that were done.
    fn steps(&self) -> Vec<String> {
        let steps = String::from_utf8(self.folder.read("log")).unwrap();
        steps.lines().map(str::to_owned).collect()
    }

    /// The steps of a run without faults, and its results.
    fn whole(&self, args: &[&str]) -> (Vec<String>, [Option<Vec<u8>>; 2]) {
        let log = self.folder.join("log");
        self.run(args, &[("COUA_FAULT_LOG", &log)]).good();
        (self.steps(), self.results())
    }
}

/// Every `stride`-th step fails, with each of these errors; then the run is resumed.
fn every_step_fails(args: &[&str], errors: &[u32], stride: usize) {
    let place = Place::new(args);
    let (steps, reference) = place.whole(args);
    assert!(steps.len() > if args == TWICE { 4 } else { 20 }, "{}", steps.len());
    for at in sample((0..steps.len()).step_by(stride), [5, 1]) {
        for error in errors {
            let what = format!("{args:?}: step {at}, {}, error {error}", steps[at]);
            place.again(args);
            let (number, error_number) = (at.to_string(), error.to_string());
            let faults = [("COUA_FAULT_AT", &*number), ("COUA_FAULT_ERROR", &*error_number)];
            let run = place.run(args, &faults);
            match run.code {
                // Failing to remove a file, or half a write, is not an error.
                Some(0) => assert_eq!(run.stderr, "", "{what}"),
                code => {
                    let is_written = run.stderr.contains("seen: written, but fsync failed");
                    assert_eq!(code, Some(if is_written { 4 } else { 2 }), "{what}");
                    assert_eq!(run.stderr.lines().count(), 1, "{what}: {}", run.stderr);
                    assert!(run.stderr.starts_with("coua: "), "{what}: {}", run.stderr);
                }
            }
            nothing_is_kept_that_was_not_written(&place, args);
            let resume: &[&str] = if args == TWICE { &[] } else { &["--resume"] };
            let resumed = place.run(&[args, resume].concat(), &[]);
            assert_eq!((resumed.code, &*resumed.stderr), (Some(0), ""), "{what}");
            assert!(place.results() == reference, "{what}");
        }
    }
}

/// The output contains everything that the filter remembers: nothing would be lost without a resumed run.
fn nothing_is_kept_that_was_not_written(place: &Place, args: &[&str]) {
    // A run that could not remove its placeholder leaves it, with nothing committed.
    if args != DEDUP || !place.folder.has("seen") || place.folder.read("seen").is_empty() {
        return;
    }
    let items = run_in(&place.folder, &["info", "--json", "seen"]).text();
    let info = json(&items);
    let written = String::from_utf8(place.folder.read("out")).unwrap().lines().count();
    assert!(info["items"].as_u64().unwrap() <= written as u64);
}

#[test]
fn steps_that_fail_needs_cc() {
    for args in [DEDUP, EACH, ADD, REMOVE] {
        every_step_fails(args, &[EIO], 7);
    }
}

/// The same command starts over.
#[test]
fn every_step_of_two_passes_that_fails_needs_cc() {
    every_step_fails(TWICE, &[EIO, ENOSPC, SHORT], 1);
}

#[test]
#[ignore = "some minutes"]
fn every_step_that_fails_needs_cc() {
    for args in [DEDUP, EACH, ADD, REMOVE] {
        every_step_fails(args, &[EIO, ENOSPC, SHORT], 1);
    }
}

/// Promise 8: an item is durably recorded only after its line is durably in the output.
#[test]
fn outputs_are_on_the_disk_before_the_filter_is_needs_cc() {
    for args in [DEDUP, EACH] {
        let place = Place::new(args);
        let (steps, _) = place.whole(args);
        let mut unsynced = HashSet::new();
        let mut commits = 0;
        for step in &steps {
            let (call, name) = step.split_once(' ').unwrap();
            match (call, name.contains("/out")) {
                ("w", true) => drop(unsynced.insert(name)),
                ("s", true) => drop(unsynced.remove(name)),
                ("w", false) if name.ends_with("/seen") => {
                    assert!(unsynced.is_empty(), "{steps:?}");
                    commits += 1;
                }
                _ => {}
            }
        }
        assert!(commits > 3, "{steps:?}");
    }
}

/// The names of new outputs too.
#[test]
fn names_of_outputs_are_on_the_disk_before_the_filter_is_needs_cc() {
    let args = ["dedup", "-j1", "--filter", "seen", "-o", "link", "many"];
    let place = Place::new(DEDUP);
    let log = place.folder.join("log");
    fs::create_dir(place.folder.join("one")).unwrap();
    std::os::unix::fs::symlink("one/out", place.folder.join("link")).unwrap();
    for is_new in [true, false] {
        fs::write(&log, "").unwrap();
        fs::remove_file(place.folder.join("seen")).ok();
        place.run(&args, &[("COUA_FAULT_LOG", &log)]).good();
        let steps = String::from_utf8(place.folder.read("log")).unwrap();
        let steps: Vec<&str> = steps.lines().collect();
        let first = |what: &dyn Fn(&str) -> bool| steps.iter().position(|step| what(step));
        let commit = first(&|step| step.starts_with("r ") && step.ends_with("seen")).unwrap();
        let synced = first(&|step| step.starts_with("d ") && step.ends_with("/one"));
        assert_eq!(synced.is_some_and(|at| at < commit), is_new, "{steps:?}");
    }
}

/// The names of new folders too.
#[test]
fn names_of_new_folders_are_on_the_disk_before_the_filter_is_needs_cc() {
    let place = Place::new(DEDUP);
    let (log, root) = (place.folder.join("log"), place.folder.path().canonicalize().unwrap());
    fs::create_dir(place.folder.join("in")).unwrap();
    place.folder.file("in/few", "a\n");
    let args = ["dedup", "-j1", "--filter", "seen", "--output-dir", "new/out", "many", "in/few"];
    place.run(&args, &[("COUA_FAULT_LOG", &log)]).good();
    let steps = place.steps();
    let commit = |step: &String| step.starts_with("r ") && step.ends_with("seen");
    let commit = steps.iter().position(commit).unwrap();
    for folder in ["", "new", "new/out", "new/out/in"] {
        let synced = format!("d {}", root.join(folder).display());
        let is_it = |step: &String| step.trim_end_matches('/') == synced.trim_end_matches('/');
        assert!(steps[..commit].iter().any(is_it), "{folder}: {steps:?}");
    }
}

#[test]
fn what_the_disk_says_is_told_needs_cc() {
    let place = Place::new(ADD);
    run_in(&place.folder, &["add", "seen", "many"]).good();
    let path = "seen";
    let before = place.folder.read("seen");
    let not_saved = ": not saved; the file is as before, or as at the last checkpoint: ";
    for (call, name, error, is_before, begin, words) in [
        ("l", "seen", ENOLCK, true, ": ", "No locks available"),
        ("s", "seen", EDQUOT, true, not_saved, "Disk quota exceeded"),
        ("w", "seen", EROFS, true, not_saved, "Read-only file system"),
        ("w", ".tmp", ENOSPC, false, not_saved, "No space left on device"),
        ("r", "seen", EIO, false, not_saved, "Input/output error"),
    ] {
        let error = error.to_string();
        let faults = [
            ("COUA_FAULT_CALL", call),
            ("COUA_FAULT_NAME", name),
            ("COUA_FAULT_AT", "0"),
            ("COUA_FAULT_ON", "1"),
            ("COUA_FAULT_ERROR", &*error),
        ];
        let run = place.run(ADD, &faults);
        run.failed(2, &format!("coua: {path}{begin}{words}\n"));
        let after = place.folder.read("seen");
        assert!(after.starts_with(&before) && is_before == (after == before), "{words}");
        place.folder.file("seen", &before);
        let files = fs::read_dir(place.folder.path()).unwrap().count();
        assert_eq!(files, 3, "something is left: {words}");
    }
}

/// Earlier commits are kept.
#[test]
fn a_filter_is_told_to_be_as_at_its_last_checkpoint_needs_cc() {
    for args in [DEDUP, ADD, REMOVE] {
        let place = Place::new(args);
        let is_told = |run: Run| {
            let words = "seen: not saved; the file is as before, or as at the last checkpoint: No space \
                         left on device\n";
            assert!(run.code == Some(2) && run.stderr.ends_with(words), "{}", run.stderr);
        };
        let faults = [
            ("COUA_FAULT_CALL", "w"),
            ("COUA_FAULT_NAME", "seen"),
            ("COUA_FAULT_AT", "2"),
            ("COUA_FAULT_ON", "1"),
            ("COUA_FAULT_ERROR", &*ENOSPC.to_string()),
        ];
        is_told(place.run(args, &faults));
        let unfinished = run_in(&place.folder, &["info", "--json", "seen"]).json();
        assert!(unfinished["unfinished_run"]["records"].as_u64().unwrap() > 0);
        // Even if the resumed run gets no farther.
        let again = [args, &["--resume"]].concat();
        let faults = [&[("COUA_FAULT_AT", "0")], &faults[..2], &faults[3..]].concat();
        is_told(place.run(&again, &faults));
    }
}

/// Another process ignores the lock while a run is at work.
#[test]
fn files_that_vanish_under_a_run_are_told() {
    for spoil in ["cp seen other; mv other seen", "rm seen", "rm -r ../folder"] {
        let folder = Folder::new();
        fs::create_dir(folder.join("folder")).unwrap();
        let filter = folder.join("folder/seen");
        run_with(b"a\n", ["add", &filter]).good();
        let path = fs::canonicalize(&filter).unwrap();
        let mut child = coua(["dedup", "--filter", &filter]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"x\n").unwrap();
        // All files are open once it has answered.
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
        let script = format!("cd '{}' && {spoil}", path.parent().unwrap().display());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        drop(input);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let words = format!("coua: {}: was removed, replaced or overwritten while", path.display());
        assert!(said.starts_with(&words), "{said}");
    }
}
