//! `expected_wrongly_dropped`, compared with the records that are actually dropped.

use crate::support::{Folder, filter_of, json, run, run_with};
use coua::CuckooFilter;
use std::collections::HashSet;
use std::fs;

const RECORDS: u64 = 1_000_000;

fn different(lines: u64) -> Vec<u8> {
    (0..lines).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// All records differ: every repeat is wrong.
#[test]
fn expectation_is_near_the_truth_at_every_rate() {
    let lines = different(RECORDS);
    // The rates need as many bits for a million items.
    for (bits, rate, tolerance) in [
        (8, None, 0.01),
        (16, None, 0.1),
        (20, Some("0.96"), 0.02),
        (22, Some("0.24"), 0.02),
        (24, Some("0.06"), 0.05),
    ] {
        let folder = Folder::new();
        let filter = folder.join("f");
        filter_of(CuckooFilter::builder().hash_bits(bits), &filter);
        let dedup = run_with(&lines, ["dedup", "--filter", &filter, "--stats=json"]);
        let figures = json(&dedup.stderr);
        let repeats = figures["repeats"].as_f64().unwrap();
        let expected = figures["expected_wrongly_dropped"].as_f64().unwrap();
        assert!((expected / repeats - 1.0).abs() < tolerance, "{bits}: {expected} for {repeats}");
        let Some(rate) = rate else { continue };
        let plan = run(["plan", "--items", "1M", "--rate", rate, "--json"]).json();
        let planned = plan["expected_wrongly_dropped"].as_f64().unwrap();
        let dedup = ["dedup", "--capacity", "1M", "--rate", rate, "--stats=json"];
        let repeats = json(&run_with(&lines, dedup).stderr)["repeats"].as_f64().unwrap();
        assert!((planned / repeats - 1.0).abs() < tolerance, "{rate}: {planned} for {repeats}");
    }
}

#[test]
fn no_more_are_expected_than_were_dropped() {
    let dedup =
        run_with(&different(20), ["dedup", "--rate", "0.03", "--capacity", "100", "--stats=json"]);
    let figures = json(&dedup.stderr);
    assert_eq!(figures["repeats"].as_u64(), Some(0));
    assert_eq!(figures["expected_wrongly_dropped"].as_f64(), Some(0.0));
}

/// A filter planned for too few records mistakes nearly all of them for repeats.
#[test]
fn many_wrong_repeats_are_told_without_being_asked() {
    let folder = Folder::new();
    let filter = folder.join("coarse.coua");
    filter_of(CuckooFilter::builder().hash_bits(8), &filter);
    run_with(b"x\n", ["add", &filter]).good();
    let lines = different(10_000);
    let dedup = |args: &[&str]| run_with(&lines, [&["dedup", "--filter", &filter], args].concat());
    let first = dedup(&[]);
    let path = fs::canonicalize(&filter).unwrap();
    let message = format!(
        "coua: {}: about 9,745 of 9,745 repeats were probably new records, because the filter \
         remembers only 8 bits of every hash; use a lower --rate or a higher --capacity\n",
        path.display()
    );
    assert_eq!((first.code, first.stderr), (Some(0), message));
    assert_eq!(dedup(&["-q"]).stderr, "");
    let exact = run_with(&lines, ["dedup", "--filter", &folder.join("exact.coua")]);
    assert_eq!(exact.stderr, "");
}

/// A user who gives a rate knows it.
#[test]
fn a_rate_that_was_asked_for_is_no_surprise() {
    let lines = different(10_000);
    let asked = ["dedup", "--rate", "0.2", "--capacity", "10k"];
    let dedup = run_with(&lines, asked);
    assert!(dedup.good().len() < lines.len());
    let beyond = run_with(&different(500_000), asked);
    assert!(beyond.stderr.contains("were probably new records"), "{}", beyond.stderr);
    let (_, holds) = beyond.stderr.split_once("holds ").unwrap();
    assert!(
        holds.contains("more than its --capacity of 10,000; its false-positive rate is now 0.")
    );
}

/// Of the records that `dedup` did not print, each removal takes the hash of another record.
#[test]
fn removals_of_what_was_not_printed_are_told() {
    let folder = Folder::new();
    let filter = folder.join("seen");
    let records = different(100_000);
    let dedup = ["dedup", "--filter", &filter, "--rate", "0.01", "--capacity", "100k"];
    let printed = run_with(&records, dedup).good();
    let printed: HashSet<&[u8]> = printed.split(|byte| *byte == b'\n').collect();
    let (odd, even): (Vec<_>, Vec<_>) =
        (0..100_000).map(|n| n.to_string()).partition(|n| n.parse::<u64>().unwrap() % 2 == 1);
    let wrong = odd.iter().filter(|record| !printed.contains(record.as_bytes())).count() as f64;
    let removed = run_with(odd.join("\n").as_bytes(), ["remove", "--stats=json", &filter]);
    let expected = json(&removed.stderr)["expected_wrongly_removed"].as_f64().unwrap();
    assert!((expected / wrong - 1.0).abs() < 0.3, "{expected} for {wrong}");
    // Records that were never added: each that is found is wrong.
    let absent: Vec<_> = (1_000_000..1_010_000).map(|n| format!("{n}\n")).collect();
    let absent = absent.concat();
    let run = run_with(absent.as_bytes(), ["remove", "--stats=json", &filter]);
    let figures = json(&run.stderr);
    let [found, expected] =
        ["removed", "expected_wrongly_removed"].map(|name| figures[name].as_f64().unwrap());
    assert!(found > 10.0 && (expected / found - 1.0).abs() < 0.5, "{expected} for {found}");
    let told = run_with(even.join("\n").as_bytes(), ["remove", &filter]).stderr;
    assert!(told.contains("may have removed another record with the same hash"), "{told}");
}

/// A filter that remembers whole hashes has nothing to tell.
#[test]
fn removals_of_exact_filters_are_not_told() {
    let folder = Folder::new();
    let filter = folder.join("seen");
    run_with(&different(100_000), ["dedup", "--filter", &filter]).good();
    let removed = run_with(&different(100_000), ["remove", &filter]);
    assert_eq!(removed.stderr, "");
}
