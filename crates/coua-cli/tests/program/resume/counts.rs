//! Runs of `add` and `remove`, whose records must not count twice.

use crate::support::{Folder, Run, json, run_in, run_with};
use std::fs;

const ADD: &[&str] = &["add", "seen", "--checkpoint-every", "0", "first", "second"];
const REMOVE: &[&str] = &["remove", "seen", "--checkpoint-every", "0", "first", "second"];

/// A folder with a filter of three copies of each of a to e, and two inputs, the second of them broken.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("three", "a\nb\nc\nd\ne\n".repeat(3));
    run_in(&folder, &["add", "seen", "three"]).good();
    folder.file("first", "a\nb\na\n");
    // A broken compressed file ends the run.
    folder.file("second", b"\x1f\x8b\x08\0broken");
    folder
}

/// The folder after a run that was interrupted between the inputs; the second input is now complete.
fn interrupted(args: &[&str]) -> Folder {
    let folder = folder();
    assert_eq!(run_in(&folder, args).code, Some(2));
    // Written in place, so it is the same file.
    fs::write(folder.join("second"), "a\nb\nc\nc\nc\n").unwrap();
    folder
}

fn with(args: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [args, more].concat()
}

/// The counts of a to e.
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
        // The run has ended: nothing more is done until the input grows.
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
    // Each job with the option is remembered separately.
    folder.file("other", "a\nb\na\n");
    for (command, expected) in
        [("add", [11, 8, 9, 3, 3]), ("remove", [9, 7, 9, 3, 3]), ("add", [9, 7, 9, 3, 3])]
    {
        for _ in 0..2 {
            run_in(&folder, &[command, "seen", "other", "--resume"]).good();
            assert_eq!(counts(&folder), expected, "{command}");
        }
        run_in(&folder, &with(ADD, &["--resume"])).good();
    }
    assert_eq!(counts(&folder), [9, 7, 9, 3, 3]);
}

/// Inputs are known by their names, whichever of them a run names beside them.
#[test]
fn inputs_that_are_named_in_other_company_count_once() {
    let folder = Folder::new();
    for name in ["a", "b", "c", "d", "e"] {
        folder.file(name, format!("{name}\n"));
    }
    for inputs in ["a", "c", "a b", "b", "c d a", "a", "e d c b a", "a b c d e"] {
        let inputs: Vec<_> = inputs.split(' ').collect();
        for _ in 0..2 {
            run_in(&folder, &[&["add", "seen", "--resume"], &inputs[..]].concat()).good();
        }
        let expected = counts(&folder).map(|count| count.min(1));
        assert_eq!(counts(&folder), expected, "{inputs:?}");
    }
    assert_eq!(counts(&folder), [1; 5]);
    folder.file("b", "b\nb\n");
    for inputs in [&["b"][..], &["a", "b"], &["e", "b"]] {
        run_in(&folder, &[&["add", "seen", "--resume"], inputs].concat()).good();
        assert_eq!(counts(&folder), [1, 2, 1, 1, 1], "{inputs:?}");
    }
}

#[test]
fn an_interrupted_run_is_not_done_again() {
    for (args, command) in [(ADD, "add"), (REMOVE, "remove")] {
        let folder = interrupted(args);
        let first = folder.join("first");
        let message = format!(
            "coua: seen: an interrupted `coua {command}` of {first} and 1 more has done 3 records, \
             which would count twice; continue with --resume\n"
        );
        let before = (counts(&folder), folder.read("seen"));
        run_in(&folder, args).failed(2, &message);
        assert_eq!((counts(&folder), folder.read("seen")), before);
        // The same filter in another form.
        run_in(&folder, &["compact", "-q", "seen"]).good();
        run_in(&folder, args).failed(2, &message);
        run_in(&folder, &with(args, &["--resume"])).good();
        let all = if args == ADD { [6, 5, 6, 3, 3] } else { [0, 1, 0, 3, 3] };
        assert_eq!(counts(&folder), all);
    }
}

/// The records that were done are in no input any more, so none counts twice.
#[test]
fn an_interrupted_run_whose_input_has_changed_can_be_begun_again() {
    let folder = interrupted(ADD);
    folder.file("first", "e\n");
    let refused = run_in(&folder, &with(ADD, &["--resume"]));
    let words = "/first: --resume: is 2 bytes long, but 6 bytes were already processed; restore it, \
                 or leave out --resume\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(words), "{}", refused.stderr);
    run_in(&folder, ADD).good();
    assert_eq!(counts(&folder), [6, 5, 6, 3, 4]);
    run_in(&folder, &with(ADD, &["--resume"])).good();
    assert_eq!(counts(&folder), [6, 5, 6, 3, 4]);
}

