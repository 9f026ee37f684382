//! Every comparison runs, at sizes that take no time, and leaves what the documents are made of.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the program; what it prints.
fn run(arguments: &[&str], out: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coua-compare"));
    let done = command.args(arguments).arg("--out").arg(out).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The JSON that was left.
fn json(out: &Path, name: &str) -> serde_json::Value {
    let text = fs::read_to_string(out.join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn filters_print_a_table_and_leave_json_and_plots() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let sizes = ["--items", "2000,10000", "--keys", "both", "--rounds", "2", "--threads", "2"];
    let text = run(&[&["filters"], &sizes[..]].concat(), out);
    assert!(text.contains("| coua, batches"));
    let report = json(out, "filters");
    let sheets = report["sheets"].as_array().unwrap();
    assert_eq!(sheets.len(), 4);
    for line in sheets.iter().flat_map(|sheet| sheet["lines"].as_array().unwrap()) {
        let name = line["name"].as_str().unwrap();
        assert!(line["nanoseconds"]["insert"]["median"].as_f64().unwrap() > 0.0, "{name}");
        if name.starts_with("coua") {
            let bad = ["lost", "refused", "not_removed"].map(|fact| line[fact].as_u64().unwrap());
            assert_eq!(bad, [0; 3], "{name}");
        }
    }
    assert!(fs::read_to_string(out.join("filters-u64-insert.svg")).unwrap().contains("<svg"));
}

#[test]
fn growth_latency_and_space_leave_json_and_plots() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    run(&["growth", "--items", "10000", "--rounds", "2"], out);
    for name in ["growth-load", "growth-cost", "growth-longest", "growth-memory"] {
        assert!(out.join(name).with_extension("svg").exists(), "{name}");
    }
    let growing = &json(out, "growth")["sheets"][1]["lines"][0];
    assert_eq!((growing["lost"].as_u64(), growing["refused"].as_u64()), (Some(0), Some(0)));

    run(&["latency", "--items", "10000", "--rounds", "1", "--only", "qfilter"], out);
    assert_eq!(json(out, "latency")["lines"].as_array().unwrap().len(), 2);

    run(&["space", "--items", "10000", "--rates", "0.01,0.001", "--only", "qfilter"], out);
    assert!(out.join("space.svg").exists());
}

#[test]
fn programs_are_timed_and_their_output_is_checked() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    // `true` stands for a program that loses everything: a check that cannot fail is none.
    let coua = ["--coua", "/bin/true"];
    let size = ["dedup", "short", "--lines", "3000", "--rounds", "1", "--only", "sort,cat"];
    let failed = Command::new(env!("CARGO_BIN_EXE_coua-compare"))
        .args(size.iter().chain(&coua))
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stderr).contains("coua -j 2"));

    let script = out.join("sorts");
    fs::write(
        &script,
        "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nLC_ALL=C sort -u \"$3\" > \"$2\"\n",
    )
    .unwrap();
    let mut permissions = fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&script, permissions).unwrap();
    let text = run(&[&size[..], &["--coua", script.to_str().unwrap()]].concat(), out);
    assert!(text.contains("| sort -u"));
    for line in json(out, "dedup-distinct-short")["sheet"]["lines"].as_array().unwrap() {
        if line["name"] != "cat" {
            assert_eq!(line["verdict"]["lost"], 0);
            assert_eq!(line["verdict"]["left_over"], 0);
        }
    }
}
