//! A Bloom filter of the peer, kept in its own layout.
//!
//! A chain of Bloom filters, each larger than the one before by the growth, and with half its error
//! rate. An item goes to the newest; it is there if one of them says so. The same inserts make the same
//! bytes as in the peer.

mod chunks;
mod describe;
mod link;
mod options;
mod rdb;
mod sizing;

pub use describe::BloomPart;

use super::error::{InsertError, LoadError, number};
use super::limits::Limits;
use super::memory::reserve;
use link::Link;
use options::{Options, Sizing};
use sizing::Numbers;

/// After so many halvings there is no error rate left; see `sizing::MAX_HASHES`.
const MAX_LINKS: u64 = 1100;

/// A Bloom filter in the layout of RedisBloom (`MBbloom--`).
#[derive(Debug)]
pub struct PeerBloom {
    options: Options,
    /// How many times more entries each filter has than the one before.
    growth: u32,
    items: u64,
    /// At least one, from the oldest to the newest.
    links: Vec<Link>,
}

impl PeerBloom {
    /// An empty filter as the peer reserves it. Without an expansion it does not grow.
    ///
    /// # Errors
    /// Parameters that the peer does not take, or a filter that is too large.
    pub fn with_capacity(
        capacity: u64,
        error: f64,
        expansion: Option<u32>,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let options = Options::of_today(expansion);
        // A chain that grows ends up with the sum of 1/2, 1/4, 1/8 of the rate and so on.
        let first = if options.scales() { error * 0.5 } else { error };
        let expected = "more than 0 and less than 1, and not too large for the capacity";
        let numbers = Numbers::plan(capacity, first, Sizing::Exact);
        let refused = LoadError::Fraction { name: "error rate", found: error, expected };
        let numbers = numbers.ok_or(refused)?;
        check_growth(options, expansion.unwrap_or(DEFAULT_GROWTH))?;
        limits.check(numbers.bytes)?;
        let links = vec![Link::planned(numbers)?];
        Ok(Self { options, growth: expansion.unwrap_or(DEFAULT_GROWTH), items: 0, links })
    }

    /// Adds an item. True if it was not there.
    ///
    /// # Errors
    /// The filter is full and cannot grow; nothing has changed.
    pub fn insert(&mut self, item: &[u8], limits: &Limits) -> Result<bool, InsertError> {
        let hashes = self.options.hashes(item);
        if self.links.iter().rev().any(|link| link.contains(hashes)) {
            return Ok(false);
        }
        if self.links.last().is_none_or(Link::is_full) {
            self.grow(limits)?;
        }
        if let Some(newest) = self.links.last_mut() {
            newest.insert(hashes);
        }
        // Stated items may be as many as there are numbers.
        self.items = self.items.saturating_add(1);
        Ok(true)
    }

    /// Whether the item may be there.
    pub fn contains(&self, item: &[u8]) -> bool {
        let hashes = self.options.hashes(item);
        self.links.iter().rev().any(|link| link.contains(hashes))
    }

    fn grow(&mut self, limits: &Limits) -> Result<(), InsertError> {
        if !self.options.scales() {
            return Err(InsertError::Full { items: self.items });
        }
        let newest = self.links.last().map(Link::numbers);
        let next = newest.and_then(|newest| newest.next(self.growth, self.options.sizing()));
        let sub_filters = self.filters();
        let next = next.filter(|_| u64::from(sub_filters) < MAX_LINKS);
        let next = next.ok_or(InsertError::CannotGrow { sub_filters })?;
        limits.check(self.array_bytes().saturating_add(next.bytes))?;
        reserve(&mut self.links, 1)?;
        self.links.push(Link::planned(next)?);
        Ok(())
    }
}

/// Growth of chains from before it could be chosen, and of those that do not grow.
const DEFAULT_GROWTH: u32 = 2;

/// Checks what was read of a chain before its filters.
fn check_growth(options: Options, growth: u32) -> Result<(), LoadError> {
    number("growth", growth, |n| n > 0 || !options.scales(), "at least 1")
}

fn check_count(links: u64) -> Result<(), LoadError> {
    number("number of filters", links, |n| (1..=MAX_LINKS).contains(&n), "1 to 1100")
}

impl PeerBloom {
    /// The chain, if it has as many items as its filters.
    pub(super) fn checked(self) -> Result<Self, LoadError> {
        let sum = self.links.iter().map(Link::items).fold(0, u64::saturating_add);
        if sum == self.items {
            return Ok(self);
        }
        let expected = "the sum of the items of its filters";
        Err(LoadError::Number { name: "number of items", found: self.items, expected })
    }
}
