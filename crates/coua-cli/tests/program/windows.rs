//! Filters that forget: by arrival, by the records' own times, by number.

use crate::support::{Folder, Repeats, Run, coua, expected, lines, run, run_in, run_with};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

/// Runs `dedup` with the filter `f.coua` and the records `text`.
fn dedup(folder: &Folder, text: &str, options: &[&str]) -> Run {
    let filter = folder.join("f.coua");
    run_with(text.as_bytes(), [&["dedup", "--filter", &filter], options].concat())
}

fn info(folder: &Folder, options: &[&str]) -> serde_json::Value {
    let text = run_in(folder, &[&["info", "--json", "f.coua"], options].concat()).text();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_is_old_is_new_again() {
    let folder = Folder::new();
    let at = |now: &str, text: &str| {
        dedup(&folder, text, &["--window", "7d", "--generations", "7", "--now", now]).text()
    };
    assert_eq!(at("2026-01-01T12:00:00Z", "a\nb\na\n"), "a\nb\n");
    assert_eq!(at("2026-01-04T00:00:00Z", "b\nc\n"), "c\n");
    // Not before a week has passed, and repeats do not make it younger.
    assert_eq!(at("2026-01-08T11:59:59Z", "a\nb\nc\n"), "");
    // At the latest a day after that.
    assert_eq!(at("2026-01-09T12:00:00Z", "a\nb\nc\n"), "a\nb\n");
    assert_eq!(at("2026-01-30T00:00:00Z", "a\nb\nc\n"), "a\nb\nc\n");
}

#[test]
fn opening_forgets() {
    let folder = Folder::new();
    let early = ["--window", "1h", "--generations", "2", "--now", "2026-01-01T00:00:00Z"];
    dedup(&folder, "a\nb\n", &early).good();
    assert_eq!(info(&folder, &["--now", "2026-01-01T01:00:00Z"])["items"], 2);
    assert_eq!(info(&folder, &["--now", "2026-01-01T01:30:00Z"])["items"], 0);
    assert_eq!(info(&folder, &[])["items"], 0, "long ago, by the system's clock");
    for command in ["check", "count"] {
        let asked = |now: &str| run_with(b"a\n", [command, &folder.join("f.coua"), "--now", now]);
        let (there, gone) = if command == "check" { ("a\n", "") } else { ("1\ta\n", "0\ta\n") };
        assert_eq!(String::from_utf8(asked("2026-01-01T01:29:59Z").stdout).unwrap(), there);
        assert_eq!(String::from_utf8(asked("2026-01-01T01:30:00Z").stdout).unwrap(), gone);
    }
    // Asking has changed nothing; writing does, also without records.
    assert_eq!(info(&folder, &["--now", "2026-01-01T01:00:00Z"])["items"], 2);
    dedup(&folder, "", &["--now", "2026-01-01T01:30:00Z"]).good();
    let later = info(&folder, &["--now", "2026-01-01T01:00:00Z"]);
    assert_eq!(
        (&later["items"], &later["window"]["present"]),
        (&0.into(), &1_767_231_000_000_u64.into())
    );
}

/// Two months of days, each a run of its own: nothing is forgotten early, all of it in time.
#[test]
fn day_by_day() {
    const WEEK: u64 = 7;
    let folder = Folder::new();
    let window = ["--window", "7d", "--generations", "7"];
    let mut printed_on = std::collections::HashMap::new();
    for day in 0..60 {
        // Some of every day, some of the last weeks, some once.
        let items = (0..40_u64).map(|n| match n % 4 {
            0 => n,
            1 => 1_000 * (day - day * n % 17 % (day + 1)) + 2,
            2 => 1_000 * (day / n) + n,
            _ => 1_000 * day + n,
        });
        let items: Vec<u64> = items.collect();
        let text: Vec<String> = items.iter().map(|item| format!("{item}\n")).collect();
        let now = (20_000 + day) * 86_400 + 1_000 * (day % 80);
        let now = now.to_string();
        let printed =
            dedup(&folder, &text.concat(), &[&window[..], &["--now", &now]].concat()).text();
        let printed: Vec<u64> = printed.lines().map(|line| line.parse().unwrap()).collect();
        for item in &items {
            let is_printed = printed.contains(item);
            match printed_on.get(item).map(|on| day - on) {
                None => assert!(is_printed, "day {day}: {item} is new"),
                Some(age) if age < WEEK => {
                    assert!(!is_printed || age == 0, "day {day}: {item}, {age} days");
                }
                Some(age) if age > WEEK => assert!(is_printed, "day {day}: {item}, {age} days"),
                Some(_) => {}
            }
            if is_printed {
                printed_on.insert(*item, day);
            }
        }
        let once: std::collections::HashSet<_> = printed.iter().collect();
        assert_eq!(once.len(), printed.len(), "day {day}: each once");
    }
}

#[test]
fn info_tells_the_generations() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "2h", "--generations", "2", "--now", "7200"]).good();
    dedup(&folder, "b\nc\n", &["--now", "10800"]).good();
    let info = info(&folder, &["--now", "10801"]);
    let window = serde_json::json!({
        "clock": "arrival", "length": 7_200_000, "generation_length": 3_600_000,
        "generations": 2, "present": 10_800_000,
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
    let text = run_in(&folder, &["info", "f.coua", "--now", "10801"]).text();
    assert!(text.contains("2h in 2 generations"), "{text}");
    assert!(text.contains("1970-01-01T02:00:00Z to 1970-01-01T03:00:00Z"), "{text}");
    // Others have neither.
    run_with(b"a\n", ["add", &folder.join("plain.coua")]).good();
    let plain = run_in(&folder, &["info", "--json", "plain.coua"]).text();
    assert!(!plain.contains("window\"") && !plain.contains("generations"), "{plain}");
}

#[test]
fn time_that_goes_back() {
    let folder = Folder::new();
    let window = ["--window", "1h", "--now", "2026-01-01T12:00:00Z"];
    dedup(&folder, "a\n", &window).good();
    // A little: the filter's clock waits.
    assert_eq!(dedup(&folder, "a\nb\n", &["--now", "2026-01-01T11:10:00Z"]).text(), "b\n");
    assert_eq!(
        info(&folder, &["--now", "2026-01-01T11:10:00Z"])["window"]["present"],
        1_767_268_800_000_u64
    );
    // More than a window: nobody knows which clock was wrong.
    let before = folder.read("f.coua");
    let late = dedup(&folder, "c\n", &["--now", "2026-01-01T10:00:00Z"]);
    assert_eq!((late.code, late.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(
        late.stderr.contains(
            "f.coua: was written at 2026-01-01T12:00:00Z, but now it is 2026-01-01T10:00:00Z"
        ),
        "{}",
        late.stderr
    );
    assert!(folder.read("f.coua") == before);
    let removal =
        run_with(b"a\n", ["remove", &folder.join("f.coua"), "--now", "2026-01-01T10:00:00Z"]);
    assert_eq!(removal.code, Some(2));
}

const EVENTS: &str = "\
    2026-01-01T10:00:00Z,a\n\
    2026-01-01T10:50:00Z,b\n\
    2026-01-01T10:20:00Z,c\n\
    2026-01-01T11:15:00Z,a\n\
    2026-01-01T10:16:00Z,d\n\
    2026-01-01T11:16:00Z,d\n\
    2026-01-01T11:30:00Z,c\n\
    2026-01-01T11:45:00Z,c\n";

/// In these, `a` comes again after 75 minutes; `d`, out of order, after an hour; `c` after 70 minutes, and
/// then after 15 more. The window is an hour in four parts.
const FRESH: &str = "\
    2026-01-01T10:00:00Z,a\n\
    2026-01-01T10:50:00Z,b\n\
    2026-01-01T10:20:00Z,c\n\
    2026-01-01T11:15:00Z,a\n\
    2026-01-01T10:16:00Z,d\n\
    2026-01-01T11:30:00Z,c\n";

#[test]
fn the_records_own_times() {
    let window = ["dedup", "--window", "1h", "--generations", "4"];
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
    // Date and time as two fields; a format with names; the key behind a regular expression.
    let two = |time: &str, key: &str| format!("{key} {}\n", time.replace(['T', 'Z'], " "));
    assert_eq!(by(&each(EVENTS, two), &["-k1", "--time-field", "2,3"]), each(FRESH, two));
    let named = |time: &str, key: &str| format!("[{} Jan 26 +0100] {key}\n", &time[11..19]);
    let without_day = ["--time-field", "1-4", "--time-format", "[%H:%M:%S %b %y %z]", "-k5"];
    let run = run_with(each(EVENTS, named).as_bytes(), [&window[..], &without_day].concat());
    assert!(run.stderr.contains("8 records without a key"), "{}", run.stderr);
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
            ["dedup", "--window", "1h", "-k2", "--time-field", "1", "--on-missing", on_missing];
        run_with(text.as_bytes(), options)
    };
    let keep = with("keep");
    assert_eq!(
        keep.text(),
        "1767261600 a\n1767261660 b\n1767261600 x\n9999-01-01T00:00:00Z y\nsoon z\n1969-01-01T00:00:00Z u\nv\n"
    );
    assert!(with("keep").stderr.starts_with("coua: 4 records without a key were let pass: first standard input: record 5: its time \"9999-01-01T00:00:00Z\" has not come yet"), "{}", with("keep").stderr);
    assert_eq!(with("drop").text(), "1767261600 a\n1767261660 b\n1767261600 x\n");
    let error = with("error");
    assert_eq!(
        (error.code, error.stdout.as_slice()),
        (Some(2), &b"1767261600 a\n1767261660 b\n1767261600 x\n"[..])
    );
    assert!(
        error.stderr.contains("record 5: its time \"9999-01-01T00:00:00Z\" has not come yet"),
        "{}",
        error.stderr
    );
}

/// Clocks differ: a generation ahead of the present is believed, more is not.
#[test]
fn times_a_little_ahead() {
    let text = "2026-01-01T10:15:00Z a\n2026-01-01T10:15:01Z b\n";
    let options = [
        "dedup",
        "--window",
        "1h",
        "--generations",
        "4",
        "-k2",
        "--time-field",
        "1",
        "--on-missing",
        "drop",
        "--now",
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
    assert_eq!(run.stdout, b"1767261600 a\n1767250000 b\n1767250000 b\n");
    assert!(run.stderr.contains("coua: 2 records were older than the window"), "{}", run.stderr);
    let stats: serde_json::Value =
        serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&stats["outdated"], &stats["items"]), (&2.into(), &1.into()));
    assert_eq!((&stats["generations"], &stats["forgotten"]), (&1.into(), &0.into()));
}

#[test]
fn the_last_items() {
    let numbers =
        |from: u32, to: u32| (from..to).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
    let folder = Folder::new();
    let window = ["--window-items", "100", "--generations", "10", "--rate", "0.001"];
    assert_eq!(dedup(&folder, &numbers(0, 150), &window).text(), numbers(0, 150));
    assert_eq!(dedup(&folder, &numbers(50, 150), &[]).text(), "", "the last hundred");
    let again = dedup(&folder, &numbers(0, 40), &window).text();
    assert_eq!(again, numbers(0, 40), "not those before, but for a generation");
    let info = info(&folder, &[]);
    assert_eq!(
        (&info["window"]["clock"], &info["window"]["present"]),
        (&"items".into(), &190.into())
    );
    assert!(info["items"].as_u64().unwrap() <= 110);
    let run = dedup(&folder, "", &["--stats=json"]);
    let stats: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    let rate = stats["items"].as_f64().unwrap() / stats["hash_bits"].as_f64().unwrap().exp2();
    assert!((stats["false_positive_rate"].as_f64().unwrap() - rate).abs() < 1e-9);
    assert_eq!(stats["rate_at_max_items"], info["rate_at_max_items"]);
    // The rate holds for all that can be in the generations together.
    assert_eq!(info["max_items"], 110);
    assert!(info["rate_at_max_items"].as_f64().unwrap() <= 0.001);
}

#[test]
fn threads_change_nothing() {
    let text = lines(60_000, Repeats::Many);
    let timed: String = String::from_utf8_lossy(&text)
        .lines()
        .enumerate()
        .map(|(n, line)| format!("{} {line}\n", 1_780_000_000 + n / 100 - n * 31 % 60))
        .collect::<Vec<_>>()
        .concat();
    for options in [
        &["--window", "5m", "-k2", "--time-field", "1"][..],
        &["--window-items", "3000", "-k2"],
        &["--window", "5m", "-k2", "--now", "1780000000"],
    ] {
        let results: Vec<_> = ["1", "2", "3", "5"]
            .iter()
            .map(|threads| {
                let folder = Folder::new();
                let run = dedup(&folder, &timed, &[options, &["-j", threads]].concat());
                (run.good(), folder.read("f.coua"))
            })
            .collect();
        assert!(results.windows(2).all(|two| two[0] == two[1]), "{options:?}");
        let in_memory = run_with(timed.as_bytes(), [&["dedup"], options].concat()).good();
        assert!(in_memory == results[0].0, "{options:?}: a file changes nothing");
    }
    let all = run_with(&text, ["dedup", "--window", "7d"]).good();
    assert!(all == expected(&text), "nothing is forgotten in so short a time");
}

#[test]
fn options_must_agree_with_the_filter() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "1h", "--now", "0"]).good();
    let refused = |options: &[&str]| {
        let run = dedup(&folder, "a\n", &[options, &["--now", "0"]].concat());
        assert_eq!(run.code, Some(2), "{options:?}");
        run.stderr
    };
    for options in
        [&["--window", "2h"][..], &["--generations", "9"], &["--window-items", "3600000"]]
    {
        let message = refused(options);
        assert!(message.contains("its window is 1h in 8 generations, not what"), "{message}");
    }
    assert!(refused(&["--time-field", "1"]).contains("leave --time-field out"));
    dedup(&folder, "a\n", &["--window", "60m", "--generations", "8", "--now", "0"]).good();
    run_with(
        b"0 a\n",
        ["add", &folder.join("t.coua"), "--window", "1h", "--time-field", "1", "-k2"],
    )
    .good();
    let message = run_with(b"a\n", ["add", &folder.join("t.coua")]).stderr;
    assert!(message.contains("say by --time-field where they are"), "{message}");
    run_with(b"a\n", ["add", &folder.join("p.coua")]).good();
    let message = run_with(b"a\n", ["add", &folder.join("p.coua"), "--window", "1h"]).stderr;
    assert!(message.contains("never forgets"), "{message}");
}

