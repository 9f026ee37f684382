//! `expected_wrongly_dropped` against the records that are really dropped.

use crate::support::{json, run, run_with};

const RECORDS: u64 = 1_000_000;

fn different(lines: u64) -> Vec<u8> {
    (0..lines).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// Only different records: all repeats are wrong.
#[test]
fn expectation_is_near_the_truth_at_every_rate() {
    let lines = different(RECORDS);
    for (bits, tolerance) in [("8", 0.01), ("16", 0.1), ("20", 0.02), ("22", 0.02), ("24", 0.05)] {
        let dedup = run_with(&lines, ["dedup", "--hash-bits", bits, "--stats=json"]);
        let figures = json(&dedup.stderr);
        let repeats = figures["repeats"].as_f64().unwrap();
        let expected = figures["expected_wrongly_dropped"].as_f64().unwrap();
        assert!((expected / repeats - 1.0).abs() < tolerance, "{bits}: {expected} for {repeats}");
        let plan = run(["plan", "--items", "1M", "--hash-bits", bits, "--json"]).json();
        let planned = plan["expected_wrongly_dropped"].as_f64().unwrap();
        assert!((planned / repeats - 1.0).abs() < tolerance, "{bits}: {planned} for {repeats}");
    }
}

#[test]
fn no_more_are_expected_than_were_dropped() {
    let dedup = run_with(&different(20), ["dedup", "--hash-bits", "12", "--stats=json"]);
    let figures = json(&dedup.stderr);
    assert_eq!(figures["repeats"].as_u64(), Some(0));
    assert_eq!(figures["expected_wrongly_dropped"].as_f64(), Some(0.0));
}
