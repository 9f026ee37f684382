//! What generations must do, said plainly: maps instead of filters, one item after the other.

use std::collections::{BTreeMap, HashMap};

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{IfPresent, KeyHash};

use coua_dev::random::nth;

pub(crate) fn hash(key: u64) -> KeyHash {
    KeyHash::from_u64(nth(key))
}

pub(crate) fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

pub(crate) struct Plain {
    window: Window,
    clock: u64,
    limit: u64,
    /// Copies of each key, by generation.
    live: BTreeMap<u64, HashMap<u64, u64>>,
}

/// What an insert does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Inserted,
    Repeat,
    Full,
}

impl Plain {
    pub(crate) fn new(window: Window, limit: u64) -> Self {
        Self { window, clock: 0, limit, live: BTreeMap::new() }
    }

    pub(crate) fn advance(&mut self, time: u64) {
        self.clock = self.clock.max(time);
        let present = self.clock / self.window.step();
        self.live.retain(|number, _| number + u64::from(self.window.generations()) >= present);
    }

    pub(crate) fn len(&self) -> u64 {
        self.live.values().flat_map(HashMap::values).sum()
    }

    pub(crate) fn count(&self, key: u64) -> u64 {
        self.live.values().filter_map(|copies| copies.get(&key)).sum()
    }

    /// `time` counts if items have times.
    pub(crate) fn insert(&mut self, key: u64, time: u64, copies: IfPresent) -> Outcome {
        if self.window.clock() == Clock::Given {
            self.advance(time);
        }
        let time = if self.window.clock() == Clock::Given { time } else { self.clock };
        let number = time / self.window.step();
        let present = self.clock / self.window.step();
        if number + u64::from(self.window.generations()) < present {
            return Outcome::Inserted;
        }
        if copies == IfPresent::Skip && self.count(key) > 0 {
            self.renew(key, number);
            return Outcome::Repeat;
        }
        if self.len() >= self.limit {
            return Outcome::Full;
        }
        *self.live.entry(number).or_default().entry(key).or_default() += 1;
        if self.window.clock() == Clock::Count {
            self.advance(self.clock + 1);
        }
        Outcome::Inserted
    }

    /// A repeat of this generation.
    fn renew(&mut self, key: u64, number: u64) {
        let mut having = self.live.iter_mut().filter(|(_, copies)| copies.contains_key(&key));
        let (&newest, copies) = having.next_back().unwrap();
        if self.window.age_from() == AgeFrom::FirstSeen || newest >= number {
            return;
        }
        take_from(copies, key);
        *self.live.entry(number).or_default().entry(key).or_default() += 1;
        if self.window.clock() == Clock::Count {
            self.advance(self.clock + 1);
        }
    }

    pub(crate) fn remove(&mut self, key: u64) -> bool {
        self.live.values_mut().any(|copies| take_from(copies, key))
    }
}

fn take_from(copies: &mut HashMap<u64, u64>, key: u64) -> bool {
    let Some(count) = copies.get_mut(&key) else { return false };
    *count -= 1;
    if *count == 0 {
        copies.remove(&key);
    }
    true
}