/// With `--unique`, adding a record again changes nothing, so the run may start over.
#[test]
fn unique_records_may_be_added_again() {
    let unique = with(ADD, &["--unique"]);
    let folder = interrupted(&unique);
    run_in(&folder, &unique).good();
    assert_eq!(counts(&folder), [3; 5]);
}

#[test]
fn only_the_same_run_is_resumed() {
    let folder = interrupted(ADD);
    let refused = |args: &[&str], words: &str| {
        let before = counts(&folder);
        let run = run_in(&folder, args);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.stderr.starts_with("coua: ") && run.stderr.contains(words), "{}", run.stderr);
        assert_eq!(counts(&folder), before);
    };
    let resume = |more: &[&'static str]| with(&["add", "seen", "--resume"], more);
    refused(&resume(&["first", "-"]), "--resume: every input must be a named file");
    for option in ["--unique", "--null", "-k1", "--missing=drop"] {
        let words = "--resume: an interrupted `coua add` of ";
        refused(&resume(&[option, "first", "second"]), words);
    }
    refused(&resume(&["--csv=1", "first", "second"]), " had other options; use the same");
    let first = folder.join("first");
    for (content, words) in [
        ("a\nx\na\n", "/first: --resume: no longer begins with what was processed"),
        (
            "a\n",
            "/first: --resume: is 2 bytes long, but 6 bytes were already processed; restore it, or",
        ),
    ] {
        fs::write(&first, content).unwrap();
        refused(&resume(&["first", "second"]), words);
    }
    fs::remove_file(&first).unwrap();
    refused(&resume(&["first", "second"]), "first: No such file or directory");
    // Another file with the same content is accepted.
    folder.file("first", "a\nb\na\n");
    run_in(&folder, &resume(&["first", "second"])).good();
    assert_eq!(counts(&folder), [6, 5, 6, 3, 3]);
}

/// The blocks at the beginning and before the position are unchanged, but not the part in between.
#[test]
fn inputs_with_fewer_records_are_noticed() {
    let folder = folder();
    let text = "0123456789\n".repeat(1_000);
    folder.file("first", &text);
    run_in(&folder, &["add", "seen", "first", "--resume"]).good();
    let joined = [&text[..5_499], "x", &text[5_500..]].concat();
    fs::write(folder.join("first"), joined).unwrap();
    let run = run_in(&folder, &["add", "seen", "first", "--resume"]);
    let words = "/first: --resume: has 999 records, fewer than the 1,000 already processed; ";
    assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
}

/// A run without room stops before the refused record, even when it is resumed. Another process makes room.
#[test]
fn nothing_is_counted_twice_in_a_full_filter() {
    let folder = Folder::new();
    let lines = |numbers: std::ops::Range<u32>| -> String {
        numbers.map(|number| format!("{number}\n")).collect::<Vec<_>>().concat()
    };
    folder.file("many", lines(0..150));
    folder.file("some", lines(0..60));
    let held = |name: &str| run_in(&folder, &["check", "-c", "seen", name]).stdout;
    let limit = ["--rate=0.0001", "--capacity=100", "--when-full=stop"];
    let add = ["add", "seen", "many"];
    assert_eq!(run_in(&folder, &[&add[..], &limit].concat()).code, Some(3));
    for _ in 0..2 {
        let again = run_in(&folder, &[&add[..], &["--resume"]].concat());
        assert_eq!(again.code, Some(3));
        assert!(again.stderr.contains("stopped at many: record 101 ("), "{}", again.stderr);
        assert_eq!(held("many"), b"100\n");
    }
    run_in(&folder, &["remove", "seen", "some"]).good();
    assert_eq!(held("many"), b"40\n");
    run_in(&folder, &[&add[..], &["--resume"]].concat()).good();
    assert_eq!(held("many"), b"90\n");
    let once = run_in(&folder, &["count", "seen", "many"]).text();
    assert!(once.lines().all(|line| line.starts_with("0\t") || line.starts_with("1\t")), "{once}");
}
