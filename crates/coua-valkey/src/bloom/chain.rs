//! A chain of the library's Bloom filters as the value of a key.
//!
//! The library's own chain grows by twice and has no image; here the growth is the client's to choose.
//! Almeida, Baquero, Preguica, Hutchison 2007, "Scalable Bloom filters": each filter of the chain is
//! allowed half the error rate of the one before, so that the rates add up to less than the one asked
//! for, however many there are; as far as a hash of 64 bits can tell so many items apart.

use std::mem::size_of;
use std::slice;
use std::sync::{Mutex, PoisonError};

use coua::bloom::{BloomBuildError, BloomFilter};
use coua::sizing::bloom::BloomPlan;
use coua::{Key, KeyHash, KeyHasher};

use super::request::Blueprint;
use crate::redisbloom::BloomPart;
use crate::refusal::Refusal;
use crate::server::block_bytes;
use crate::value::first_change;
use crate::value::outcome::{Outcome, Outcomes};

/// Each filter is allowed this part of the error rate of the one before; the first, of the whole.
const TIGHTENING: f64 = 0.5;
/// By this part of the whole rate the filters whose rate cannot be halved any more may exceed it.
const EXCESS: f64 = 1.0 / 64.0;
/// Filters of a chain: each of them is asked about every absent item.
pub(super) const MOST_LINKS: u32 = 1024;
/// Keys that are looked up together.
const BLOCK: usize = 256;

/// One filter of a chain. Only the last one takes items.
pub(crate) struct Link {
    pub(super) filter: BloomFilter,
    /// Items that it holds at its rate.
    pub(super) capacity: u64,
    /// Items that it was given.
    pub(super) len: u64,
}

/// A chain of filters; at least one.
pub(crate) struct OwnBloom {
    pub(super) blueprint: Blueprint,
    pub(super) links: Vec<Link>,
    /// Goes up with every change, modulo 2^64; not saved.
    pub(super) changes: u64,
}

/// The part of the whole rate that the link with this number is allowed.
fn share_of(blueprint: &Blueprint, number: u32) -> f64 {
    match blueprint.expansion {
        None => blueprint.rate,
        Some(_) => blueprint.rate * TIGHTENING.powi(number.saturating_add(1).cast_signed()),
    }
}

/// Capacity and plan of the link with this number, from 0.
pub(super) fn plan_of(blueprint: &Blueprint, number: usize) -> Result<(u64, BloomPlan), Refusal> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let growth = blueprint.expansion.map_or(1, |by| u64::from(by).saturating_pow(number));
    let capacity = blueprint.capacity.saturating_mul(growth);
    let rate = share_of(blueprint, number);
    if number >= MOST_LINKS {
        return Err(Refusal::MaximumExpansions);
    }
    match plan_for_rate(capacity, rate) {
        Ok(plan) => Ok((capacity, plan)),
        Err(error) if number == 0 => Err(Refusal::Impossible(error.to_string())),
        // From here on no rate is smaller than a hash of 64 bits allows.
        Err(BloomBuildError::OutOfReach { lowest, .. })
            if lowest * f64::from(number + 1) <= blueprint.rate * EXCESS =>
        {
            let plan = BloomPlan::for_rate(capacity, lowest);
            plan.map(|plan| (capacity, plan)).map_err(|_| Refusal::MaximumExpansions)
        }
        Err(_) => Err(Refusal::MaximumExpansions),
    }
}

/// [`BloomPlan::for_rate`], which is remembered: it takes longer than all else that a small filter needs, and most filters
/// of a server are alike.
fn plan_for_rate(capacity: u64, rate: f64) -> Result<BloomPlan, BloomBuildError> {
    static LAST: Mutex<Option<(u64, f64, BloomPlan)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, plan)) = last.filter(|(of, at, _)| (*of, *at) == (capacity, rate)) {
        return Ok(plan);
    }
    let plan = BloomPlan::for_rate(capacity, rate)?;
    *last = Some((capacity, rate, plan));
    Ok(plan)
}

impl OwnBloom {
    /// An empty chain.
    pub(super) fn new(blueprint: Blueprint, limit: Option<u64>) -> Result<Self, Refusal> {
        let mut chain = Self { blueprint, links: Vec::new(), changes: first_change() };
        chain.grow(limit).map_err(|refusal| match refusal {
            Refusal::NoMemory => Refusal::NoMemoryToCreate,
            refusal => refusal,
        })?;
        Ok(chain)
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::siphash13(self.blueprint.hash_key)
    }

    fn grow(&mut self, limit: Option<u64>) -> Result<(), Refusal> {
        let (capacity, plan) = self.next_plan(limit)?;
        let link = self.link_of(capacity, plan)?;
        // Most chains have one filter, and there are many of them.
        self.links.try_reserve_exact(1).map_err(|_| Refusal::NoMemory)?;
        self.links.push(link);
        Ok(())
    }

    /// Capacity and plan of the next filter, if the limit permits it.
    fn next_plan(&self, limit: Option<u64>) -> Result<(u64, BloomPlan), Refusal> {
        let (capacity, plan) = plan_of(&self.blueprint, self.links.len())?;
        match limit {
            Some(limit) if self.memory_bytes().saturating_add(plan.bytes()) > limit => {
                Err(Refusal::KeyMemory { limit })
            }
            _ => Ok((capacity, plan)),
        }
    }

