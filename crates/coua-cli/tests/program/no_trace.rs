//! A run that is refused before its work leaves every file unchanged, and creates none.

use crate::support::{Folder, shell};
use coua_dev::cases::sample;
use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

/// All files of a folder, with their contents and modification times.
fn files(folder: &Folder) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let state = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let written = entry.metadata().unwrap().modified().unwrap();
        (name.clone(), (folder.read(&name), written))
    };
    entries.map(state).collect()
}

/// Inputs, an output of an earlier run, and filters with and without a window and a key.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("in", "id,url\n1,a\n");
    folder.file("out", "kept\n");
    folder.file("key", [7; 16]);
    shell(folder.path(), "seq 10 | $COUA add there").good();
    shell(folder.path(), "seq 10 | $COUA add coarse --rate 0.01 --capacity 1000").good();
    shell(folder.path(), "seq 10 | $COUA add aging --window 7d").good();
    folder
}

/// Runs each command with each problem; the exit code must be 2, before anything is done.
fn refused(commands: &[&str], troubles: &[&str]) {
    let folder = folder();
    let before = files(&folder);
    for command in commands {
        for trouble in sample(troubles, [3, 1]) {
            let run = shell(folder.path(), &format!("$COUA {command} {trouble}"));
            assert_eq!(run.code, Some(2), "{command} {trouble}: {}", run.stderr);
            assert_eq!(run.stdout, b"", "{command} {trouble}");
            assert!(files(&folder) == before, "{command} {trouble}: {:?}", files(&folder).keys());
        }
    }
}

/// Commands that read records, and create or change a filter.
const MAKE: &[&str] = &[
    "dedup --filter new -o made",
    "dedup --filter new -o out",
    "dedup --filter new",
    "dedup --filter there -o made",
    "dedup -o made",
    "dedup -o out",
    "dedup --filter aging -o made",
    "dedup --filter new --window 7d -o made",
    "dedup --filter new --window 100-items -o made",
    "add new",
    "add there",
    "add aging",
    "add --unique new",
    "add --window 7d new",
    "add --window 100-items new",
];

/// Commands that read records, and do not change the filter.
const ASK: &[&str] = &[
    "remove there",
    "remove aging",
    "check there",
    "check -v aging",
    "check -c there",
    "count there",
    "count aging",
];

/// Commands on whole filters.
const WHOLE: &[&str] = &[
    "merge -o new there",
    "merge -o there there coarse",
    "convert -o new --rate 0.01 there",
    "convert -o there --rate 0.01 there",
    "compact there",
    "compact aging",
];

/// Those of all these commands that print.
const PRINT: &[&str] = &[
    "dedup --filter new in",
    "dedup --filter there in",
    "dedup --filter new --window 7d in",
    "dedup in",
    "check there in",
    "check -c there in",
    "count there in",
    "verify there",
    "info there",
    "info --json aging",
];

#[test]
fn of_inputs() {
    let troubles = [
        "in missing",
        "missing",
        "in .",
        "<&-",
        "--stats in 2>&-",
        "--stats=json in 2>&-",
        "--secret missing in",
        "--secret out in",
        "--secret . in",
    ];
    refused(&[MAKE, ASK].concat(), &troubles);
}

#[test]
fn of_keys() {
    let troubles = [
        "--csv typo in",
        "--csv typo <in",
        "-k 0 in",
        "-k x in",
        "--json id in",
        "--regex '(' in",
        "-t , in",
        "--csv 1 --json /a in",
        "--shard 3/2 in",
        "--delimiter '' in",
        "--no-such-option in",
        "-j 0 in",
    ];
    refused(&[MAKE, ASK].concat(), &troubles);
}

#[test]
fn of_options_about_the_filter() {
    let troubles = [
        "--capacity 0 in",
        "--capacity x in",
        "--when-full stop in",
        "--rate 2 in",
        "--rate 0.1 in",
        "--window 7d --time-field 1 --window 5-items in",
        "--time-field x in",
    ];
    let without_window =
        |command: &&&str| !command.contains("aging") && !command.contains("window");
    let windowless: Vec<&str> = MAKE.iter().filter(without_window).copied().collect();
    refused(&windowless, &troubles);
    let stop = "--capacity 9 --when-full stop";
    let others = ["--window 7d", "--window 50-items", stop, "--rate 0.1", "--secret key"];
    refused(&["dedup --filter there -o made in", "add there in"], &others);
    refused(ASK, &["--secret key in", "--window 7d in", "--no-such-option in"]);
}

#[test]
fn of_outputs() {
    for output in ["no/such/out", ".", "in", "key"] {
        let filters = ["dedup --filter new", "dedup --filter there", "dedup"];
        refused(&filters, &[&format!("-o {output} --secret key in")]);
    }
    for output in ["no/such/out", ".", "in", "there"] {
        refused(&["dedup --filter there"], &[&format!("-o {output} in")]);
    }
    refused(&["dedup --filter new"], &["-o new in", "--window 7d -o new in", "-o ./new in"]);
    refused(&["dedup --filter new", "dedup --filter there"], &["--resume -o made", "--resume in"]);
    refused(PRINT, &[">&-"]);
}

#[test]
fn of_filters() {
    let records = ["add", "dedup -o made --filter", "remove", "check", "check -c", "count"];
    refused(&records, &[". in", "in out", "no/such/filter in", "- in", "/dev/null in"]);
    refused(&["remove", "check", "check -c", "count"], &["missing in"]);
    refused(&["add", "remove", "dedup -o made --filter"], &["there there", "in in"]);
    refused(
        &["verify", "info", "compact", "merge -o new", "convert -o new --rate 0.01"],
        &["missing", ".", "in", "no/such/filter", "/dev/null"],
    );
    refused(WHOLE, &["--secret missing", "--secret out", "--secret key", "--no-such-option"]);
    for output in [".", "in", "no/such/filter", "-", "/dev/null"] {
        refused(&["merge there", "convert --rate 0.01 there"], &[&format!("-o {output}")]);
    }
    refused(&["merge -o new there"], &["missing", "in", "coarse", "aging", "."]);
    refused(&["merge -o there there"], &["missing", "in", "coarse", "aging", "."]);
    refused(&["convert -o new"], &["there", "--rate 0.01 aging", "--rate 9 there"]);
    refused(&["compact", "compact -q"], &["missing"]);
}
