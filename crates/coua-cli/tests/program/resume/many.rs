//! More inputs than a filter can remember.

use crate::support::{Folder, coua, run, run_as_is};
use std::fs;

/// Inputs whose names do not fit into a frame of the log.
#[test]
fn a_run_of_too_many_inputs_is_not_recorded() {
    let folder = Folder::new();
    let mut deep = fs::canonicalize(folder.path()).unwrap();
    while deep.as_os_str().len() < 3_800 {
        deep.push("x".repeat(200));
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("a"), "one\n").unwrap();
    let filter = folder.join("seen");
    let with = |option: &'static str| {
        let mut command = coua(["add", "--unique", &filter, option]);
        run_as_is(command.args(vec!["a"; 20_000]).current_dir(&deep))
    };
    let reason = "the positions and names of 20,000 inputs take up to ";
    let refused = with("--resume");
    assert!(refused.code == Some(2), "{}", refused.stderr);
    assert!(refused.stderr.starts_with(&format!("coua: --resume: {reason}")), "{}", refused.stderr);
    assert!(!folder.has("seen"));
    let told = with("--crlf");
    let words = format!("coua: this run cannot be resumed after an interruption: {reason}");
    assert!(told.code == Some(0) && told.stderr.starts_with(&words), "{}", told.stderr);
    assert_eq!(told.stderr.lines().count(), 1);
    with("--quiet").good();
    let mut piped = coua(["dedup", "--filter", &filter]);
    run_as_is(piped.args(vec!["a"; 20_000]).current_dir(&deep)).good();
    let items = run(["info", "--json", &filter]).json();
    assert_eq!((&items["items"], &items["unfinished_run"]), (&1.into(), &serde_json::Value::Null));
}

/// Each file's position is a note of the filter.
#[test]
fn more_files_than_a_filter_has_notes_for_are_refused() {
    let folder = Folder::new();
    fs::write(folder.join("a"), "one\n").unwrap();
    fs::write(folder.join("names"), "a\n".repeat((1 << 19) + 1)).unwrap();
    let filter = folder.join("seen");
    let mut command = coua(["add", "--unique", &filter, "--resume", "--files-from", "names"]);
    let refused = run_as_is(command.current_dir(folder.path()));
    let reason =
        "coua: --resume: a run records the positions of at most 524,288 files, not of 524,289; ";
    assert!(refused.code == Some(2) && refused.stderr.starts_with(reason), "{}", refused.stderr);
    assert!(!folder.has("seen"));
}
