//! The plan of a filter with a window.

use super::info;
use crate::support::{Folder, run, run_with};
use serde_json::Value;

fn plan(options: &[&str]) -> Value {
    run([&["plan", "--json"], options].concat()).json()
}

#[track_caller]
fn within_two_percent(real: &Value, planned: &Value) {
    let ratio = real.as_f64().unwrap() / planned.as_f64().unwrap();
    assert!((0.98..1.02).contains(&ratio), "{real} and {planned}");
}

/// With full generations, and a new one begun, it has the planned items and memory.
#[test]
fn a_filter_takes_what_was_planned() {
    for rate in [&[][..], &["--rate", "0.001"], &["--rate", "0.1"]] {
        let options = [&["--window", "600k-items"], rate].concat();
        let planned = plan(&options);
        let (folder, step) = (Folder::new(), planned["window"]["generation_items"].as_u64());
        let count = 2 * 600_000 + step.unwrap() - 1;
        let numbers: Vec<String> = (0..count).map(|n| format!("{n}\n")).collect();
        let filter = folder.join("f.coua");
        let add = [&["add", &filter, "--capacity", "600k"], &options[..]].concat();
        run_with(numbers.concat().as_bytes(), add).good();
        let real = info(&folder, &[]);
        assert_eq!(
            real["generations"].as_array().unwrap().len() as u64,
            planned["window"]["alive"]
        );
        assert_eq!(real["capacity"], planned["items"]);
        assert_eq!(real["items"].as_u64().unwrap(), planned["items"].as_u64().unwrap() - 1);
        for figure in ["slots", "slot_bits", "hash_bits"] {
            within_two_percent(&real[figure], &planned[figure]);
        }
        within_two_percent(&real["memory_bytes"], &planned["bytes"]);
        within_two_percent(&real["rate_at_capacity"], &planned["rate"]);
    }
}

#[test]
fn the_items_of_a_time_are_shared() {
    let planned = plan(&["--window", "8h", "--items", "900k", "--rate", "0.001"]);
    let rows =
        (0..900_000_u64).map(|n| format!("{} {n}\n", 1_767_225_600 + n * 9 * 3600 / 900_000));
    let folder = Folder::new();
    let filter = folder.join("f.coua");
    let timed = ["--window", "8h", "--time-field", "1", "-k2"];
    let sized = ["--capacity", "900k", "--rate", "0.001"];
    let add = [&["add", &filter], &timed[..], &sized].concat();
    run_with(rows.collect::<Vec<_>>().concat().as_bytes(), add).good();
    let real = info(&folder, &[]);
    assert_eq!(real["items"], 900_000);
    within_two_percent(&real["memory_bytes"], &planned["bytes"]);
    within_two_percent(&real["rate_at_capacity"], &planned["rate"]);
}

#[test]
fn memory_gives_the_rate_or_the_items() {
    let rate = plan(&["--window", "1M-items", "--memory", "4MB"]);
    assert_eq!(rate["items"], 1_125_000);
    assert!((3_600_000..=4_000_000).contains(&rate["bytes"].as_u64().unwrap()), "{rate}");
    let items = plan(&["--window", "7d", "--rate", "0.1%", "--memory", "4MB"]);
    assert!((3_900_000..=4_000_000).contains(&items["bytes"].as_u64().unwrap()), "{items}");
    assert!(items["rate"].as_f64().unwrap() <= 0.001);
    let table = run(["plan", "--window", "7d", "--items", "1M"]).text();
    assert!(table.contains("9, each ") && table.contains("for 125,000 items"), "{table}");
    assert!(plan(&["--items", "1M"])["window"].is_null());
}

#[test]
fn windows_that_cannot_be_planned() {
    for (options, message) in [
        (&["--window", "3-items"][..], "--window: a window of length 3 cannot be divided"),
        (&["--window", "1h"], "plan: needs --items or --memory"),
        (&["--window", "9-items", "--items", "9"], "cannot be used with"),
        (&["--window", "9-items", "--window", "1h"], "cannot be used multiple times"),
        (
            &["--window", "9-items", "--rate", "0.1", "--memory", "1G"],
            "cannot all be given; drop one",
        ),
        (&["--window", "5M-items", "--memory", "1MB"], "no filter of 1.0 MB holds 5,625,000 items"),
    ] {
        let run = run([&["plan"], options].concat());
        assert_eq!(run.code, Some(2), "{options:?}");
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
    }
}