    fn link_of(&self, capacity: u64, plan: BloomPlan) -> Result<Link, Refusal> {
        let filter = BloomFilter::from_plan(plan, self.hasher()).map_err(|error| match error {
            BloomBuildError::Allocation { .. } => Refusal::NoMemory,
            error => Refusal::Impossible(error.to_string()),
        })?;
        Ok(Link { filter, capacity, len: 0 })
    }

    /// Whether the item seems to be there.
    pub(super) fn contains(&self, item: impl Key) -> bool {
        let hash = self.hasher().hash(item);
        // The last one first: it holds most.
        self.links.iter().rev().any(|link| link.filter.contains(hash))
    }

    /// Which items seem to be there.
    pub(super) fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        let mut present = Vec::with_capacity(items.len());
        for block in items.chunks(BLOCK) {
            present.extend(self.look(&self.hashes(block)));
        }
        present
    }

    fn hashes(&self, items: &[&[u8]]) -> Vec<KeyHash> {
        let hasher = self.hasher();
        items.iter().map(|item| hasher.hash(item)).collect()
    }

    fn look(&self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut present = vec![false; hashes.len()];
        for link in &self.links {
            let in_link = link.filter.contains_batch(hashes);
            for (present, &found) in present.iter_mut().zip(&in_link) {
                *present |= found;
            }
        }
        present
    }

    /// Inserts an item that is absent, and tells what became of it.
    pub(super) fn insert_one(&mut self, item: &[u8], limit: Option<u64>) -> Outcome {
        let outcome = self.insert_hash(self.hasher().hash(item), limit);
        self.has_inserted(slice::from_ref(&outcome));
        outcome
    }

    /// Inserts items that are absent, in order, and tells what became of each.
    pub(crate) fn insert(&mut self, items: &[&[u8]], limit: Option<u64>) -> Outcomes {
        let mut outcomes = Outcomes::with_capacity(items.len());
        for block in items.chunks(BLOCK) {
            let hashes = self.hashes(block);
            for (&hash, is_present) in hashes.iter().zip(self.look(&hashes)) {
                // An absent item is looked up again: another of this block may have set its bits.
                let outcome =
                    if is_present { Outcome::Present } else { self.insert_hash(hash, limit) };
                outcomes.push(outcome);
            }
        }
        self.has_inserted(&outcomes);
        outcomes
    }

    /// To be called after inserts.
    fn has_inserted(&mut self, outcomes: &[Outcome]) {
        if outcomes.iter().any(Outcome::is_in) {
            self.changes = self.changes.wrapping_add(1);
        }
    }

    fn insert_hash(&mut self, hash: KeyHash, limit: Option<u64>) -> Outcome {
        if self.contains(hash) {
            return Outcome::Present;
        }
        let is_full = |link: &Link| link.len >= link.capacity;
        if self.links.last().is_none_or(is_full) {
            if self.blueprint.expansion.is_none() {
                return Outcome::Refused(Refusal::NonScalingFull);
            }
            if let Err(refusal) = self.grow(limit) {
                return Outcome::Refused(refusal);
            }
        }
        if let Some(last) = self.links.last_mut() {
            last.filter.insert_unique(hash);
            last.len += 1;
        }
        Outcome::Inserted
    }

    /// Items that were inserted.
    pub(super) fn len(&self) -> u64 {
        self.links.iter().map(|link| link.len).sum()
    }

    /// The filters of the chain, the first one first.
    pub(super) fn parts(&self) -> Vec<BloomPart> {
        let part = |(number, link): (usize, &Link)| BloomPart {
            bytes: link.filter.memory_bytes() as u64,
            bits: link.filter.bits(),
            hashes: link.filter.probes(),
            capacity: link.capacity,
            items: link.len,
            rate: share_of(&self.blueprint, number as u32),
        };
        self.links.iter().enumerate().map(part).collect()
    }

    /// Items that the filters now there hold.
    pub(super) fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.capacity))
    }

    /// Bytes of memory, the same in a copy.
    pub(super) fn memory_bytes(&self) -> u64 {
        let bits: usize = self.links.iter().map(|link| link.filter.memory_bytes()).sum();
        (size_of::<Self>() + self.links.len() * size_of::<Link>() + bits) as u64
    }

    /// Bytes that the allocator has given for what it points to.
    pub(super) fn allocated_bytes(&self) -> u64 {
        let list = block_bytes((self.links.capacity() * size_of::<Link>()) as u64);
        let bits = self.links.iter().map(|link| block_bytes(link.filter.memory_bytes() as u64));
        list + bits.sum::<u64>()
    }

    /// Refused unless the chain can grow to as many items, within its limit of memory.
    pub(super) fn check_scale(
        blueprint: &Blueprint,
        items: u64,
        limit: Option<u64>,
    ) -> Result<(), Refusal> {
        let (mut capacity, mut bytes, mut number) = (0u64, 0u64, 0);
        while capacity < items {
            let (more, plan) =
                plan_of(blueprint, number).map_err(|_| Refusal::ScaleBeyondRate { items })?;
            capacity = capacity.saturating_add(more);
            bytes = bytes.saturating_add(plan.bytes());
            number += 1;
            if limit.is_some_and(|limit| bytes > limit) {
                return Err(Refusal::ScaleBeyondMemory { items });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
