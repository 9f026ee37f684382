//! Batches compared with the reference implementation, with single calls, and with a repeated change log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime};

use coua::window::{AgeFrom, Change, ChangeLog, Clock, Generations, Moment, When, Window};
use coua::{CuckooFilter, Filter, IfPresent, Insertion, KeyHash, Load};
use proptest::prelude::*;

use super::plain::{Outcome, Plain, bytes_of, hash};

const MOST_ITEMS: u64 = 60;

#[derive(Clone, Debug)]
enum Act {
    /// Keys and times.
    Insert(Vec<(u64, u64)>, IfPresent),
    Remove(Vec<u64>),
    Advance(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let item = (0..80_u64, 0..40_u64);
    let if_present = prop_oneof![Just(IfPresent::AddCopy), Just(IfPresent::Skip)];
    let act = prop_oneof![
        4 => (prop::collection::vec(item, 0..60), if_present).prop_map(|(items, if_present)| {
            Act::Insert(items, if_present)
        }),
        1 => prop::collection::vec(0..80_u64, 0..20).prop_map(Act::Remove),
        2 => (0..30_u64).prop_map(Act::Advance),
    ];
    prop::collection::vec(act, 0..25)
}

/// Notes what is needed to do it again.
#[derive(Default)]
struct Notes(Vec<Note>);

enum Note {
    Turn(u64),
    Change(Change, u64, KeyHash),
}

impl ChangeLog for Notes {
    fn clock_set(&mut self, clock: u64) {
        self.0.push(Note::Turn(clock));
    }

    fn changed(&mut self, change: Change, generation: u64, hash: KeyHash) {
        self.0.push(Note::Change(change, generation, hash));
    }
}

fn kinds() -> impl Iterator<Item = (Clock, AgeFrom)> {
    let clocks = [Clock::Arrival, Clock::Given, Clock::Count];
    clocks
        .into_iter()
        .flat_map(|clock| [AgeFrom::FirstSeen, AgeFrom::LastSeen].map(|age_from| (clock, age_from)))
}

fn new(window: Window) -> Generations {
    let template = CuckooFilter::builder().capacity(50).max_items(MOST_ITEMS).hash_bits(64);
    Generations::from_template(window, template.build().unwrap())
}

/// Two keys that the filter cannot tell apart, in different generations.
#[test]
fn a_removal_makes_nobody_else_older() {
    let window = Window::new(Clock::Arrival, 30, 3).unwrap();
    let template = CuckooFilter::builder().capacity(100).hash_bits(12).build().unwrap();
    let mut seen = Generations::from_template(window, template);
    let [first, second] = [0, 0xffff].map(|rest| KeyHash::from_u64((0x1234 << 48) | rest));
    for (time, hash) in [(0, first), (20, second)] {
        seen.advance(time);
        seen.insert_batch(&[hash]).unwrap();
    }
    let removed = seen.remove_batch(&[first]);
    seen.advance(40);
    let present = seen.contains_batch(&[second]);
    assert_eq!((removed, present), (vec![true], vec![true]), "it is 20 old");
}

/// The three of them, and the model.
struct Four {
    batches: Generations,
    singles: Generations,
    notes: Notes,
    plain: Plain,
    now: u64,
}

impl Four {
    fn new(window: Window) -> Self {
        Self {
            batches: new(window),
            singles: new(window),
            notes: Notes::default(),
            plain: Plain::new(window, MOST_ITEMS),
            now: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Advance(more) => {
                self.now += more;
                self.batches.logged(&mut self.notes).advance(self.now);
                self.singles.advance(self.now);
                if self.batches.window().unwrap().clock() != Clock::Count {
                    self.plain.advance(self.now);
                }
            }
            Act::Remove(keys) => {
                let hashes: Vec<KeyHash> = keys.iter().map(|&key| hash(key)).collect();
                let removed = self.batches.logged(&mut self.notes).remove_batch(&hashes);
                for ((&key, hash), removed) in keys.iter().zip(&hashes).zip(removed) {
                    let one = self.singles.remove_batch(&[*hash]);
                    assert_eq!(one, [removed]);
                    assert_eq!(self.plain.remove(key), removed);
                }
            }
            Act::Insert(items, if_present) => self.insert(items, *if_present),
        }
    }