#[test]
fn windows_that_cannot_be() {
    for (options, message) in [
        (&["--window", "0s"][..], "is not a length of time such as 7d"),
        (&["--window", "1 month"], "is not a length of time"),
        (&["--window", "5ms"], "--window: a window of length 5 cannot be cut into 8 generations"),
        (&["--window-items", "5"], "--window-items: a window of length 5 cannot be cut"),
        (&["--window", "7d", "--generations", "0"], "0 generations is not possible: 1 to 1000 are"),
        (&["--window", "7d", "--generations", "1001"], "1001 generations is not possible"),
        (&["--window", "7d", "--window-items", "9"], "cannot be used with"),
        (&["--generations", "9"], "--generations: has a meaning only with --window"),
        (&["--time-field", "1"], "--time-field: has a meaning only with --window"),
        (&["--window-items", "9", "--time-field", "1"], "has no meaning with --window-items"),
        (&["--window", "1h", "--time-field", "x"], "--time-field x: is neither a list of fields"),
        (&["--window", "1h", "--time-field", "0"], "--time-field 0: is neither a list of fields"),
        (&["--window", "1h", "--time-field", "1", "--time-format", "iso"], "is none of rfc3339"),
        (&["--window", "1h", "--time-format", "seconds"], "required"),
        (&["--window", "1h", "--now", "today"], "is not a time such as"),
        (&["--window", "1h", "--rate", "0.1"], "--rate: needs the number of items"),
    ] {
        let run = run_with(b"a\n", [&["dedup"], options].concat());
        assert_eq!((run.code, run.stdout.as_slice()), (Some(2), &b""[..]), "{options:?}");
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
    }
}

