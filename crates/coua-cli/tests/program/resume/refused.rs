//! Runs that differ from the interrupted one.

use super::{DEDUPS, Trial};
use crate::support::{Folder, coua, expected, run_in, shell};
use std::fs;

/// A run that the system killed after checkpoints: its output reached the limit of the file size just before its end.
pub(super) fn interrupted() -> Trial {
    let [kind, ..] = &DEDUPS;
    let whole = Trial::new(kind, 200_000);
    whole.end(&[]);
    let blocks = whole.folder.read("out").len() / 512 - 20;
    let trial = Trial::new(kind, 200_000);
    let dedup = [kind.command, kind.inputs, &["--checkpoint-every", "0"]].concat().join(" ");
    let script = format!("ulimit -c 0; ulimit -f {blocks}; exec $COUA {dedup}");
    assert_eq!(shell(trial.folder.path(), &script).code, None, "killed");
    trial
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
    // With other inputs it is another run, which must not truncate the output.
    let remembers = "/out: holds the output of an interrupted `coua dedup` of ";
    assert!(with(&["out", "open"]).contains(remembers));
    assert!(with(&["out", "many", "--null"]).contains("had other options; use the same"));
    assert!(with(&["out", "-"]).contains("--resume: every input must be a named file"));
    let text = trial.folder.read("many");
    let mut changed = text.clone();
    changed[3] ^= 1;
    fs::write(trial.folder.join("many"), &changed).unwrap();
    assert!(with(&["out", "many"]).contains("/many: --resume: no longer begins with what was"));
    fs::write(trial.folder.join("many"), &text[..100]).unwrap();
    assert!(with(&["out", "many"]).contains("/many: --resume: is 100 bytes long, but "));
    fs::write(trial.folder.join("many"), &text).unwrap();
    let output = trial.folder.read("out");
    fs::write(trial.folder.join("out"), &output[..10]).unwrap();
    assert!(with(&["out", "many"]).contains("/out: --resume: is 10 bytes long, but "));
    fs::write(trial.folder.join("out"), &output).unwrap();
    // A new run may write to another output: the filter remembers the records in the first one.
    let more = ["dedup", "--filter", "seen.coua", "-o", "rest", "many"];
    let more = coua(more).current_dir(trial.folder.path()).output().unwrap();
    assert_eq!(more.status.code(), Some(0));
    // The kill may have cut a line, which then was not recorded.
    let whole = output.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let found = [&output[..whole], &trial.folder.read("rest")].concat();
    let wanted = expected(&text);
    assert!(expected(&found).len() == wanted.len(), "nothing is missing");
}

/// A note says that its records are not printed again.
#[test]
fn an_interrupted_run_whose_output_is_gone_is_begun_again() {
    for script in ["rm out", ": > out"] {
        let trial = interrupted();
        shell(trial.folder.path(), script).good();
        let arguments = [trial.kind.command, trial.kind.inputs].concat();
        let again = run_in(&trial.folder, &arguments);
        let words = "/out is gone; what seen.coua remembers of it is not printed again, except with another filter\n";
        assert!(again.code == Some(0) && again.stderr.ends_with(words), "{}", again.stderr);
        let all = expected(&trial.folder.read("many"));
        assert!(expected(&trial.folder.read("out")).len() < all.len());
    }
}

/// The run has done nothing: its problem can be fixed.
#[test]
fn a_run_that_came_to_nothing_is_not_in_the_way() {
    for command in [&["add", "seen"][..], &["dedup", "--filter", "seen", "-o", "out"]] {
        let folder = Folder::new();
        folder.file("table", "id,n\n1,a\n");
        let with =
            |column| run_in(&folder, &[command, &["--resume", "--csv", column, "table"]].concat());
        with("idd").failed(2, "coua: table: no column \"idd\" in the header (found id, n)\n");
        // The input may even be shorter now.
        folder.file("table", "id\n1\n");
        with("idd").failed(2, "coua: table: no column \"idd\" in the header (found id)\n");
        with("id").good();
        with("id").good();
        assert_eq!(run_in(&folder, &["info", "--json", "seen"]).json()["items"], 1);
    }
}

/// Whether it has committed records or none.
#[test]
fn what_an_interrupted_run_appended_is_not_appended_again() {
    let numbered = |lines: String, number| lines + &format!("{number:050}\n");
    let lines = (0..200_000).fold(String::new(), numbered);
    for (every, message) in [
        (1000, "holds the output of an interrupted `coua dedup`"),
        (0, "holds the output of an interrupted `coua dedup`"),
    ] {
        let folder = Folder::new();
        folder.file("in", &lines);
        folder.file("out", "before\n");
        let append =
            format!("$COUA dedup -j1 --filter f --checkpoint-every {every} --append -o out in");
        let killed = format!("ulimit -c 0; ulimit -f 17000; exec {append}");
        assert_eq!(shell(folder.path(), &killed).code, None, "killed");
        let again = shell(folder.path(), &append);
        assert_eq!(again.code, Some(2));
        assert!(again.stderr.contains(message), "{}", again.stderr);
        assert!(
            again.stderr.ends_with("with --resume, or move the file away\n"),
            "{}",
            again.stderr
        );
        // Other records behind them would be cut off when the run is resumed.
        folder.file("other", "x\n");
        let other = shell(folder.path(), &append.replace(" in", " other"));
        assert!(other.code == Some(2) && other.stderr.contains(message), "{}", other.stderr);
        shell(folder.path(), &format!("{append} --resume")).good();
        assert!(folder.read("out") == ["before\n", &lines].concat().as_bytes());
    }
}

/// A run that has committed nothing is forgotten once another one writes its output, which it would cut.
#[test]
fn an_output_of_another_run_is_not_cut_off() {
    let lines =
        (0..200_000).fold(String::new(), |lines, number| lines + &format!("{number:050}\n"));
    for append in ["", "--append"] {
        let folder = Folder::new();
        folder.file("in", &lines);
        folder.file("out", "");
        folder.file("other", "x\n");
        let dedup = format!("$COUA dedup -j1 --filter f --checkpoint-every 1000 {append} -o out");
        let killed = format!("ulimit -c 0; ulimit -f 17000; exec {dedup} in");
        assert_eq!(shell(folder.path(), &killed).code, None, "killed");
        folder.file("out", "");
        shell(folder.path(), &format!("{dedup} other")).good();
        let resumed = shell(folder.path(), &format!("{dedup} --resume in"));
        if append.is_empty() {
            let message = "--resume: no run with these inputs and options wrote this file; ";
            assert!(
                resumed.code == Some(2) && resumed.stderr.contains(message),
                "{}",
                resumed.stderr
            );
            assert_eq!(folder.read("out"), b"x\n");
        } else {
            // A new run appends.
            resumed.good();
            assert!(folder.read("out") == ["x\n", &lines].concat().as_bytes());
        }
    }
}
