//! Windows by the records' own times: their place, their format, and invalid ones.

use super::dedup;
use crate::support::{Folder, json, run_with};

const EVENTS: &str = "\
    2026-01-01T10:00:00Z,a\n\
    2026-01-01T10:50:00Z,b\n\
    2026-01-01T10:20:00Z,c\n\
    2026-01-01T11:15:00Z,a\n\
    2026-01-01T10:16:00Z,d\n\
    2026-01-01T11:16:00Z,d\n\
    2026-01-01T11:30:00Z,c\n\
    2026-01-01T11:45:00Z,c\n";

/// Here, `a` repeats after 75 minutes; `d`, out of order, after an hour; `c` after 70 minutes, and then after 15 more.
/// The window is an hour in eight parts.
const FRESH: &str = "\
    2026-01-01T10:00:00Z,a\n\
    2026-01-01T10:50:00Z,b\n\
    2026-01-01T10:20:00Z,c\n\
    2026-01-01T11:15:00Z,a\n\
    2026-01-01T10:16:00Z,d\n\
    2026-01-01T11:30:00Z,c\n";

#[test]
fn the_records_own_times() {
    let window = ["dedup", "--window", "1h"];
    let by = |text: &str, options: &[&str]| {
        run_with(text.as_bytes(), [&window, options].concat()).text()
    };
    assert_eq!(by(EVENTS, &["-k2", "-t,", "--time-field", "1"]), FRESH);
    assert_eq!(by(EVENTS, &["--csv", "2", "--time-field", "1"]), FRESH);
    let headed = |text: &str| format!("when,what\n{text}");
    assert_eq!(by(&headed(EVENTS), &["--csv", "what", "--time-field", "when"]), headed(FRESH));
    let each = |text: &str, row: fn(&str, &str) -> String| -> String {
        text.lines()
            .map(|line| line.split_once(',').unwrap())
            .map(|(time, key)| row(time, key))
            .collect()
    };
    let json =
        |time: &str, key: &str| format!("{{\"at\":{{\"t\":\"{time}\"}},\"id\":\"{key}\"}}\n");
    assert_eq!(
        by(&each(EVENTS, json), &["--json", "/id", "--time-field", "/at/t"]),
        each(FRESH, json)
    );
    // Date and time as two fields; a format with names; the key after a regular expression.
    let two = |time: &str, key: &str| format!("{key} {}\n", time.replace(['T', 'Z'], " "));
    assert_eq!(by(&each(EVENTS, two), &["-k1", "--time-field", "2,3"]), each(FRESH, two));
    let named = |time: &str, key: &str| format!("[{} Jan 26 +0100] {key}\n", &time[11..19]);
    let without_day = ["--time-field", "1-4", "--time-format", "[%H:%M:%S %b %y %z]", "-k5"];
    let run = run_with(each(EVENTS, named).as_bytes(), [&window[..], &without_day].concat());
    assert!(run.stderr.contains("a time format needs a month and a day"), "{}", run.stderr);
    let dated = |time: &str, key: &str| format!("[{} 1 Jan 26 +0100] {key}\n", &time[11..19]);
    let day =
        ["--time-field", "1-5", "--time-format", "[%H:%M:%S %d %b %y %z]", "--regex", "\\] (.)"];
    assert_eq!(by(&each(EVENTS, dated), &day), each(FRESH, dated));
}

#[test]
fn times_that_cannot_be() {
    let good = "1767261600 a\n1767261660 b\n1767261600 a\n";
    let bad = "1767261600 x\n9999-01-01T00:00:00Z y\nsoon z\n1969-01-01T00:00:00Z u\nv\n1767261660 b\n1767261600 a\n";
    let text = format!("{good}{bad}");
    let with = |on_missing: &str| {
        let options =
            ["dedup", "--window", "1h", "-k2", "--time-field", "1", "--missing", on_missing];
        run_with(text.as_bytes(), options)
    };
    let keep = with("keep");
    assert_eq!(
        keep.text(),
        "1767261600 a\n1767261660 b\n1767261600 x\n9999-01-01T00:00:00Z y\nsoon z\n1969-01-01T00:00:00Z u\nv\n"
    );
    assert!(
        with("keep").stderr.starts_with(
            "coua: 4 records without a usable time passed through \
                                             (first: standard input: record 5: its time \
                                             \"9999-01-01T00:00:00Z\" is in the future"
        ),
        "{}",
        with("keep").stderr
    );
    assert_eq!(with("drop").text(), "1767261600 a\n1767261660 b\n1767261600 x\n");
    let error = with("error");
    assert_eq!(
        (error.code, error.stdout.as_slice()),
        (Some(2), &b"1767261600 a\n1767261660 b\n1767261600 x\n"[..])
    );
    assert!(
        error.stderr.contains("record 5: its time \"9999-01-01T00:00:00Z\" is in the future"),
        "{}",
        error.stderr
    );
}