/// What is asked for is divided among the generations; the rate is not.
#[test]
fn capacity_is_shared() {
    let folder = Folder::new();
    let asked = ["--window", "8h", "--capacity", "800000", "--rate", "0.001", "--now", "0"];
    dedup(&folder, "a\n", &asked).good();
    let one = info(&folder, &["--now", "0"]);
    let capacity = one["capacity"].as_u64().unwrap();
    assert!((100_000..150_000).contains(&capacity), "{capacity}");
    assert_eq!(one["max_items"], 800_000);
    assert!(one["rate_at_max_items"].as_f64().unwrap() <= 0.001);
}

#[test]
fn compacting_forgets_what_is_old() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "1h", "--now", "0"]).good();
    dedup(&folder, "b\n", &["--now", "3000"]).good();
    let size = folder.read("f.coua").len();
    run_in(&folder, &["compact", "f.coua", "--now", "5000"]).text();
    assert_eq!(info(&folder, &["--now", "0"])["items"], 1);
    assert!(folder.read("f.coua").len() < size);
}

#[test]
fn a_full_window_has_room_again() {
    let folder = Folder::new();
    let options = |now| {
        ["--window", "1h", "--generations", "4", "--rate", "0.01", "--max-items", "4", "--now", now]
    };
    let full = dedup(&folder, "a\nb\na\nc\nd\ne\nf\n", &options("0"));
    assert_eq!((full.code, full.stdout.as_slice()), (Some(3), &b"a\nb\nc\nd\n"[..]));
    assert!(full.stderr.contains("holds 4 items and was made for at most 4"), "{}", full.stderr);
    assert_eq!(dedup(&folder, "e\na\n", &options("4500")).text(), "e\na\n");
}

