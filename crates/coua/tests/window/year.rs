//! A year of traffic, or 90 days of it unless all cases are tried: nothing is forgotten early, everything in time.

use std::collections::HashMap;

use coua::window::{AgeFrom, Clock, Generations, When, Window};
use coua::{Filter, IfPresent, Insertion, KeyHash};

use super::plain::hash;
use coua_dev::cases::few_usual_or_all;
use coua_dev::random::nth;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
const BEGIN: u64 = 1_767_225_600_000;

/// Keys of one minute: some new, some of the last days, some that come every day.
fn keys_of(minute: u64) -> [u64; 6] {
    let old = |n: u64, most: u64| (minute - nth(minute * 7 + n) % most.min(minute + 1)) * 8 + n;
    [
        minute * 8,
        minute * 8 + 1,
        old(0, 9 * 1440),
        old(1, 3 * 1440),
        old(0, 60),
        u64::MAX - minute % 1440,
    ]
}

/// Holds the answers about keys against when they were inserted last, or seen last.
struct Judge {
    window: Window,
    counted_from: HashMap<u64, u64>,
    repeats: u64,
    /// Items that were forgotten at an age between the window and a generation more.
    late: u64,
}

impl Judge {
    fn judge(&mut self, key: u64, time: u64, clock: u64, outcome: Insertion) {
        let age = self.counted_from.get(&key).map(|since| clock - since);
        let is_repeat = outcome == Insertion::AlreadyPresent;
        match age {
            None => assert!(!is_repeat, "never there"),
            Some(age) if age < self.window.length() => assert!(is_repeat, "forgotten early: {age}"),
            Some(age) if age >= self.window.length() + self.window.step() => {
                assert!(!is_repeat, "forgotten late: {age}");
            }
            Some(_) => self.late += u64::from(is_repeat),
        }
        self.repeats += u64::from(is_repeat);
        if !is_repeat || self.window.age_from() == AgeFrom::LastSeen {
            let since = self.counted_from.entry(key).or_default();
            *since = time.max(*since);
        }
    }
}

fn live_through(clock: Clock, age_from: AgeFrom) {
    let days = few_usual_or_all([30, 90, 365]);
    let window = Window::new(clock, 7 * DAY, 8).unwrap().counted_from(age_from);
    let mut seen = Generations::new(window);
    let mut judge = Judge { window, counted_from: HashMap::new(), repeats: 0, late: 0 };
    let (mut outcomes, mut most, mut last) = (Vec::new(), 0, 0);
    for minutes in (0..days * 1440).step_by(7) {
        let moments =
            (minutes..minutes + 7).flat_map(|minute| keys_of(minute).map(|key| (minute, key)));
        // Records have been under way for up to six days.
        let ago = |key: u64| if clock == Clock::Given { nth(key ^ minutes) % (6 * DAY) } else { 0 };
        let items: Vec<(u64, u64)> = moments
            .map(|(minute, key)| {
                let time = if clock == Clock::Given { minute } else { minutes };
                (key, BEGIN + 30 * DAY + time * MINUTE - if key % 3 == 0 { ago(key) } else { 0 })
            })
            .collect();
        let hashes: Vec<KeyHash> = items.iter().map(|(key, _)| hash(*key)).collect();
        let times: Vec<u64> = items.iter().map(|(_, time)| *time).collect();
        let when = if clock == Clock::Given { When::Each(&times) } else { When::Now };
        if clock == Clock::Arrival {
            seen.advance(times[0]);
        }
        seen.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes).unwrap();
        for ((key, time), outcome) in items.into_iter().zip(&outcomes) {
            last = last.max(time);
            judge.judge(key, time, last, *outcome);
        }
        most = most.max(seen.generations().count());
    }
    assert_eq!(most, 9, "as many generations as the window has, and the present one");
    assert!(judge.repeats > 100 * days && judge.late > 0, "{} {}", judge.repeats, judge.late);
    assert_eq!(seen.outdated(), 0);
    assert!(seen.memory_bytes() < 2_500_000, "{} bytes", seen.memory_bytes());
}

#[test]
fn by_the_clock() {
    live_through(Clock::Arrival, AgeFrom::FirstSeen);
}

#[test]
fn by_the_times_of_the_items() {
    live_through(Clock::Given, AgeFrom::FirstSeen);
}

#[test]
fn where_repeats_make_younger() {
    live_through(Clock::Arrival, AgeFrom::LastSeen);
    live_through(Clock::Given, AgeFrom::LastSeen);
}

#[test]
fn the_last_items_are_remembered() {
    last_items(AgeFrom::FirstSeen);
    last_items(AgeFrom::LastSeen);
}

fn last_items(age_from: AgeFrom) {
    let window = Window::new(Clock::Count, 10_000, 10).unwrap().counted_from(age_from);
    let mut seen = Generations::new(window);
    let (mut number_of, mut inserted, mut outcomes) = (HashMap::new(), 0_u64, Vec::new());
    for batch in 0..400 {
        let keys: Vec<u64> = (0..500).map(|n| nth(batch * 1000 + n) % 40_000).collect();
        let hashes: Vec<KeyHash> = keys.iter().map(|key| hash(*key)).collect();
        seen.insert_each(&hashes, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
        for (key, outcome) in keys.iter().zip(&outcomes) {
            let is_repeat = *outcome == Insertion::AlreadyPresent;
            match number_of.get(key).map(|number| inserted - number) {
                None => assert!(!is_repeat),
                // As many were inserted since, itself included.
                Some(since) if since <= 10_000 => assert!(is_repeat, "forgotten after {since}"),
                Some(since) if since > 11_000 => assert!(!is_repeat, "remembered after {since}"),
                Some(_) => {}
            }
            let is_older = |number: &u64| number / 1_000 < inserted / 1_000;
            let moves = age_from == AgeFrom::LastSeen && number_of.get(key).is_some_and(is_older);
            if !is_repeat || moves {
                number_of.insert(*key, inserted);
                inserted += 1;
            }
        }
        assert!(seen.len() <= 11_000);
    }
    assert_eq!(seen.clock(), inserted);
    assert!(inserted > 100_000);
}
