//! Runs of `add` and `remove`, whose records must not count twice.

use crate::support::{Folder, Run, json, run_in, run_with};
use std::fs;

const ADD: &[&str] = &["add", "seen", "--checkpoint-every", "0", "first", "second"];
const REMOVE: &[&str] = &["remove", "seen", "--checkpoint-every", "0", "first", "second"];

/// A folder with a filter of three copies of each of a to e, and inputs of which the second is broken.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("three", "a\nb\nc\nd\ne\n".repeat(3));
    run_in(&folder, &["add", "seen", "three"]).good();
    folder.file("first", "a\nb\na\n");
    // Something that begins like a compressed file and is none ends the run.
    folder.file("second", b"\x1f\x8b\x08\0broken");
    folder
}

/// After a run that was interrupted between the inputs; the second is whole now.
fn interrupted(args: &[&str]) -> Folder {
    let folder = folder();
    assert_eq!(run_in(&folder, args).code, Some(2));
    // In place: the same file.
    fs::write(folder.join("second"), "a\nb\nc\nc\nc\n").unwrap();
    folder
}

fn with(args: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [args, more].concat()
}

/// Copies of a to e.
fn counts(folder: &Folder) -> [u64; 5] {
    let counts = run_with(b"a\nb\nc\nd\ne\n", ["count", &folder.join("seen")]).text();
    let mut numbers = counts.lines().map(|line| line.split('\t').next().unwrap().parse().unwrap());
    [(); 5].map(|()| numbers.next().unwrap())
}

#[test]
fn every_record_counts_once() {
    for (args, first, all) in
        [(ADD, [5, 4, 3, 3, 3], [6, 5, 6, 3, 3]), (REMOVE, [1, 2, 3, 3, 3], [0, 1, 0, 3, 3])]
    {
        let folder = interrupted(args);
        assert_eq!(counts(&folder), first);
        let resume = with(args, &["--resume", "--stats=json"]);
        let figures = |run: Run| -> serde_json::Value { json(&run.stderr) };
        let figures = figures(run_in(&folder, &resume));
        assert_eq!(counts(&folder), all);
        let name = if args == ADD { "added" } else { "removed" };
        assert_eq!((figures["records"].as_u64(), figures[name].as_u64()), (Some(8), Some(8)));
        // It has ended: there is nothing more to do, until there is more in the input.
        run_in(&folder, &with(args, &["--resume"])).good();
        assert_eq!(counts(&folder), all);
        fs::write(folder.join("second"), "a\nb\nc\nc\nc\ne\n").unwrap();
        run_in(&folder, &with(args, &["--resume"])).good();
        let [.., last] = counts(&folder);
        assert_eq!(last, if args == ADD { 4 } else { 2 });
    }
}

#[test]
fn a_run_that_has_ended_may_be_done_again() {
    let folder = interrupted(ADD);
    run_in(&folder, &with(ADD, &["--resume"])).good();
    run_in(&folder, ADD).good();
    assert_eq!(counts(&folder), [9, 7, 9, 3, 3]);
    let forgotten = |run: Run, command: &str, input: &str| {
        let (seen, input) = (fs::canonicalize(folder.join("seen")), folder.join(input));
        let message = format!(
            "coua: {}: forgets that `coua {command}` of {input} has ended: done once more, its records \
             would count twice\n",
            seen.unwrap().display()
        );
        run.failed(0, &message);
    };
    // Another run with the option is another run.
    forgotten(run_in(&folder, &["add", "seen", "first", "--resume"]), "add", "first");
    assert_eq!(counts(&folder), [11, 8, 9, 3, 3]);
    forgotten(run_in(&folder, &["remove", "seen", "first", "--resume"]), "add", "first");
    assert_eq!(counts(&folder), [9, 7, 9, 3, 3]);
    forgotten(run_in(&folder, &["add", "seen", "second", "--resume"]), "remove", "first");
    assert_eq!(counts(&folder), [10, 8, 12, 3, 3]);
    run_in(&folder, &["add", "seen", "first", "--resume", "--quiet"]).good();
    assert_eq!(counts(&folder), [12, 9, 12, 3, 3]);
}

/// Whoever changes the filter would forget how far the run is.
#[test]
fn nothing_else_changes_a_filter_with_an_interrupted_run() {
    for (args, command) in [(ADD, "add"), (REMOVE, "remove")] {
        let folder = interrupted(args);
        let path = fs::canonicalize(folder.path()).unwrap();
        let (filter, first) = (path.join("seen"), path.join("first"));
        let message = format!(
            "coua: {}: an interrupted `coua {command}` of {} has dealt with 3 records, which would \
             count twice: go on with it by --resume, or forget it by --anew\n",
            filter.display(),
            first.display()
        );
        let before = (counts(&folder), folder.read("seen"), folder.read("seen.journal"));
        for other in [args, &["add", "seen", "three"], &["remove", "seen", "first"]] {
            run_in(&folder, other).failed(2, &message);
        }
        run_with(b"x\n", ["add", &folder.join("seen")]).failed(2, &message);
        run_with(b"x\n", ["dedup", "--filter", &folder.join("seen")]).failed(2, &message);
        assert_eq!((counts(&folder), folder.read("seen"), folder.read("seen.journal")), before);
        // The same filter in another form.
        run_in(&folder, &["compact", "-q", "seen"]).good();
        run_in(&folder, &with(args, &["--resume"])).good();
        let all = if args == ADD { [6, 5, 6, 3, 3] } else { [0, 1, 0, 3, 3] };
        assert_eq!(counts(&folder), all);
    }
}

