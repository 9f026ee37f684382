//! Runs that start over, and damaged inputs: no line is lost.

use crate::packed::COMPRESSIONS;
use crate::support::{Folder, Repeats, expected, lines, run_in, run_with, shell};
use coua_dev::cases::{few_usual_or_all, sample};
use std::fs;

/// Decoders return wrong bytes before they find the damage. A good file is not mistaken for the continuation of these
/// bytes; starting over removes them from the filter.
#[test]
fn a_damaged_input_is_not_resumed_with_a_good_one() {
    let text = lines(200_000, Repeats::Few);
    let mut refused = 0;
    for (name, pack) in sample(COMPRESSIONS, [2, 1]) {
        let whole = pack(&text);
        for part in sample([2, 3, 5, 7], [4, 3]) {
            let mut broken = whole.clone();
            let at = broken.len() * part / 8;
            broken[at] ^= 0x10;
            let folder = Folder::new();
            folder.file("in", &broken);
            let run = |options: &[&str]| {
                let dedup =
                    ["dedup", "--filter", "f", "-o", "out", "--checkpoint-every", "0", "in"];
                run_in(&folder, &[&dedup, options].concat())
            };
            // Wrong bytes that were printed after the last checkpoint are cut off only by the user.
            let insist = |options: &[&str]| {
                let run_once = run(options);
                let Some((_, way)) = run_once.stderr.split_once(" are not all what ") else {
                    return run_once;
                };
                let end = way.split_once("truncate -s ").unwrap().1.split(' ').next().unwrap();
                let out = fs::File::options().write(true).open(folder.join("out")).unwrap();
                out.set_len(end.parse().unwrap()).unwrap();
                run(options)
            };
            let first = run(&["--resume"]);
            assert_eq!(first.code, Some(2), "{name} {part}");
            folder.file("in", &whole);
            let second = insist(&["--resume"]);
            if second.code != Some(0) {
                let reason = "no longer begins with what was processed";
                assert!(second.stderr.contains(reason), "{name} {part}: {}", second.stderr);
                refused += 1;
                insist(&["--restart"]).good();
            }
            assert!(folder.read("out") == expected(&text), "{name} {part}");
            assert!(run_in(&folder, &["check", "-v", "-c", "f", "in"]).stdout == b"0\n");
        }
    }
    assert!(refused >= few_usual_or_all([1, 4, 8]), "{refused}");
}

fn numbers(range: std::ops::Range<u32>) -> String {
    range.flat_map(|number| [number.to_string(), "\n".to_owned()]).collect()
}

/// The input has grown, and the run starts over.
#[test]
fn what_was_printed_is_printed_again_when_a_run_starts_over() {
    let started = || {
        let folder = Folder::new();
        folder.file("in", numbers(0..20));
        folder.file("old", numbers(1_000..1_040));
        let limits = ["--rate", "0.0001", "--capacity", "100", "--when-full", "stop"];
        run_in(&folder, &[&["add", "f", "old"], &limits[..]].concat()).good();
        run_in(&folder, &["dedup", "--filter", "f", "-o", "out", "in"]).good();
        assert_eq!(folder.read("out"), numbers(0..20).as_bytes());
        folder.file("in", numbers(0..60));
        folder
    };
    let with = |folder: &Folder, options: &[&str]| {
        run_in(folder, &[&["dedup", "--filter", "f", "-o", "out", "in"], options].concat())
    };
    let folder = started();
    with(&folder, &["--restart"]).good();
    assert_eq!(folder.read("out"), numbers(0..60).as_bytes());
    // The run has ended, and may still be undone; without the option it is not repeated.
    let twice = with(&folder, &[]);
    let words = "/in: is finished already; nothing to do (--restart does it again)\n";
    assert!(twice.code == Some(0) && twice.stderr.ends_with(words), "{}", twice.stderr);
    assert_eq!(folder.read("out"), numbers(0..60).as_bytes());
    with(&folder, &["--restart"]).good();
    assert_eq!(folder.read("out"), numbers(0..60).as_bytes());
    // If it is uncertain which records are in the output, none are removed.
    let changed: fn(&Folder) = |folder| fs::write(folder.join("out"), numbers(5..20)).unwrap();
    for (options, spoil, words) in [
        (
            &["--restart", "--null"][..],
            (|_| ()) as fn(&Folder),
            ": it had other options; use the same",
        ),
        (
            &["--restart"],
            changed,
            "/out: is 40 bytes long, but 50 bytes were already processed; restore it, or leave out --restart\n",
        ),
    ] {
        let folder = started();
        spoil(&folder);
        let before = (folder.read("out"), folder.read("f"));
        let refused = with(&folder, options);
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{}", refused.stderr);
        assert!((folder.read("out"), folder.read("f")) == before);
    }
}

