//! A chain of the library's Bloom filters as the value of a key.
//!
//! The library's own chain doubles and has no image; here the client chooses the growth. Almeida,
//! Baquero, Preguica, Hutchison 2007, "Scalable Bloom filters": each filter of the chain has half the
//! false-positive rate of the one before, so the rates of any number of filters add up to less than the
//! requested rate, as far as 64-bit hashes can distinguish the items.

use std::mem::size_of;
use std::slice;
use std::sync::{Mutex, PoisonError};

use coua::bloom::{BloomBuildError, BloomFilter};
use coua::sizing::bloom::BloomPlan;
use coua::{KeyHash, KeyHasher};

use super::bloom_request::BloomSpec;
use crate::error::CommandError;
use crate::redisbloom::BloomPart;
use crate::server::block_bytes;
use crate::value::{NativeFilter, Outcome, Outcomes, first_change};

/// The rate of each filter as a part of the one before; for the first, of the whole rate.
const TIGHTENING: f64 = 0.5;
/// Filters whose rate cannot be halved any more may exceed the whole rate by this part of it.
const EXCESS: f64 = 1.0 / 64.0;
/// The most filters of a chain: looking up an absent item queries each of them.
pub(super) const MOST_LINKS: u32 = 1024;
/// Items looked up together.
const BLOCK: usize = 256;

/// One filter of a chain. Items are added only to the last one.
pub(crate) struct ChainLink {
    pub(super) filter: BloomFilter,
    /// The number of items up to which it keeps its rate.
    pub(super) capacity: u64,
    /// The number of items added.
    pub(super) len: u64,
}

/// A chain of filters; at least one.
pub(crate) struct NativeBloom {
    pub(super) spec: BloomSpec,
    pub(super) links: Vec<ChainLink>,
    /// Increases with every change, modulo 2^64; not saved.
    pub(super) changes: u64,
}

/// The share of the link with this number in the whole rate.
fn share_of(spec: &BloomSpec, number: u32) -> f64 {
    match spec.expansion {
        None => spec.rate,
        Some(_) => spec.rate * TIGHTENING.powi(number.saturating_add(1).cast_signed()),
    }
}

/// Capacity and plan of the link with this number, from 0.
pub(super) fn plan_of(spec: &BloomSpec, number: usize) -> Result<(u64, BloomPlan), CommandError> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let growth = spec.expansion.map_or(1, |by| u64::from(by).saturating_pow(number));
    let capacity = spec.capacity.saturating_mul(growth);
    let rate = share_of(spec, number);
    if number >= MOST_LINKS {
        return Err(CommandError::MaximumExpansions);
    }
    match plan_for_rate(capacity, rate) {
        Ok(plan) => Ok((capacity, plan)),
        Err(error) if number == 0 => Err(CommandError::Impossible(error.to_string())),
        // From here on, all filters have the smallest rate that a 64-bit hash allows.
        Err(BloomBuildError::OutOfReach { lowest, .. })
            if lowest * f64::from(number + 1) <= spec.rate * EXCESS =>
        {
            let plan = BloomPlan::for_rate(capacity, lowest);
            plan.map(|plan| (capacity, plan)).map_err(|_| CommandError::MaximumExpansions)
        }
        Err(_) => Err(CommandError::MaximumExpansions),
    }
}

/// [`BloomPlan::for_rate`], with the last result cached: it takes longer than the rest of creating a small
/// filter, and most filters of a server have the same options.
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

impl NativeBloom {
    /// An empty chain.
    pub(super) fn new(spec: BloomSpec, limit: Option<u64>) -> Result<Self, CommandError> {
        let mut chain = Self { spec, links: Vec::new(), changes: first_change().into() };
        chain.grow(limit).map_err(|refusal| match refusal {
            CommandError::NoMemory => CommandError::NoMemoryToCreate,
            refusal => refusal,
        })?;
        Ok(chain)
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::siphash13(self.spec.hash_key)
    }