#[test]
fn an_interrupted_run_can_be_forgotten() {
    let folder = interrupted(ADD);
    run_in(&folder, &with(ADD, &["--anew"])).good();
    assert_eq!(counts(&folder), [8, 6, 6, 3, 3]);
    assert_eq!(run_in(&folder, &with(ADD, &["--anew", "--resume"])).code, Some(2));
}

/// Added or not, a record that is there stays as it is: nothing is lost by beginning again.
#[test]
fn unique_records_may_be_added_again() {
    let unique = with(ADD, &["--unique"]);
    let folder = interrupted(&unique);
    run_in(&folder, &unique).good();
    assert_eq!(counts(&folder), [3; 5]);
}

#[test]
fn only_the_same_run_is_gone_on_with() {
    let folder = interrupted(ADD);
    let refused = |args: &[&str], words: &str| {
        let before = counts(&folder);
        let run = run_in(&folder, args);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.stderr.starts_with("coua: ") && run.stderr.contains(words), "{}", run.stderr);
        assert_eq!(counts(&folder), before);
    };
    let resume = |more: &[&'static str]| with(&["add", "seen", "--resume"], more);
    refused(&resume(&["first"]), "had 2 input files, this one has 1");
    refused(&resume(&["second", "first"]), "--resume: the interrupted run had ");
    refused(&resume(&["first", "-"]), "--resume: needs inputs that are files");
    refused(&with(REMOVE, &["--resume"]), "--resume: the interrupted run was one of `coua add`");
    for option in ["--unique", "--trim", "--ignore-case", "--crlf", "-k1", "--on-missing=drop"] {
        refused(&resume(&[option, "first", "second"]), " is not as it was in the interrupted run");
    }
    refused(&resume(&["--csv=1", "first", "second"]), "--resume: --csv is not as it was");
    let first = folder.join("first");
    for (content, words) in [("a\nx\na\n", "was changed before byte 6"), ("a\n", "is 2 bytes long")]
    {
        fs::write(&first, content).unwrap();
        refused(&resume(&["first", "second"]), words);
    }
    // While the old one is there, so that the new one is another.
    folder.file("copy", "a\nb\na\n");
    fs::remove_file(&first).unwrap();
    refused(&resume(&["first", "second"]), "first: No such file or directory");
    fs::rename(folder.join("copy"), &first).unwrap();
    refused(&resume(&["first", "second"]), "--resume: the interrupted run had ");
}

/// The block before the position is as it was, but not what is before.
#[test]
fn inputs_with_fewer_records_are_noticed() {
    let folder = folder();
    let text = "0123456789\n".repeat(1_000);
    folder.file("first", &text);
    run_in(&folder, &["add", "seen", "first", "--resume"]).good();
    fs::write(folder.join("first"), text.replacen('\n', "x", 1)).unwrap();
    let run = run_in(&folder, &["add", "seen", "first", "--resume"]);
    let words =
        "/first: --resume: has 999 records, 1 less than the interrupted run has dealt with: ";
    assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn a_report_is_gone_on_with_in_a_file_alone() {
    let folder = folder();
    for to in [&[][..], &["-o", "/dev/stdout"]] {
        let report = ["remove", "seen", "--resume", "--report", "found", "first"];
        let run = run_in(&folder, &[&report[..], to].concat());
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("--resume: needs outputs that are files"), "{}", run.stderr);
    }
    let report = with(REMOVE, &["--report", "found", "-o", "out"]);
    assert_eq!(run_in(&folder, &report).code, Some(2));
    assert_eq!(folder.read("out"), b"a\nb\na\n");
    // It holds what is not in the filter any more.
    let message = "coua: out: holds what an interrupted run found in 3 records, which the filter \
                   remembers: go on with it by --resume, or name another output\n";
    run_in(&folder, &with(&report, &["--anew"])).failed(2, message);
    fs::write(folder.join("second"), "x\nb\n  longer than it was\n").unwrap();
    fs::write(folder.join("out"), "a\nb\na\nb\nand more").unwrap();
    run_in(&folder, &with(&report, &["--resume"])).good();
    assert_eq!(folder.read("out"), b"a\nb\na\nb\n");
    assert_eq!(counts(&folder), [1, 1, 3, 3, 3]);
}

/// A run that finds no room stops before that record, also when it is gone on with.
#[test]
fn nothing_is_counted_twice_in_a_full_filter() {
    let folder = Folder::new();
    let lines = |numbers: std::ops::Range<u32>| -> String {
        numbers.map(|number| format!("{number}\n")).collect::<Vec<_>>().concat()
    };
    folder.file("many", lines(0..150));
    folder.file("some", lines(0..60));
    let held = |name: &str| run_in(&folder, &["check", "-c", "seen", name]).stdout;
    let limit = ["--rate=0.0001", "--capacity=100", "--when-full=error"];
    let add = ["add", "seen", "many"];
    assert_eq!(run_in(&folder, &[&add[..], &limit].concat()).code, Some(3));
    for _ in 0..2 {
        let again = run_in(&folder, &[&add[..], &["--resume"]].concat());
        assert_eq!(again.code, Some(3));
        assert!(again.stderr.contains("stopped before many: record 101: "), "{}", again.stderr);
        assert_eq!(held("many"), b"100\n");
    }
    run_in(&folder, &["remove", "seen", "some", "--anew"]).good();
    assert_eq!(held("many"), b"40\n");
}