    fn insert(&mut self, items: &[(u64, u64)], if_present: IfPresent) {
        let hashes: Vec<KeyHash> = items.iter().map(|&(key, _)| hash(key)).collect();
        // Some are later than all before, some earlier than the window reaches.
        let times: Vec<u64> =
            items.iter().map(|(_, ago)| (self.now + 30).saturating_sub(*ago)).collect();
        let mut outcomes = Vec::new();
        let when = When::Each(&times);
        let mut batches = self.batches.logged(&mut self.notes);
        let stopped = batches.insert_each(&hashes, when, if_present, &mut outcomes);
        let done = stopped.map_or_else(|stopped| stopped.done, |()| hashes.len());
        for at in 0..done {
            let expected = self.plain.insert(items[at].0, times[at], if_present);
            assert_ne!(expected, Outcome::Full);
            if if_present == IfPresent::Skip {
                assert_eq!(outcomes[at].is_new(), expected == Outcome::Inserted);
            }
            let one = self.insert_single(hashes[at], times[at], if_present);
            assert_eq!(one, Some(outcomes[at]));
        }
        if done < hashes.len() {
            assert_eq!(self.plain.insert(items[done].0, times[done], if_present), Outcome::Full);
            assert!(self.insert_single(hashes[done], times[done], if_present).is_none());
            assert!(outcomes.iter().skip(done).all(|outcome| *outcome == Insertion::Refused));
            assert_eq!(outcomes.len(), hashes.len());
        }
    }

    fn insert_single(
        &mut self,
        hash: KeyHash,
        time: u64,
        if_present: IfPresent,
    ) -> Option<Insertion> {
        let times = [time];
        let when = When::Each(&times);
        let mut outcomes = Vec::new();
        self.singles
            .insert_each(&[hash], when, if_present, &mut outcomes)
            .ok()
            .map(|()| outcomes[0])
    }

    fn compare(&self) {
        assert_eq!(self.batches.len(), self.plain.len());
        let hashes: Vec<KeyHash> = (0..80).map(hash).collect();
        let present = self.batches.contains_batch(&hashes);
        let counts = self.batches.count_batch(&hashes);
        for key in 0..80 {
            let count = self.plain.count(key);
            assert_eq!((counts[key as usize], present[key as usize]), (count, count > 0), "{key}");
        }
        let bytes = bytes_of(&self.batches);
        assert!(bytes == bytes_of(&self.singles), "the bytes of single calls");
        assert!(bytes == bytes_of(&self.again()), "the bytes of what was noted");
        assert!(bytes == bytes_of(&Load::new().bytes::<Generations>(&bytes).unwrap()), "as a file");
    }

