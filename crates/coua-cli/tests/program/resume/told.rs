//! The report of `info` about an unfinished run.

use super::refused::interrupted;
use crate::support::{Folder, run_in};
use serde_json::Value;

fn info(folder: &Folder) -> Value {
    run_in(folder, &["info", "--json", "seen.coua"]).json()
}

fn unfinished(folder: &Folder) -> Value {
    info(folder)["unfinished_run"].clone()
}

#[test]
fn an_interrupted_run_is_told() {
    let trial = interrupted();
    let folder = &trial.folder;
    let told = unfinished(folder);
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(told["command"], "dedup");
    let (input, output) = (&told["inputs"][0], &told["outputs"][0]);
    assert!(input["file"].as_str().unwrap().ends_with("/many"), "{told}");
    // The records done are the first ones of the input.
    let done = &folder.read("many")[..number(&input["offset"]) as usize];
    let lines = done.split(|byte| *byte == b'\n').count() as u64 - 1;
    assert!(number(&told["records"]) == lines && (1..200_000).contains(&lines), "{told}");
    assert!(output["file"].as_str().unwrap().ends_with("/out"), "{told}");
    assert!(number(&output["offset"]) <= folder.read("out").len() as u64);
    let text = run_in(folder, &["info", "seen.coua"]).text();
    for words in ["`coua dedup` of ", "/many, ", " records done", "the same command with --resume"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// An incomplete commit after a crash is reported, and does not count.
#[test]
fn half_a_commit_is_told() {
    let trial = interrupted();
    let folder = &trial.folder;
    let (before, mut bytes) = (info(folder), folder.read("seen.coua"));
    let torn = before["uncommitted_bytes"].as_u64().unwrap();
    assert!(torn < bytes.len() as u64, "{torn}");
    bytes.extend([0; 700]);
    folder.file("seen.coua", &bytes);
    let after = info(folder);
    assert_eq!(after["uncommitted_bytes"], torn + 700);
    assert_eq!(
        (&after["items"], &after["unfinished_run"]),
        (&before["items"], &before["unfinished_run"])
    );
    let text = run_in(folder, &["info", "seen.coua"]).text();
    assert!(text.contains("not committed"), "{text}");
    trial.end(&["--resume"]);
    assert_eq!(info(folder)["uncommitted_bytes"], 0);
}

#[test]
fn a_run_that_has_ended_is_not() {
    let trial = interrupted();
    trial.end(&["--resume"]);
    assert_eq!(unfinished(&trial.folder), Value::Null);
    let text = run_in(&trial.folder, &["info", "seen.coua"]).text();
    assert!(!text.contains("unfinished") && text.contains("ended runs"), "{text}");
    let told = info(&trial.folder)["runs"].clone();
    assert_eq!((&told[0]["has_ended"], &told[0]["records"]), (&true.into(), &200_000.into()));
}
