//! Windows that count from when an item was last seen: beside a map of those times, with keys that the filter cannot
//! tell apart, with the room there is, and the memory that comes back.

use std::collections::HashMap;

use coua::window::{AgeFrom, Clock, Generations, When, Window};
use coua::{BatchFull, CuckooFilter, Filter, FullReason, IfPresent, KeyHash, WhenFull};

use super::plain::hash;
use coua_dev::random::Random;

fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(hash).collect()
}

fn windowed(clock: Clock, age_from: AgeFrom, template: &CuckooFilter) -> Generations {
    let window = Window::new(clock, 1_000, 5).unwrap().counted_from(age_from);
    Generations::from_template(window, template.clone())
}

/// 2^14 cells, so that many keys share one.
#[test]
fn whatever_was_seen_within_the_window_is_remembered() {
    for clock in [Clock::Arrival, Clock::Given, Clock::Count] {
        let template = CuckooFilter::builder().capacity(50).hash_bits(14).build().unwrap();
        let [mut first, mut last] =
            [AgeFrom::FirstSeen, AgeFrom::LastSeen].map(|it| windowed(clock, it, &template));
        let (mut random, mut now, mut last_seen) = (Random::new(7), 0, HashMap::new());
        let (mut checked, mut present, mut outcomes) = (0, 0, Vec::new());
        for _ in 0..600 {
            now += if random.below(20) == 0 { 400 } else { random.below(30) };
            let items: Vec<(u64, u64)> = (0..random.below(60))
                .map(|_| (random.below(2_000), (now + 10).saturating_sub(random.below(1_500))))
                .collect();
            let hashes: Vec<KeyHash> = items.iter().map(|(key, _)| hash(*key)).collect();
            let times: Vec<u64> = items.iter().map(|(_, time)| *time).collect();
            let counted = last.clock();
            for filter in [&mut first, &mut last] {
                filter.advance(now);
                let when = When::Each(&times);
                filter.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes).unwrap();
            }
            present = match clock {
                Clock::Given => times.iter().fold(now.max(present), |now, time| now.max(*time)),
                Clock::Arrival => now,
                Clock::Count => last.clock(),
            };
            for (key, time) in items {
                let time = match clock {
                    Clock::Given => time,
                    Clock::Arrival => now,
                    Clock::Count => counted,
                };
                let seen: &mut u64 = last_seen.entry(key).or_default();
                *seen = time.max(*seen);
            }
            for (&key, &time) in &last_seen {
                let is_due = present - time < 1_000;
                assert!(!is_due || last.contains(hash(key)), "{clock:?}: {key}, {time}, {present}");
                checked += u64::from(is_due);
                // Items count where they move, so that clock is faster.
                let is_earlier = first.contains(hash(key)) && !last.contains(hash(key));
                assert!(
                    clock == Clock::Count || !is_earlier,
                    "{clock:?}: {key} is forgotten earlier"
                );
            }
        }
        assert!(checked > 50_000 && last.forgotten() > 1_000, "{checked} {}", last.forgotten());
    }
}

#[test]
fn what_moves_needs_no_room_among_the_items() {
    for clock in [Clock::Arrival, Clock::Given, Clock::Count] {
        let template = CuckooFilter::builder().capacity(50).max_items(100).build().unwrap();
        let mut seen = windowed(clock, AgeFrom::LastSeen, &template);
        let keys = hashes(0..100);
        let mut outcomes = Vec::new();
        seen.insert_each(&keys, When::Each(&[0; 100]), IfPresent::Skip, &mut outcomes).unwrap();
        for round in 1..20 {
            seen.set_clock(round * 200);
            let times = [round * 200; 100];
            seen.insert_each(&keys, When::Each(&times), IfPresent::Skip, &mut outcomes).unwrap();
            assert!(outcomes.iter().all(|outcome| !outcome.is_new()), "{clock:?}: round {round}");
            assert_eq!(seen.generations().next_back().unwrap().filter.len(), 100);
            assert_eq!(seen.len(), 100);
        }
        let refused = seen.insert_unique(hash(100)).unwrap_err();
        assert_eq!(refused.reason, FullReason::MaxItems);
    }
}

#[test]
fn what_cannot_move_stays_where_it_is() {
    const EACH: u64 = 5_000;
    let builder = CuckooFilter::builder().capacity(EACH).when_full(WhenFull::Refuse);
    let mut seen = windowed(Clock::Arrival, AgeFrom::LastSeen, &builder.build().unwrap());
    for round in 0..4 {
        seen.advance(round * 200);
        seen.insert_batch(&hashes(round * EACH..(round + 1) * EACH)).unwrap();
    }
    let keys = hashes(0..4 * EACH);
    let BatchFull { done, full } = seen.insert_unique_batch(&keys).unwrap_err();
    assert_eq!(full.reason, FullReason::NoRoom);
    assert!(done > 0 && (done as u64) < EACH, "{done}");
    assert_eq!(seen.len(), 4 * EACH);
    assert!(seen.contains_batch(&keys).iter().all(|present| *present));
    // What did not move is forgotten with its generation.
    seen.advance(1_200);
    let left = seen.contains_batch(&keys[..EACH as usize]);
    assert!(left[..done].iter().all(|left| *left) && left[done..].iter().all(|left| !left));
}

/// All keys come again in each generation. The generations that they leave give their memory back.
#[test]
fn generations_that_items_have_left_are_small() {
    let keys = hashes(0..100_000);
    let window = Window::new(Clock::Arrival, 800, 8).unwrap();
    let [once, again] = [AgeFrom::FirstSeen, AgeFrom::LastSeen].map(|age_from| {
        let mut seen = Generations::new(window.counted_from(age_from));
        let mut most = 0;
        for round in 0..12 {
            seen.advance(round * 100);
            // A tenth does not come again.
            let new = hashes((round + 20) * 10_000..(round + 21) * 10_000);
            seen.insert_unique_batch(&keys).unwrap();
            seen.insert_unique_batch(&new).unwrap();
            most = most.max(seen.memory_bytes());
        }
        most
    });
    assert!(again < once * 3 / 2, "{again} bytes, {once} where nothing moves");
}