    fn again(&self) -> Generations {
        let mut again = new(self.batches.window().unwrap());
        for note in &self.notes.0 {
            match note {
                Note::Turn(clock) => again.set_clock(*clock),
                Note::Change(change, generation, hash) => {
                    again.replay(*change, *generation, &[*hash]).unwrap();
                }
            }
        }
        again
    }
}

proptest! {
    #[test]
    fn batches_do_what_single_calls_do(acts in acts(), length in 1..40_u64, parts in 1..6_u32) {
        for (clock, age_from) in kinds() {
            let Ok(window) = Window::new(clock, length, parts) else { continue };
            let mut four = Four::new(window.counted_from(age_from));
            for act in &acts {
                four.act(act);
            }
            four.compare();
        }
    }
}

#[test]
fn without_a_window_it_is_a_cuckoo_filter() {
    let (mut unbounded, mut plain) = (Generations::from(CuckooFilter::new()), CuckooFilter::new());
    let hashes: Vec<KeyHash> = (0..1000).chain(500..1500).map(hash).collect();
    let (mut outcomes, mut expected) = (Vec::new(), Vec::new());
    unbounded.advance(u64::MAX);
    unbounded.insert_each(&hashes, When::Now, IfPresent::Skip, &mut outcomes).unwrap();
    plain.insert_each(&hashes, When::Now, IfPresent::Skip, &mut expected).unwrap();
    assert_eq!(outcomes, expected);
    unbounded.insert_batch(&hashes[..10]).unwrap();
    plain.insert_batch(&hashes[..10]).unwrap();
    let removed = unbounded.remove_batch(&hashes[5..20]);
    let taken = plain.remove_batch(&hashes[5..20]);
    assert_eq!(removed, taken);
    let mut bytes = Vec::new();
    plain.write_to(&mut bytes).unwrap();
    assert!(bytes_of(&unbounded) == bytes);
    assert!(bytes_of(&Load::new().bytes::<Generations>(&bytes).unwrap()) == bytes);
}

#[test]
fn time_does_not_go_back() {
    let window = Window::new(Clock::Arrival, 100, 10).unwrap();
    let mut seen = Generations::new(window);
    seen.advance(5_000);
    seen.insert_unique("a").unwrap();
    seen.advance(0);
    seen.set_clock(0);
    assert_eq!(seen.clock(), 5_000);
    seen.insert_unique("b").unwrap();
    assert_eq!(seen.generations().count(), 1, "both are of the present");
    seen.advance(u64::MAX);
    assert!(seen.is_empty() && seen.forgotten() == 2);
    seen.insert_unique("c").unwrap();
    let last = seen.generations().next().unwrap();
    assert_eq!(last.number, u64::MAX / window.step(), "the last generation of time");
    assert!(last.from <= last.until);
}

#[test]
fn generations_merge_by_their_times() {
    let window = Window::new(Clock::Given, 100, 10).unwrap();
    let with = |items: &[(u64, u64)]| {
        let mut filter = Generations::new(window);
        for (key, time) in items {
            filter
                .insert_each(
                    &[hash(*key)],
                    When::Each(&[*time]),
                    IfPresent::AddCopy,
                    &mut Vec::new(),
                )
                .unwrap();
        }
        filter
    };
    let mut one = with(&[(1, 1_000), (2, 1_050)]);
    one.merge(&with(&[(3, 1_055), (4, 1_109)])).unwrap();
    let counts = one.count_batch(&[1, 2, 3, 4].map(hash));
    assert_eq!((counts, one.clock()), (vec![1, 1, 1, 1], 1_100));
    one.merge(&with(&[(2, 1_055), (5, 1_112)])).unwrap();
    let counts = one.count_batch(&[1, 2, 3, 4, 5].map(hash));
    assert_eq!(counts, [0, 2, 1, 1, 1], "the first is too old now");

    let mut late = with(&[(6, 900)]);
    late.merge(&one).unwrap();
    one.merge(&with(&[(6, 900)])).unwrap();
    assert!(bytes_of(&late) == bytes_of(&one), "the order does not matter");

    let few = CuckooFilter::builder().capacity(2).max_items(3).hash_bits(64).build().unwrap();
    let (mut two, mut more) =
        (Generations::from_template(window, few.clone()), Generations::from_template(window, few));
    for (filter, hashes) in [(&mut two, [1, 2]), (&mut more, [3, 4])] {
        filter
            .insert_each(
                &hashes.map(hash),
                When::Each(&[5, 15]),
                IfPresent::AddCopy,
                &mut Vec::new(),
            )
            .unwrap();
    }
    let alone = bytes_of(&two);
    assert!(two.merge(&more).unwrap_err().to_string().contains("its limit is 3"));
    assert!(bytes_of(&two) == alone);

    let before = bytes_of(&one);
    let fewer = Window::new(Clock::Given, 100, 5).unwrap();
    for other in [fewer, window.counted_from(AgeFrom::LastSeen)] {
        assert!(one.merge(&Generations::new(other)).is_err());
    }
    assert!(one.merge(&CuckooFilter::new().into()).is_err());
    let template = CuckooFilter::builder().hash_bits(40).build().unwrap();
    let mut coarse = Generations::from_template(window, template);
    coarse
        .insert_each(&[hash(1)], When::Each(&[1_100]), IfPresent::AddCopy, &mut Vec::new())
        .unwrap();
    assert!(one.merge(&coarse).is_err());
    assert!(bytes_of(&one) == before);
}

#[test]
fn windows_have_limits() {
    for clock in [Clock::Arrival, Clock::Given, Clock::Count] {
        assert!(Window::new(clock, 10, 0).is_err() && Window::new(clock, 10_000, 1_001).is_err());
        assert!(Window::new(clock, 7, 8).is_err() && Window::new(clock, u64::MAX, 8).is_err());
        assert!(Window::new(clock, (1 << 62) - 1, 8).is_err(), "rounded up it is too long");
        let longest = Window::new(clock, (1 << 62) - 8, 8).unwrap();
        let rounded = Window::new(clock, 9, 8).unwrap();
        assert_eq!((longest.length(), rounded.length(), rounded.step()), ((1 << 62) - 8, 16, 2));
        let mut last = Generations::new(longest);
        last.insert_unique("a").unwrap();
        let bytes = bytes_of(&last);
        assert!(bytes_of(&Load::new().bytes::<Generations>(&bytes).unwrap()) == bytes);
    }
}

#[test]
fn too_few_times_change_nothing() {
    let hashes = [1, 2, 3].map(hash);
    let when = When::Each(&[5, 6]);
    for clock in [Clock::Given, Clock::Arrival, Clock::Count] {
        let window = Window::new(clock, 100, 4).unwrap();
        let mut seen = Generations::new(window);
        let seen = &mut seen;
        let copies = AssertUnwindSafe(|| {
            seen.insert_each(&hashes, when, IfPresent::AddCopy, &mut Vec::new())
        });
        assert!(catch_unwind(copies).is_err(), "{clock:?}");
        let mut outcomes = Vec::new();
        let unique = || seen.insert_each(&hashes, when, IfPresent::Skip, &mut outcomes);
        assert!(catch_unwind(AssertUnwindSafe(unique)).is_err(), "{clock:?}");
        assert_eq!(seen.len(), 0, "{clock:?}");
    }
}

#[test]
fn lengths_and_times_of_the_standard_library_are_milliseconds() {
    let second = Duration::from_secs(1);
    let rounded = Window::arrival(Duration::from_nanos(1_000_000_001), 1).unwrap();
    assert_eq!((rounded.clock(), rounded.length()), (Clock::Arrival, 1_001));
    assert_eq!(Window::given(8 * second, 8), Window::new(Clock::Given, 8_000, 8));
    assert!(
        Window::arrival(Duration::MAX, 8).is_err() && Window::given(Duration::ZERO, 1).is_err()
    );

    let start = SystemTime::UNIX_EPOCH;
    let times = [start - second, start, start + Duration::from_micros(1_001_999)];
    assert_eq!(times.map(|time| u64::from(Moment::from(time))), [0, 0, 1_001]);

    let mut seen = Generations::new(Window::given(8 * second, 8).unwrap());
    let mut insert_at = |time: Moment| {
        seen.advance(time);
        seen.insert_unique("a").unwrap()
    };
    assert_eq!(insert_at((start + 9 * second).into()), Insertion::Inserted);
    assert_eq!(insert_at(10_000.into()), Insertion::AlreadyPresent);
    assert_eq!(insert_at((start + 18 * second).into()), Insertion::Inserted);
    assert_eq!((seen.clock(), seen.forgotten()), (18_000, 1));
}
