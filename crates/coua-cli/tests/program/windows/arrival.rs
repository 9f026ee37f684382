//! Windows by time of arrival: the bounds of `--window`.

use super::{dedup, hours, info, made};
use crate::support::{Folder, coua, run_with};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn what_is_old_is_new_again() {
    let folder = Folder::new();
    made(&folder, hours(7 * 24, 7));
    let at =
        |now: &str, text: &str| dedup(&folder, text, &["--window", "7d", "COUA_NOW", now]).text();
    assert_eq!(at("2026-01-01T12:00:00Z", "a\nb\na\n"), "a\nb\n");
    assert_eq!(at("2026-01-04T00:00:00Z", "b\nc\n"), "c\n");
    // Not before a week has passed, and repeats do not extend the time.
    assert_eq!(at("2026-01-08T11:59:59Z", "a\nb\nc\n"), "");
    // At the latest a day after that.
    assert_eq!(at("2026-01-09T12:00:00Z", "a\nb\nc\n"), "a\nb\n");
    assert_eq!(at("2026-01-30T00:00:00Z", "a\nb\nc\n"), "a\nb\nc\n");
}

#[test]
fn opening_forgets() {
    let folder = Folder::new();
    made(&folder, hours(1, 2));
    let early = ["--window", "1h", "COUA_NOW", "2026-01-01T00:00:00Z"];
    dedup(&folder, "a\nb\n", &early).good();
    assert_eq!(info(&folder, &["COUA_NOW", "2026-01-01T01:00:00Z"])["items"], 2);
    assert_eq!(info(&folder, &["COUA_NOW", "2026-01-01T01:30:00Z"])["items"], 0);
    assert_eq!(info(&folder, &[])["items"], 0, "long ago, by the system's clock");
    for command in ["check", "count"] {
        let asked =
            |now: &str| run_with(b"a\n", [command, &folder.join("f.coua"), "COUA_NOW", now]);
        let (there, gone) = if command == "check" { ("a\n", "") } else { ("1\ta\n", "0\ta\n") };
        assert_eq!(String::from_utf8(asked("2026-01-01T01:29:59Z").stdout).unwrap(), there);
        assert_eq!(String::from_utf8(asked("2026-01-01T01:30:00Z").stdout).unwrap(), gone);
    }
    // Lookups have changed nothing; writers do, even without records.
    assert_eq!(info(&folder, &["COUA_NOW", "2026-01-01T01:00:00Z"])["items"], 2);
    dedup(&folder, "", &["COUA_NOW", "2026-01-01T01:30:00Z"]).good();
    let later = info(&folder, &["COUA_NOW", "2026-01-01T01:00:00Z"]);
    assert_eq!(
        (&later["items"], &later["window"]["present"]),
        (&0.into(), &1_767_231_000_000_u64.into())
    );
}

/// Two months of daily runs: nothing is forgotten early, and everything in time.
#[test]
fn day_by_day() {
    const WEEK: u64 = 7;
    let folder = Folder::new();
    made(&folder, hours(7 * 24, 7));
    let window = ["--window", "7d"];
    let mut printed_on = std::collections::HashMap::new();
    for day in 0..60 {
        // Some keys every day, some in the last weeks, some once.
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
            dedup(&folder, &text.concat(), &[&window[..], &["COUA_NOW", &now]].concat()).text();
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
fn time_that_goes_back() {
    let folder = Folder::new();
    let window = ["--window", "1h", "COUA_NOW", "2026-01-01T12:00:00Z"];
    dedup(&folder, "a\n", &window).good();
    // A clock that is a little behind: the filter keeps its time.
    assert_eq!(dedup(&folder, "a\nb\n", &["COUA_NOW", "2026-01-01T11:10:00Z"]).text(), "b\n");
    assert_eq!(
        info(&folder, &["COUA_NOW", "2026-01-01T11:10:00Z"])["window"]["present"],
        1_767_268_800_000_u64
    );
    // A clock that is more than a window behind: it is unknown which clock was wrong.
    let before = folder.read("f.coua");
    let late = dedup(&folder, "c\n", &["COUA_NOW", "2026-01-01T10:00:00Z"]);
    assert_eq!((late.code, late.stdout.as_slice()), (Some(2), &b""[..]));
    let told = "f.coua: was written at 2026-01-01T12:00:00Z, more than a window after the present";
    assert!(late.stderr.contains(told), "{}", late.stderr);
    assert!(folder.read("f.coua") == before);
    let removal =
        run_with(b"a\n", ["remove", &folder.join("f.coua"), "COUA_NOW", "2026-01-01T10:00:00Z"]);
    assert_eq!(removal.code, Some(2));
}

/// With the system's clock, in a run that lasts as long as the stream.
#[test]
fn what_is_old_is_forgotten_while_running() {
    let mut child = coua(["dedup", "--window", "200ms"]).stdin(Stdio::piped()).spawn().unwrap();
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