#[test]
fn marks_can_be_taken_back() {
    let folder = Folder::new();
    dedup(&folder, "a\nb\n", &["--window", "1h", "--now", "0"]).good();
    dedup(&folder, "c\n", &["--now", "1800"]).good();
    let filter = folder.join("f.coua");
    let report =
        run_with(b"c\na\na\nx\n", ["remove", &filter, "--report", "found", "--now", "1801"]);
    assert_eq!(report.text(), "c\na\n");
    assert_eq!(dedup(&folder, "a\nb\nc\n", &["--now", "1802"]).text(), "a\nc\n");
}

#[test]
fn other_commands_know_windows() {
    let folder = Folder::new();
    for (name, text) in [("one.coua", "0 a\n1800 b\n"), ("two.coua", "2000 c\n1800 b\n")] {
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
    assert_eq!(run_in(&folder, &["verify", "f.coua"]).text(), "f.coua: intact, 4 items\n");
    assert!(run_in(&folder, &["compact", "f.coua"]).text().contains("f.coua"));
    assert_eq!(run_with(b"a\nb\nc\nd\n", ["count", &folder.join("f.coua")]).text(), counts);
    let refused = run_in(&folder, &["convert", "f.coua", "-o", "g.coua", "--hash-bits", "32"]);
    refused.failed(
        2,
        "coua: f.coua: has a window (--window): only filters that never forget can be converted\n",
    );
    run_with(b"a\n", ["add", &folder.join("plain.coua")]).good();
    let refused = run_in(&folder, &["merge", "-o", "g.coua", "f.coua", "plain.coua"]);
    assert!(
        refused.stderr.contains("plain.coua: the filters forget differently"),
        "{}",
        refused.stderr
    );
    assert!(!folder.has("g.coua"));
    // Damage is found.
    let mut bytes = folder.read("f.coua");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.file("f.coua", bytes);
    let verified = run_in(&folder, &["verify", "f.coua"]);
    assert_eq!(verified.code, Some(2));
    assert!(verified.stderr.contains("f.coua: filter is damaged"), "{}", verified.stderr);
}

#[test]
fn a_secret_key_hides_in_every_generation() {
    let folder = Folder::new();
    folder.file("key", [7; 16]);
    folder.file("other", [8; 16]);
    let (key, other) = (folder.join("key"), folder.join("other"));
    dedup(&folder, "a\n", &["--window", "1h", "--now", "0", "--key-file", &key]).good();
    assert_eq!(dedup(&folder, "a\n", &["--now", "1", "--key-file", &key]).text(), "");
    assert!(
        dedup(&folder, "a\n", &["--now", "1", "--key-file", &other]).stderr.contains("not the one")
    );
    assert!(dedup(&folder, "a\n", &["--now", "1"]).stderr.contains("--key-file"));
}

/// With the system's clock, and one that lives as long as the stream.
#[test]
fn what_is_old_is_forgotten_while_running() {
    let mut child = coua(["dedup", "--window", "200ms", "--generations", "2"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        stdin.write_all(b"a\n").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "a");
        // Longer than the window and a generation.
        std::thread::sleep(Duration::from_millis(350));
    }
    drop(stdin);
    assert!(lines.next().is_none() && child.wait().unwrap().success());
}

#[test]
fn the_help_states_how_exact_it_is() {
    let help = run(["help", "dedup"]).text();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("at most one generation (LENGTH / --generations) more"), "{help}");
    assert!(words.contains("[default: 8]"));
}