/// Clocks differ: a time up to one generation ahead of the present is accepted, more is not.
#[test]
fn times_a_little_ahead() {
    let text = "2026-01-01T10:15:00Z a\n2026-01-01T10:15:01Z b\n";
    let options = [
        "dedup",
        "--window",
        "2h",
        "-k2",
        "--time-field",
        "1",
        "--missing",
        "drop",
        "COUA_NOW",
        "2026-01-01T10:00:00Z",
    ];
    assert_eq!(run_with(text.as_bytes(), options).text(), "2026-01-01T10:15:00Z a\n");
}

#[test]
fn records_older_than_the_window_pass_and_are_not_remembered() {
    let folder = Folder::new();
    let text = "1767261600 a\n1767250000 b\n1767250000 b\n1767250000 a\n";
    let options = ["--window", "1h", "-k2", "--time-field", "1", "--stats=json"];
    let run = dedup(&folder, text, &options);
    assert_eq!(run.stdout, text.as_bytes(), "even if a younger one is known");
    assert!(
        run.stderr
            .contains("which has come to 2026-01-01T10:00:00Z, so not remembered: 3 records\n"),
        "{}",
        run.stderr
    );
    let stats = json(run.stderr.lines().last().unwrap());
    assert_eq!((&stats["outdated"], &stats["items"]), (&3.into(), &1.into()));
    assert_eq!((&stats["generations"], &stats["forgotten"]), (&1.into(), &0.into()));
}

/// Records `TIME KEY` with times in hours.
fn hours(records: &[(u64, &str)]) -> String {
    records
        .iter()
        .map(|(hour, key)| format!("{} {key}\n", 1_500_000_000 + hour * 3600))
        .collect::<Vec<_>>()
        .concat()
}

const BY_HOUR: [&str; 4] = ["--window", "4h", "-k2", "--time-field=1"];

/// The borders of blocks and the number of threads make no difference.
#[test]
fn jumps_anywhere() {
    let mut hour = 0;
    let records: Vec<_> = (0..40_000_u64)
        .map(|n| {
            let random = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            hour += if random.is_multiple_of(997) { 50 } else { random % 2 };
            let ahead = if random.is_multiple_of(499) { 70 } else { 0 };
            (hour + ahead, (random % 50).to_string())
        })
        .collect();
    let mut clock: Option<u64> = None;
    let mut seen: Vec<(String, u64)> = Vec::new();
    let mut expected = Vec::new();
    for (hour, key) in &records {
        // Windows of 8 hours with generations of one hour.
        let now = clock.map_or(*hour, |clock| clock.max(*hour));
        clock = Some(now);
        seen.retain(|(_, time)| now - time < 9);
        let is_old = now - hour >= 9;
        if is_old || !seen.iter().any(|(known, _)| known == key) {
            expected.push((*hour, key.as_str()));
            if !is_old {
                seen.push((key.clone(), *hour));
            }
        }
    }
    let text = hours(&records.iter().map(|(hour, key)| (*hour, key.as_str())).collect::<Vec<_>>());
    let expected = hours(&expected);
    let options = BY_HOUR.map(|word| if word == "4h" { "8h" } else { word });
    for threads in ["1", "2", "5"] {
        let options = [&["-j", threads], &options[..]].concat();
        let in_memory = run_with(text.as_bytes(), [&["dedup"], &options[..]].concat()).text();
        assert!(in_memory == expected, "{threads}");
        assert!(dedup(&Folder::new(), &text, &options).text() == expected, "{threads}");
    }
}
