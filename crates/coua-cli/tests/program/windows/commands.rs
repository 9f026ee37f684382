//! The other commands on filters with a window.

use super::{dedup, hours, info, made};
use crate::support::{Folder, run_in, run_with};

#[test]
fn info_tells_the_generations() {
    let folder = Folder::new();
    made(&folder, hours(2, 2));
    dedup(&folder, "a\n", &["--window", "2h", "COUA_NOW", "7200"]).good();
    dedup(&folder, "b\nc\n", &["COUA_NOW", "10800"]).good();
    let info = info(&folder, &["COUA_NOW", "10801"]);
    let window = serde_json::json!({
        "clock": "arrival", "length": 7_200_000, "generation_length": 3_600_000,
        "generations": 2, "by": "first", "present": 10_800_000,
    });
    assert_eq!(info["window"], window);
    let of = |field: &str| -> Vec<u64> {
        let generations = info["generations"].as_array().unwrap().iter();
        generations.map(|generation| generation[field].as_u64().unwrap()).collect()
    };
    assert_eq!((of("number"), of("items")), (vec![2, 3], vec![1, 2]));
    assert_eq!(
        (of("from"), of("until")),
        (vec![7_200_000, 10_800_000], vec![10_800_000, 14_400_000])
    );
    let text = run_in(&folder, &["info", "f.coua", "COUA_NOW", "10801"]).text();
    assert!(text.contains("2h in 2 generations"), "{text}");
    assert!(text.contains("1970-01-01T02:00:00Z to 1970-01-01T03:00:00Z"), "{text}");
    // Filters without a window have neither.
    run_with(b"a\n", ["add", &folder.join("plain.coua")]).good();
    let plain = run_in(&folder, &["info", "--json", "plain.coua"]).text();
    assert!(!plain.contains("window\"") && !plain.contains("generations"), "{plain}");
}

#[test]
fn a_filter_that_has_forgotten_all_is_empty_and_not_less() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "1h", "COUA_NOW", "0"]).good();
    let args = ["info", "f.coua", "COUA_NOW", "9000"];
    let text = run_in(&folder, &args).text();
    assert!(text.contains(" 0.0 %") && !text.contains("-0.0"), "{text}");
    let text = run_in(&folder, &[&args[..], &["--json"]].concat()).text();
    assert!(!text.contains("-0.0"), "{text}");
}

#[test]
fn compacting_forgets_what_is_old() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "1h", "COUA_NOW", "0"]).good();
    dedup(&folder, "b\n", &["COUA_NOW", "3000"]).good();
    let size = folder.read("f.coua").len();
    run_in(&folder, &["compact", "f.coua", "COUA_NOW", "5000"]).text();
    assert_eq!(info(&folder, &["COUA_NOW", "0"])["items"], 1);
    assert!(folder.read("f.coua").len() < size);
}

#[test]
fn marks_can_be_taken_back() {
    let folder = Folder::new();
    dedup(&folder, "a\nb\n", &["--window", "1h", "COUA_NOW", "0"]).good();
    dedup(&folder, "c\n", &["COUA_NOW", "1800"]).good();
    let filter = folder.join("f.coua");
    run_with(b"c\na\na\nx\n", ["remove", &filter, "COUA_NOW", "1801"]).good();
    assert_eq!(dedup(&folder, "a\nb\nc\n", &["COUA_NOW", "1802"]).text(), "a\nc\n");
}

#[test]
fn other_commands_know_windows() {
    let folder = Folder::new();
    for (name, text) in
        [("one.coua", "1767250000 a\n1767251800 b\n"), ("two.coua", "1767252000 c\n1767251800 b\n")]
    {
        run_with(
            text.as_bytes(),
            ["add", &folder.join(name), "--window", "1h", "--time-field", "1", "-k2"],
        )
        .good();
    }
    run_in(&folder, &["merge", "-o", "f.coua", "one.coua", "two.coua"]).good();
    let counts = run_with(b"a\nb\nc\nd\n", ["count", &folder.join("f.coua")]).text();
    assert_eq!(counts, "1\ta\n2\tb\n1\tc\n0\td\n");
    assert_eq!(info(&folder, &[])["window"]["clock"], "time-field");
    let verified = run_in(&folder, &["verify", "f.coua"]).text();
    assert!(verified.starts_with("f.coua: intact, 4 items, "), "{verified}");
    run_in(&folder, &["compact", "f.coua"]).good();
    assert_eq!(run_with(b"a\nb\nc\nd\n", ["count", &folder.join("f.coua")]).text(), counts);
    let refused = run_in(&folder, &["convert", "f.coua", "-o", "g.coua", "--rate", "0.1"]);
    refused.failed(2, "coua: f.coua: has a window; only filters without one can be converted\n");
    run_with(b"a\n", ["add", &folder.join("plain.coua")]).good();
    let refused = run_in(&folder, &["merge", "-o", "g.coua", "f.coua", "plain.coua"]);
    assert!(
        refused.stderr.contains("plain.coua: cannot merge filters with different windows"),
        "{}",
        refused.stderr
    );
    assert!(!folder.has("g.coua"));
    // Damage is detected.
    let mut bytes = folder.read("f.coua");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.file("f.coua", bytes);
    let verified = run_in(&folder, &["verify", "f.coua"]);
    assert_eq!(verified.code, Some(2));
    assert!(verified.stderr.contains("f.coua: filter is damaged"), "{}", verified.stderr);
}