/// The records in the output of repeats were in the filter before.
#[test]
fn repeats_are_not_taken_out_of_the_filter() {
    let folder = Folder::new();
    folder.file("in", "a\nb\na\n");
    run_in(&folder, &["add", "f", "in"]).good();
    let dedup = ["dedup", "--filter", "f", "-o", "out", "--tee-dups", "tee", "in"];
    run_in(&folder, &dedup).good();
    assert_eq!((folder.read("out").len(), folder.read("tee")), (0, b"a\nb\na\n".to_vec()));
    run_in(&folder, &[&dedup[..], &["--restart"]].concat()).good();
    assert_eq!(run_in(&folder, &["count", "f", "in"]).good(), b"2\ta\n1\tb\n2\ta\n");
    // Data that others have appended to the output of an ended run is not truncated either.
    folder.file("in", "c\n");
    let dedup = ["dedup", "--filter", "f", "-o", "other", "in"];
    run_in(&folder, &dedup).good();
    folder.file("other", "c\nmine\n");
    let refused = run_in(&folder, &[&dedup[..], &["--restart"]].concat());
    let words = "/other: has 5 bytes more than the finished run wrote; restore it, or leave out --restart\n";
    assert!(refused.code == Some(2) && refused.stderr.contains(words), "{}", refused.stderr);
    assert_eq!(folder.read("other"), b"c\nmine\n");
    // Only the first occurrences were added, and they are in no output.
    let repeats = ["dedup", "-d", "--filter", "g", "-o", "dups", "in"];
    folder.file("in", "c\nc\n");
    run_in(&folder, &repeats).good();
    let refused = run_in(&folder, &[&repeats[..], &["--restart"]].concat());
    assert!(refused.stderr.contains("no output holds the records"), "{}", refused.stderr);
}

/// With the new input the same command is another job, which must not empty the output.
#[test]
fn the_same_names_with_other_records_are_another_job() {
    let folder = Folder::new();
    let daily = ["dedup", "--filter", "f", "-o", "new", "today"];
    folder.file("today", "a\nb\n");
    run_in(&folder, &daily).good();
    folder.file("today", "b\nc\n");
    let refused = run_in(&folder, &daily);
    let words = "; append with --append, start over with --restart, or move the file away\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(words), "{}", refused.stderr);
    assert_eq!(folder.read("new"), b"a\nb\n");
    run_in(&folder, &[&daily[..], &["--append"]].concat()).good();
    assert_eq!(folder.read("new"), b"a\nb\nc\n");
    // Whoever takes the output away gets a new one.
    fs::rename(folder.join("new"), folder.join("taken")).unwrap();
    folder.file("today", "b\nc\nd\n");
    run_in(&folder, &daily).good();
    assert_eq!(folder.read("new"), b"d\n");
}

/// Its records would be forgotten, and printed again to another output.
#[test]
fn a_restart_leaves_no_output_of_the_run_behind() {
    for (again, left) in [
        (&["dedup", "--filter", "f", "--output-dir", "dir", "--restart", "a"][..], "dir/b"),
        (&["dedup", "--filter", "f", "-o", "o2", "--tee-dups", "dups", "--restart", "a"], "o"),
    ] {
        let folder = Folder::new();
        folder.file("a", "1\n1\n");
        folder.file("b", "2\n2\n");
        let to = if left == "o" {
            ["-o", "o", "--tee-dups", "dups"]
        } else {
            ["--output-dir", "dir", "-j", "1"]
        };
        run_in(&folder, &[&["dedup", "--filter", "f"], &to[..], &["a", "b"]].concat()).good();
        folder.file("a", "1\n1\n5\n");
        let refused = run_in(&folder, again);
        let words = format!("it also wrote {left}, which is no output now; ");
        let is_told =
            refused.stderr.replace(&format!("{}/", folder.path().display()), "").contains(&words);
        assert!(refused.code == Some(2) && is_told, "{}", refused.stderr);
        run_with(b"2\n", ["dedup", "--filter", &folder.join("f")]).good();
        assert_eq!(run_with(b"2\n", ["check", "-c", &folder.join("f")]).text(), "1\n");
    }
}

