//! Every comparison runs, at sizes that take no time, and leaves what the documents are made of.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Runs the program; what it prints.
fn run(arguments: &[&str], out: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coua-compare"));
    let done = command.args(arguments).arg("--out").arg(out).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The JSON that was left.
fn json(out: &Path, name: &str) -> Value {
    let text = fs::read_to_string(out.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The files alone give the same tables and plots again.
fn check_report(out: &Path, printed: &str, plots: &[&str]) {
    let again = out.join("plots");
    let done = Command::new(env!("CARGO_BIN_EXE_coua-compare"))
        .args(["report", "--from"])
        .arg(out)
        .arg("--plots")
        .arg(&again)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told = String::from_utf8(done.stdout).unwrap();
    for line in printed.lines() {
        assert!(told.lines().any(|known| known == line), "{line}");
    }
    for plot in plots {
        let drawn = fs::read_to_string(again.join(plot)).unwrap();
        assert!(drawn.contains("<svg") && drawn.lines().any(|line| line == "coua"), "{plot}");
        assert_eq!(drawn, fs::read_to_string(out.join(plot)).unwrap(), "{plot}");
    }
}

/// What every file says of where it comes from.
fn check_circumstances(report: &Value) {
    for field in ["command", "date", "machine", "load"] {
        assert!(report["circumstances"][field].as_str().is_some_and(|text| !text.is_empty()));
    }
}

fn check_summary(summary: &Value) {
    let [low, median, high] =
        ["low", "median", "high"].map(|field| summary[field].as_f64().unwrap());
    assert!(0.0 < low && low <= median && median <= high, "{summary}");
}

/// The lines of a table, by their names.
fn lines(sheet: &Value) -> BTreeMap<&str, &Value> {
    let lines = sheet["lines"].as_array().unwrap().iter();
    lines.map(|line| (line["name"].as_str().unwrap(), line)).collect()
}

#[test]
fn what_was_not_measured_has_no_table() {
    let out = tempfile::tempdir().unwrap();
    let words = ["filters", "--items", "2000", "--rounds", "1", "--only", "qfilter"];
    for part in ["life", "unique"] {
        let text = run(&[&words[..], &["--parts", part]].concat(), out.path());
        let mut heads = text.lines().filter(|line| line.starts_with("| contestant"));
        assert!(
            heads.clone().count() > 0 && heads.all(|head| head.matches('|').count() > 2),
            "{text}"
        );
    }
}

#[test]
fn filters_print_a_table_and_leave_json_and_plots() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let sizes = ["--items", "2000,10000", "--keys", "both", "--rounds", "2", "--threads", "2"];
    let text = run(&[&["filters"], &sizes[..]].concat(), out);
    assert!(text.contains("| coua, batches") && text.contains("insert / two lines"));
    for (keys, items) in [("u64", 2000), ("u64", 10_000), ("strings", 2000), ("strings", 10_000)] {
        let report = json(out, &format!("filters-{keys}-0.001-{items}"));
        check_circumstances(&report);
        let sheet = &report["sheet"];
        assert_eq!((sheet["items"].as_u64(), sheet["rounds"].as_u64()), (Some(items), Some(2)));
        for limit in ["one random line a key", "two random lines a key"] {
            check_summary(&sheet["machine"][limit]);
        }
        let lines = lines(sheet);
        for (name, line) in &lines {
            for step in ["insert", "last_stretch", "present", "absent", "half"] {
                check_summary(&line["nanoseconds"][step]);
            }
            assert!(line["to_two_lines"]["absent"].as_f64().unwrap() > 0.0, "{name}");
            assert!(line["bits_per_key"].as_f64().unwrap() > 4.0, "{name}");
            if name.starts_with("coua") {
                let bad = ["lost", "refused", "not_removed"].map(|fact| line[fact].as_u64());
                assert_eq!(bad, [Some(0); 3], "{name}");
            }
        }
        let shared = &lines["coua shared, batches"]["nanoseconds"];
        for step in ["remove", "unique_mixed", "unique_new", "unique_repeats"] {
            check_summary(&shared[step]);
        }
        for step in ["insert_threads", "absent_threads", "build"] {
            check_summary(&shared[step]);
        }
        check_summary(&lines["atomic-cuckoo-filter"]["nanoseconds"]["insert_threads"]);
    }
    let plots = ["insert", "absent", "present", "remove", "unique"];
    let plots = plots.map(|step| format!("filters-strings-0.001-{step}.svg"));
    check_report(out, &text, &plots.each_ref().map(String::as_str));
}

#[test]
fn growth_and_latency_leave_json_and_plots() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let text = run(&["growth", "--items", "10000", "--rounds", "2"], out);
    let plots = ["load", "cost", "longest", "memory"];
    let plots = plots.map(|name| format!("growth-10000-{name}.svg"));
    check_report(out, &text, &plots.each_ref().map(String::as_str));
    let report = json(out, "growth-10000");
    check_circumstances(&report);
    let fillings = report["sheet"]["fillings"].as_array().unwrap();
    let ways: Vec<_> = fillings.iter().map(|filling| filling["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["stated", "ready", "growing"]);
    for filling in fillings {
        let coua = lines(filling)["coua"];
        check_summary(&coua["nanoseconds"]);
        assert!(coua["nanoseconds"]["ratio"].as_f64().unwrap() > 0.0);
        assert_eq!((coua["lost"].as_u64(), coua["refused"].as_u64()), (Some(0), Some(0)));
        assert!(coua["largest_step_bytes"].as_f64().is_some());
    }
    assert!(lines(&fillings[2])["coua"]["longest_nanoseconds"].as_f64().unwrap() > 0.0);

    for way in ["stated", "growing"] {
        let size = ["latency", "--items", "10000", "--rounds", "1", "--only", "qfilter"];
        let text = run(&[&size[..], &["--way", way]].concat(), out);
        check_report(out, &text, &[]);
        let report = json(out, &format!("latency-{way}-10000"));
        check_circumstances(&report);
        let lines = lines(&report["sheet"]);
        assert_eq!(lines.keys().copied().collect::<Vec<_>>(), ["coua", "qfilter"]);
        for call in ["insert", "present", "absent", "remove"] {
            assert_eq!(lines["coua"]["nanoseconds"][call].as_array().unwrap().len(), 5);
        }
    }
}

#[test]
fn space_is_measured_and_all_is_reported_again() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let size = ["--items", "10000", "--rates", "0.01,0.001", "--planned-items", "20000"];
    let printed = run(&[&["space", "--only", "qfilter"], &size[..]].concat(), out);
    let report = json(out, "space-10000");
    check_circumstances(&report);
    for point in lines(&report["sheet"])["coua"]["points"].as_array().unwrap() {
        assert!(["asked", "measured", "bits_per_key"].iter().all(|field| point[field].is_f64()));
    }
    for planned in report["sheet"]["planned"].as_array().unwrap() {
        assert_eq!(planned["refused"], 0, "{planned}");
        assert!(planned["planned_bytes"].is_u64() && planned["resident_bytes"].is_u64());
    }

    check_report(out, &printed, &["space-10000.svg"]);
}

/// A program in the place of `coua`, which does what the script says.
fn stand_in(directory: &Path, script: &str) -> PathBuf {
    let (text, path) = (directory.join("script"), directory.join("stand-in"));
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // By another process: a file that this one has open for writing cannot be run, and other threads'
    // children inherit what is open.
    let mut install = Command::new("install");
    assert!(install.args(["-m", "755"]).args([&text, &path]).status().unwrap().success());
    path
}

#[test]
fn checking_is_timed_and_wrong_answers_are_told() {
    // `add FILTER` keeps the lines, `check ... FILTER LINES` finds them: exact, and slow.
    const SCRIPT: &str = r#"
        if [ "$1" = add ]; then for filter; do :; done; exec cat > "$filter"; fi
        count=; [ "$2" = -c ] && count=-c
        for lines; do filter=$last; last=$lines; done
        LC_ALL=C exec grep -Fx $count -f "$filter" "$lines"
    "#;
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let size = ["check", "--items", "300", "--lines", "1000", "--rounds", "2"];
    let coua = stand_in(out, SCRIPT);
    let text = run(&[&size[..], &["--coua", coua.to_str().unwrap()]].concat(), out);
    assert!(text.contains("| coua check -c -j 1"), "{text}");
    check_report(out, &text, &[]);
    let report = json(out, "check-urls-300");
    check_circumstances(&report);
    let jobs = report["sheet"]["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 6);
    for job in jobs {
        check_summary(&job["wall_seconds"]);
        let nothing_to_find = job["name"] == "coua check, no lines";
        let expected = if nothing_to_find { Some(0) } else { report["sheet"]["present"].as_u64() };
        let found = job["found"].as_u64();
        assert_eq!(
            found,
            job["name"].as_str().unwrap().starts_with("coua").then_some(expected.unwrap())
        );
    }
    assert!(!out.join("check.coua").exists() && !out.join("check-lines").exists());

    let blind = stand_in(out, "[ \"$1\" = add ] && exec cat > \"$7\"; echo 0");
    let failed = Command::new(env!("CARGO_BIN_EXE_coua-compare"))
        .args(size)
        .arg("--coua")
        .arg(blind)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    assert!(!failed.status.success());
    let told = String::from_utf8_lossy(&failed.stderr);
    assert!(told.contains("found 0 lines, expected"), "{told}");
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

    let script =
        stand_in(out, "while [ \"$1\" != -o ]; do shift; done\nLC_ALL=C sort -u \"$3\" > \"$2\"");
    let text = run(&[&size[..], &["--coua", script.to_str().unwrap()]].concat(), out);
    assert!(text.contains("| sort -u"));
    check_report(out, &text, &[]);
    for line in json(out, "dedup-distinct-short-3000")["sheet"]["lines"].as_array().unwrap() {
        if line["name"] != "cat" {
            assert_eq!(line["verdict"]["lost"], 0);
            assert_eq!(line["verdict"]["left_over"], 0);
        }
    }
}
