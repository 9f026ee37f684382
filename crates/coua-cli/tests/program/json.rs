//! `docs/json.md` names exactly the fields that the program prints.

use crate::support::{Folder, json, run, run_with};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// The names in a section of the page, those before the colons of its list, and its text.
fn documented(section: &str) -> (BTreeSet<String>, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = fs::read_to_string(path).expect("the page");
    let heading = format!("\n## `{section}`\n");
    let (_, text) = page.split_once(&heading).expect("the section");
    let text = text.split("\n## ").next().unwrap_or_default().to_owned();
    let rows = text.lines().filter_map(|line| line.strip_prefix("* ")?.split(':').next());
    let names = rows.flat_map(|row| row.split(", ")).map(|name| name.trim_matches('`').to_owned());
    (names.collect(), text)
}

fn fields(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

/// Checks that each name of nested objects is in the text.
fn check_nested(value: &Value, text: &str) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            assert!(text.contains(&format!("`{name}`")), "{name} is not in the page");
            check_nested(value, text);
        }),
        Value::Array(values) => values.iter().for_each(|value| check_nested(value, text)),
        _ => {}
    }
}

#[test]
fn figures_have_the_documented_names() {
    let folder = Folder::new();
    let (filter, aging) = (folder.join("seen"), folder.join("aging"));
    let figures = |arguments: &[&str]| {
        let arguments = arguments.iter().chain(&["--stats=json"]);
        fields(&json(&run_with(b"a\nb\na\n", arguments).stderr))
    };
    let mut printed = figures(&["dedup"]);
    let rate = ["--rate", "0.01", "--capacity", "100", "--window", "7d"];
    printed.extend(figures(&[&["dedup", "--filter", &*aging][..], &rate].concat()));
    for command in ["add", "check", "count", "remove"] {
        printed.extend(figures(&[command, &filter]));
    }
    assert_eq!(printed, documented("--stats=json").0);
}

#[test]
fn descriptions_have_the_documented_names() {
    let folder = Folder::new();
    let (filter, lines) = (folder.join("seen"), folder.file("lines", "a\nb\n"));
    let add = ["add", &filter, &lines, "--resume", "--window", "7d"];
    run(add).good();
    let info = run(["info", "--json", &filter]).json();
    let (names, text) = documented("info --json");
    assert_eq!(fields(&info), names);
    check_nested(&info, &text);

    let plan = run(["plan", "--json", "--items", "1000"]).json();
    let (names, text) = documented("plan --json");
    assert_eq!(fields(&plan), names);
    check_nested(&plan, &text);
}