    fn grow(&mut self, limit: Option<u64>) -> Result<(), CommandError> {
        let (capacity, plan) = self.next_plan(limit)?;
        let link = self.link_of(capacity, plan)?;
        // Most chains have one filter, and there are many of them.
        self.links.try_reserve_exact(1).map_err(|_| CommandError::NoMemory)?;
        self.links.push(link);
        Ok(())
    }

    /// Capacity and plan of the next filter, if the limit permits it.
    fn next_plan(&self, limit: Option<u64>) -> Result<(u64, BloomPlan), CommandError> {
        let (capacity, plan) = plan_of(&self.spec, self.links.len())?;
        match limit {
            Some(limit) if self.memory_bytes().saturating_add(plan.bytes()) > limit => {
                Err(CommandError::KeyMemory { limit })
            }
            _ => Ok((capacity, plan)),
        }
    }

    fn link_of(&self, capacity: u64, plan: BloomPlan) -> Result<ChainLink, CommandError> {
        let filter = BloomFilter::from_plan(plan, self.hasher()).map_err(|error| match error {
            BloomBuildError::Allocation { .. } => CommandError::NoMemory,
            error => CommandError::Impossible(error.to_string()),
        })?;
        Ok(ChainLink { filter, capacity, len: 0 })
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        // The last one first, because it has the most items.
        self.links.iter().rev().any(|link| link.filter.contains(hash))
    }

    fn hashes(&self, items: &[&[u8]]) -> Vec<KeyHash> {
        let hasher = self.hasher();
        items.iter().map(|item| hasher.hash(item)).collect()
    }

    fn contains_hashes(&self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut present = vec![false; hashes.len()];
        for link in &self.links {
            let in_link = link.filter.contains_batch(hashes);
            for (present, &found) in present.iter_mut().zip(&in_link) {
                *present |= found;
            }
        }
        present
    }

    /// Inserts absent items in order, and returns an outcome for each.
    pub(crate) fn insert(&mut self, items: &[&[u8]], limit: Option<u64>) -> Outcomes {
        let mut outcomes = Outcomes::with_capacity(items.len());
        for block in items.chunks(BLOCK) {
            let hashes = self.hashes(block);
            for (&hash, is_present) in hashes.iter().zip(self.contains_hashes(&hashes)) {
                // Absent items are looked up again, because another item of this block may have set their bits.
                let outcome =
                    if is_present { Outcome::Present } else { self.insert_hash(hash, limit) };
                outcomes.push(outcome);
            }
        }
        self.after_insertion(&outcomes);
        outcomes
    }

    /// Must be called after inserts.
    fn after_insertion(&mut self, outcomes: &[Outcome]) {
        if outcomes.iter().any(Outcome::is_in) {
            self.changes = self.changes.wrapping_add(1);
        }
    }

    fn insert_hash(&mut self, hash: KeyHash, limit: Option<u64>) -> Outcome {
        if self.contains_hash(hash) {
            return Outcome::Present;
        }
        let is_full = |link: &ChainLink| link.len >= link.capacity;
        if self.links.last().is_none_or(is_full) {
            if self.spec.expansion.is_none() {
                return Outcome::Refused(CommandError::NonScalingFull);
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

    /// The filters of the chain, the first one first.
    pub(super) fn parts(&self) -> Vec<BloomPart> {
        let part = |(number, link): (usize, &ChainLink)| BloomPart {
            bytes: link.filter.memory_bytes() as u64,
            bits: link.filter.bits(),
            hashes: link.filter.probes(),
            capacity: link.capacity,
            items: link.len,
            rate: share_of(&self.spec, number as u32),
        };
        self.links.iter().enumerate().map(part).collect()
    }

    /// The total capacity of the existing filters.
    pub(super) fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.capacity))
    }