#[test]
fn the_undoing_of_a_run_with_other_inputs_is_told() {
    let folder = Folder::new();
    folder.file("a", "1\n2\n");
    folder.file("b", "3\n");
    let dedup = ["dedup", "--filter", "f", "-o", "out"];
    run_in(&folder, &[&dedup[..], &["a"]].concat()).good();
    let restarted = run_in(&folder, &[&dedup[..], &["--restart", "b"]].concat());
    let a = folder.join("a");
    let note =
        format!("coua: f: --restart undoes `coua dedup` of {a}, which processed 2 records\n");
    assert_eq!((restarted.code, restarted.stderr), (Some(0), note));
    let same = run_in(&folder, &[&dedup[..], &["--restart", "b"]].concat());
    assert_eq!((same.code, same.stderr), (Some(0), String::new()));
}

/// Its output was moved away, so its records stay in the filter.
#[test]
fn only_a_run_that_is_undone_is_told() {
    let folder = Folder::new();
    folder.file("a", "1\n2\n");
    folder.file("b", "3\n");
    let dedup = ["dedup", "--filter", "f", "-o", "out"];
    run_in(&folder, &[&dedup[..], &["a"]].concat()).good();
    fs::rename(folder.join("out"), folder.join("kept")).unwrap();
    run_in(&folder, &[&dedup[..], &["b"]].concat()).good();
    run_in(&folder, &[&dedup[..], &["--restart", "b"]].concat()).good();
    assert_eq!(run_in(&folder, &["count", "f", "a", "b"]).text(), "1\t1\n1\t2\n1\t3\n");
}

/// What the filter holds of its records may be another run's.
#[test]
fn a_run_before_removals_or_in_a_window_is_not_undone() {
    let folder = Folder::new();
    folder.file("in", "a\nb\n");
    folder.file("other", "a\n");
    let dedup = |out: &'static str, more: &[&'static str]| {
        run_in(&folder, &[&["dedup", "--filter", "f", "-o", out], more].concat())
    };
    dedup("x", &["in"]).good();
    shell(folder.path(), "echo a | $COUA remove f").good();
    dedup("y", &["other"]).good();
    let refused = dedup("x", &["--restart", "in"]);
    let words = ": `coua remove` has changed the filter since; choose another output\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(words), "{}", refused.stderr);
    assert_eq!(folder.read("x"), b"a\nb\n");
    let window = ["dedup", "--filter", "w", "--window", "7d", "-o", "z", "in"];
    run_in(&folder, &window).good();
    let refused = run_in(&folder, &[&window[..], &["--restart"]].concat());
    let words = "the window may have forgotten its records, and hold those of other runs; choose another output\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(words), "{}", refused.stderr);
}

/// The undone records may be known now.
#[test]
fn a_restart_with_a_longer_list_of_known_records_undoes_all() {
    let folder = Folder::new();
    folder.file("in", "1\n2\n");
    folder.file("known", "");
    let dedup = ["dedup", "--filter", "f", "-o", "out", "--known", "known", "in"];
    run_in(&folder, &dedup).good();
    folder.file("known", "1\n");
    run_in(&folder, &[&dedup[..], &["--restart"]].concat()).good();
    assert_eq!(folder.read("out"), b"2\n");
    assert_eq!(run_in(&folder, &["count", "f", "in"]).text(), "0\t1\n1\t2\n");
}

/// The first byte of a compressed file looks like text.
#[test]
fn a_compressed_input_that_has_only_begun_is_not_resumed() {
    let text = lines(1_000, Repeats::Few);
    for (name, pack) in COMPRESSIONS {
        let (folder, whole) = (Folder::new(), pack(&text));
        for begun in 1..8 {
            let dedup = ["dedup", "--filter", "f", "-o", "out", "--resume", "in"];
            folder.file("in", &whole[..begun]);
            let first = run_in(&folder, &dedup);
            folder.file("in", &whole);
            let second = run_in(&folder, &dedup);
            let is_right = second.code == Some(0) && folder.read("out") == expected(&text);
            let is_refused = second.code == Some(2) && second.stderr.contains("leave out --resume");
            assert!(is_right || is_refused, "{name} {begun}: {} {}", first.stderr, second.stderr);
            run_in(&folder, &["dedup", "--filter", "f", "-o", "out", "--restart", "in"]).good();
            assert!(folder.read("out") == expected(&text), "{name} {begun}");
            std::fs::remove_file(folder.join("f")).unwrap();
            std::fs::remove_file(folder.join("out")).unwrap();
        }
    }
}
