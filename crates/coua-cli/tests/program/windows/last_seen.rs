//! `--window-by last`, compared with a map of when each key was seen.

use super::{dedup, hours, info, made};
use crate::support::{Folder, Repeats, lines, run_in, run_with};
use coua::window::AgeFrom;
use std::collections::HashMap;

const GENERATIONS: u64 = 8;

/// The generation in which each key was seen last.
#[derive(Default)]
struct Model {
    last: HashMap<String, u64>,
    present: u64,
    /// The number of items inserted and moved, if they are the clock.
    items: u64,
}

impl Model {
    /// Whether a record of this generation is new.
    fn see(&mut self, key: &str, generation: u64) -> bool {
        let Self { last, present, .. } = self;
        *present = generation.max(*present);
        let oldest = present.saturating_sub(GENERATIONS);
        let known = last.get(key).copied().filter(|last| *last >= oldest);
        if generation >= oldest {
            last.insert(key.to_owned(), generation.max(known.unwrap_or(0)));
        }
        known.is_none()
    }

    /// The same with this number of items per generation.
    fn count(&mut self, key: &str, step: u64) -> bool {
        let generation = self.items / step;
        let is_there = self.last.get(key) == Some(&generation);
        self.items += u64::from(!is_there);
        self.see(key, generation)
    }
}

/// Lines with a time and a key, in the order of their times to within a minute, and whether each is new.
fn records(mut is_new: impl FnMut(u64, &str) -> bool) -> Vec<(String, bool)> {
    let text = String::from_utf8(lines(60_000, Repeats::Many)).unwrap();
    let time = |n: u64| 1_780_000_000_000 + n * 10 - n * 7_919 % 60_000;
    let timed = (0..).map(time).zip(text.lines());
    timed.map(|(time, key)| (format!("{time} {key}\n"), is_new(time, key))).collect()
}

/// All records, the new ones, and the repeats.
fn texts(records: &[(String, bool)]) -> [String; 3] {
    let all = records.iter().map(|(record, _)| record.as_str()).collect();
    let [mut new, mut repeats] = [const { String::new() }; 2];
    for (record, is_new) in records {
        (if *is_new { &mut new } else { &mut repeats }).push_str(record);
    }
    [all, new, repeats]
}

/// In memory; and in a file, by several runs, only the first of which gets the options.
fn agrees(options: &[&str], of_each: &[&str], records: &[(String, bool)]) {
    let folder = Folder::new();
    let [all, new, repeats] = texts(records);
    let dedup_all = |more: &[&str]| {
        let command = [&["dedup", "--window-by", "last"], options, of_each, more].concat();
        run_with(all.as_bytes(), command).text()
    };
    assert!(dedup_all(&[]) == new);
    assert!(dedup_all(&["-d"]) == repeats, "-d");

    let first = [&["--window-by", "last"], options, of_each].concat();
    for (nth, records) in records.chunks(7_001).enumerate() {
        let [all, new, _] = texts(records);
        let printed = dedup(&folder, &all, if nth == 0 { &first } else { of_each }).text();
        assert!(printed == new, "run {nth}");
    }
    assert_eq!(info(&folder, &[])["window"]["by"], "last");

    let filter = folder.join("added.coua");
    run_with(all.as_bytes(), [&["add", &*filter, "--unique"], &first[..]].concat()).good();
    let [added, deduplicated] = ["added.coua", "f.coua"]
        .map(|name| run_in(&folder, &["info", "--json", name]).json()["generations"].clone());
    let items = |generations: &serde_json::Value| -> Vec<_> {
        let generations = generations.as_array().unwrap().iter();
        generations.map(|it| (it["number"].as_u64(), it["items"].as_u64())).collect()
    };
    assert_eq!(items(&added), items(&deduplicated), "add --unique");
}

#[test]
fn by_the_records_own_times() {
    let mut model = Model::default();
    let records = records(|time, key| model.see(key, time / (60_000 / GENERATIONS)));
    let new = records.iter().filter(|(_, is_new)| *is_new).count();
    assert!(new > model.last.len(), "some are new again");
    agrees(&["--window", "1m"], &["-k2", "--time-field", "1"], &records);
}

#[test]
fn by_the_number_of_items() {
    let mut model = Model::default();
    let records = records(|_, key| model.count(key, 3_000 / GENERATIONS));
    agrees(&["--window", "3000-items"], &["-k2"], &records);
}

#[test]
fn what_comes_every_day_stays() {
    let folder = Folder::new();
    let day = |day: u64, text: &str, options: &[&str]| {
        let now = (86_400 * (20_000 + day) + 3_600).to_string();
        dedup(&folder, text, &[options, &["COUA_NOW", &now]].concat()).text()
    };
    made(&folder, hours(7 * 24, 7).counted_from(AgeFrom::LastSeen));
    let window = ["--window", "7d", "--window-by", "last"];
    assert_eq!(day(0, "daily\nonce\n", &window), "daily\nonce\n");
    for later in 1..60 {
        // The options need not be repeated.
        let options = if later % 2 == 0 { &window[..] } else { &[] };
        assert_eq!(day(later, "daily\n", options), "", "day {later}");
    }
    assert_eq!(day(66, "daily\nonce\n", &[]), "once\n");
    assert_eq!(day(74, "daily\n", &[]), "daily\n", "a week and a generation have passed");
    let text = run_in(&folder, &["info", "f.coua"]).text();
    assert!(text.contains("7d since last seen, in 7 generations"), "{text}");
}

#[test]
fn what_stops_a_run_forgets_nothing() {
    let folder = Folder::new();
    let window =
        ["--window", "7d", "--window-by", "last", "--capacity", "3", "--when-full", "stop"];
    let at = |day: u64, text: &str, options: &[&str]| {
        let now = (86_400 * (20_000 + day)).to_string();
        dedup(&folder, text, &[options, &["COUA_NOW", &now]].concat())
    };
    at(0, "a\nb\nc\n", &window).good();
    // There is no room for new items, but for those that move.
    let full = at(5, "b\na\nd\nc\n", &[]);
    assert_eq!((full.code, full.stdout.as_slice()), (Some(3), &b""[..]));
    assert_eq!(at(9, "a\nb\nc\n", &[]).text(), "c\n");
    assert_eq!(at(13, "a\nb\nc\n", &[]).text(), "");
}