    /// Refuses a chain that cannot grow to this many items within its memory limit.
    pub(super) fn check_scale(
        spec: &BloomSpec,
        items: u64,
        limit: Option<u64>,
    ) -> Result<(), CommandError> {
        let (mut capacity, mut bytes, mut number) = (0u64, 0u64, 0);
        while capacity < items {
            let (more, plan) =
                plan_of(spec, number).map_err(|_| CommandError::ScaleBeyondRate { items })?;
            capacity = capacity.saturating_add(more);
            bytes = bytes.saturating_add(plan.bytes());
            number += 1;
            if limit.is_some_and(|limit| bytes > limit) {
                return Err(CommandError::ScaleBeyondMemory { items });
            }
        }
        Ok(())
    }
}

impl NativeFilter for NativeBloom {
    type Copies = ();

    fn insert_item(&mut self, item: &[u8], (): (), limit: Option<u64>) -> Outcome {
        let outcome = self.insert_hash(self.hasher().hash(item), limit);
        self.after_insertion(slice::from_ref(&outcome));
        outcome
    }

    fn insert_items(&mut self, items: &[&[u8]], (): (), limit: Option<u64>) -> Outcomes {
        self.insert(items, limit)
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.contains_hash(self.hasher().hash(item))
    }

    fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        let mut present = Vec::with_capacity(items.len());
        for block in items.chunks(BLOCK) {
            present.extend(self.contains_hashes(&self.hashes(block)));
        }
        present
    }

    fn len(&self) -> u64 {
        self.links.iter().map(|link| link.len).sum()
    }

    fn changes(&self) -> u64 {
        self.changes
    }

    fn memory_bytes(&self) -> u64 {
        let bits: usize = self.links.iter().map(|link| link.filter.memory_bytes()).sum();
        (size_of::<Self>() + self.links.len() * size_of::<ChainLink>() + bits) as u64
    }

    fn allocated_bytes(&self) -> u64 {
        let list = block_bytes((self.links.capacity() * size_of::<ChainLink>()) as u64);
        let bits = self.links.iter().map(|link| block_bytes(link.filter.memory_bytes() as u64));
        list + bits.sum::<u64>()
    }

    fn pieces(&self) -> usize {
        self.links.len()
    }

    fn try_clone(&self) -> Result<Self, CommandError> {
        // The library's copy aborts without memory, so the allocation is tried first.
        let tried = Vec::<u8>::new().try_reserve_exact(self.memory_bytes() as usize);
        tried.map_err(|_| CommandError::NoMemory)?;
        let copy = |link: &ChainLink| ChainLink { filter: link.filter.clone(), ..*link };
        let links = self.links.iter().map(copy).collect();
        Ok(Self { spec: self.spec.clone(), links, changes: first_change().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::Bloom;
    use crate::server::ValueType;
    use crate::value::{FilterImage as _, Value};

    fn chain(capacity: u64, rate: f64, expansion: Option<u32>) -> NativeBloom {
        let spec = BloomSpec { capacity, rate, expansion, hash_key: [3; 16] };
        NativeBloom::new(spec, None).unwrap()
    }

    fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
        range.map(u32::to_le_bytes).collect()
    }

    fn items(keys: &[[u8; 4]]) -> Vec<&[u8]> {
        keys.iter().map(<[u8; 4]>::as_slice).collect()
    }

    #[test]
    fn the_rate_holds_while_the_chain_grows() {
        for expansion in [1, 2, 4] {
            let mut chain = chain(1_000, 0.01, Some(expansion));
            let keys_in = keys(0..20_000);
            chain.insert(&items(&keys_in), None);
            assert!(chain.contains_all(&items(&keys_in)).into_iter().all(|present| present));
            let absent = keys(1_000_000..1_100_000);
            let wrong = chain.contains_all(&items(&absent)).into_iter().filter(|&p| p).count();
            // 1,000 expected, plus five standard deviations.
            assert!(wrong < 1_160, "expansion {expansion}: {wrong}");
        }
    }

    #[test]
    fn a_batch_answers_as_single_inserts_do() {
        let (mut batch, mut single) = (chain(10, 0.1, Some(2)), chain(10, 0.1, Some(2)));
        let repeated = [keys(0..200), keys(100..300), keys(0..50)].concat();
        let outcomes = batch.insert(&items(&repeated), None);
        let one_by_one: Outcomes =
            repeated.iter().flat_map(|key| single.insert(&[key], None)).collect();
        assert_eq!(outcomes, one_by_one);
        assert_eq!(batch.len(), single.len());
    }

    #[test]
    fn a_chain_that_may_not_grow_refuses_when_full() {
        let mut chain = chain(10, 0.01, None);
        let outcomes = chain.insert(&items(&keys(0..20)), None);
        let refused = Outcome::Refused(CommandError::NonScalingFull);
        assert_eq!(outcomes.iter().filter(|&outcome| *outcome == refused).count(), 10);
        assert_eq!(chain.insert(&items(&keys(0..1)), None)[..], [Outcome::Present]);
    }

    #[test]
    fn scale_is_checked_before_a_filter_is_made() {
        let spec = |rate| BloomSpec { capacity: 100, rate, expansion: Some(2), hash_key: [0; 16] };
        assert_eq!(NativeBloom::check_scale(&spec(0.01), 1_000_000, None), Ok(()));
        assert_eq!(
            NativeBloom::check_scale(&spec(0.01), 1_000_000, Some(1_000)),
            Err(CommandError::ScaleBeyondMemory { items: 1_000_000 })
        );
        assert_eq!(
            NativeBloom::check_scale(&spec(1e-9), u64::MAX, None),
            Err(CommandError::ScaleBeyondRate { items: u64::MAX })
        );
    }

    #[test]
    fn a_chain_of_few_large_filters_is_freed_in_the_background() {
        // Above 64, the server frees it in the background.
        let effort = |chain: NativeBloom| Value::<Bloom>::Native(chain).free_effort();
        assert!(effort(chain(10_000_000, 0.01, None)) > 64);
        assert!(effort(chain(1_000, 0.01, None)) < 8);
    }

    /// Not earlier, because the next filter is larger than all before it.
    #[test]
    fn the_next_filter_takes_memory_when_it_is_needed() {
        let mut chain = chain(100_000, 0.01, Some(2));
        let empty = chain.allocated_bytes();
        let keys_in = keys(0..200_000);
        for key in &keys_in {
            let is_full = chain.len() >= 100_000;
            assert!(is_full || chain.allocated_bytes() == empty, "{} items", chain.len());
            chain.insert(&[key], None);
        }
        assert_eq!(chain.links.len(), 2);
    }

    /// The rates of its filters halve down to the smallest that a 64-bit hash allows.
    #[test]
    fn a_chain_grows_beyond_the_smallest_rate_of_a_filter() {
        let mut chain = chain(100, 0.01, Some(1));
        let keys_in = keys(0..20_000);
        let outcomes = chain.insert(&items(&keys_in), None);
        let refused = outcomes.iter().filter(|it| matches!(it, Outcome::Refused(_))).count();
        assert_eq!(refused, 0);
        let absent = keys(1_000_000..1_100_000);
        let wrong = chain.contains_all(&items(&absent)).into_iter().filter(|&p| p).count();
        assert!(wrong < 1_160, "{wrong}");
        let mut image = Vec::new();
        chain.write(&mut image).unwrap();
        let (magic, mut rest) = image.split_first_chunk().unwrap();
        assert_eq!(NativeBloom::read(*magic, &mut rest).unwrap().len(), chain.len());
    }

    /// If this begins with the second filter, the rates would add up to more than the requested rate.
    #[test]
    fn a_chain_of_filters_at_the_smallest_rate_does_not_grow() {
        let smallest = 2.0 * 1_000.0 / 64f64.exp2();
        let mut chain = chain(1_000, 2.0 * smallest, Some(1));
        let outcomes = chain.insert(&items(&keys(0..3_000)), None);
        assert_eq!(outcomes.last(), Some(&Outcome::Refused(CommandError::MaximumExpansions)));
    }
}
