//! A filter in memory alone, in as many parts as are useful: several threads can ask it.
//!
//! The first bits of a key's hash name the part, which is a filter of the other bits. Each part is asked about
//! the blocks in their order, whichever thread does it. So it answers as it would if one thread asked all.

use crate::filter::collisions;
use crate::filter::division::{Division, HASH_BITS};
use crate::filter::estimate::Forecast;
use crate::filter::op::Stop;
use crate::filter::spec::FilterSpec;
use crate::input::Survey;
use crate::key::{Answers, Found, Group, Keyed};
use crate::pipeline::Early;
use crate::terminal::{FilterFigures, Result};
use coua::{CuckooFilter, KeyHash};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The parts, by the first bits of their keys.
#[derive(Debug)]
pub(crate) struct Parts {
    parts: Vec<Mutex<Part>>,
    division: Division,
}

#[derive(Debug)]
struct Part {
    filter: CuckooFilter,
    forecast: Option<Forecast>,
}

impl Parts {
    /// As many parts as so many threads can use.
    pub(crate) fn new(spec: &FilterSpec, inputs: &Survey, threads: NonZeroUsize) -> Result<Self> {
        let division = Division::for_threads(threads);
        let part = |_| {
            let filter = spec.build_with_hash_bits(HASH_BITS - division.bits)?;
            Ok(Mutex::new(Part { filter, forecast: Forecast::new(inputs.total_bytes) }))
        };
        let parts = (0..division.parts()).map(part).collect::<Result<_>>()?;
        Ok(Self { parts, division })
    }

    fn part(&self, number: usize) -> MutexGuard<'_, Part> {
        self.parts[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hasher(&self) -> coua::KeyHasher {
        self.part(0).filter.hasher()
    }

    /// Of one part; all are alike.
    pub(super) fn load(&self) -> f64 {
        self.part(0).filter.load_factor()
    }

    /// The answers for all keys, from those of the parts: up to the first key for which there was no room.
    pub(crate) fn answer(&self, keyed: &Keyed, answers: &mut Answers) -> Result<(), Stop> {
        let merged = self.division.merge(keyed, answers);
        // To the user the parts are one filter.
        let before = answers.groups.iter().map(|group| group.items_before).sum::<u64>();
        let new = answers.count(Found::No);
        collisions::expect(answers, new, [before, before + new], HASH_BITS.into());
        merged.map_err(|part| {
            let stopped = answers.groups[part].stopped;
            let mut stopped = stopped.expect("a part without room for a key says so");
            (stopped.done, stopped.full.items) = (answers.found.len(), before + new);
            Stop::full(stopped)
        })
    }

    /// What there is to say of all parts together.
    pub(super) fn figures(&self) -> FilterFigures {
        let parts: Vec<_> = (0..self.parts.len()).map(|number| self.part(number)).collect();
        let sum = |figure: fn(&CuckooFilter) -> u64| -> u64 {
            parts.iter().map(|part| figure(&part.filter)).sum()
        };
        let mean = |figure: fn(&CuckooFilter) -> f64| {
            parts.iter().map(|part| figure(&part.filter)).sum::<f64>() / parts.len() as f64
        };
        let items = sum(CuckooFilter::len);
        FilterFigures {
            items,
            load: Some(items as f64 / sum(CuckooFilter::slots) as f64),
            memory_bytes: sum(|part| part.memory_bytes() as u64),
            hash_bits: Some(f64::from(self.division.bits) + mean(CuckooFilter::hash_bits)),
            false_positive_rate: Some(mean(CuckooFilter::false_positive_rate)),
            window: None,
        }
    }
}

impl Early for Parts {
    /// Groups the keys by their parts.
    fn look(&self, keyed: &Keyed, answers: &mut Answers) {
        let own = |hash: KeyHash| KeyHash::from_u64(hash.to_u64() << self.division.bits);
        self.division.group(keyed, answers, own);
    }

    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn ask_part(&self, part: usize, group: &mut Group, consumed: u64) {
        let Part { filter, forecast } = &mut *self.part(part);
        group.items_before = filter.len();
        let result = filter.insert_unique_batch_into(&group.hashes, &mut group.outcomes);
        group.stopped = result.err();
        let done = group.stopped.map_or(group.hashes.len(), |stopped| stopped.done);
        group.outcomes.truncate(done);
        if let Some(forecast) = forecast {
            forecast.make_room(consumed, group.hashes.len(), filter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::division::MOST_BITS;
    use std::collections::HashSet;

    /// Hashes of which about half are repeats.
    fn hashes(number: u64) -> Vec<KeyHash> {
        let mix = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        (0..number).map(|key| KeyHash::from_u64(mix(mix(key) % (number / 2)))).collect()
    }

    fn answered(parts: &Parts, hashes: &[KeyHash]) -> (Vec<Found>, Result<(), Stop>) {
        let keyed = Keyed { hashes: hashes.to_vec(), ..Keyed::default() };
        let mut answers = Answers::default();
        parts.look(&keyed, &mut answers);
        let groups = &mut answers.groups;
        groups.iter_mut().enumerate().for_each(|(part, group)| parts.ask_part(part, group, 0));
        let result = parts.answer(&keyed, &mut answers);
        (answers.found, result)
    }

    /// Parts that take so many items.
    fn parts(most: &[u64]) -> Parts {
        let bits = most.len().ilog2();
        let part = |most: &u64| {
            let builder = CuckooFilter::builder().hash_bits(HASH_BITS - bits).max_items(*most);
            Mutex::new(Part { filter: builder.build().unwrap(), forecast: None })
        };
        Parts { parts: most.iter().map(part).collect(), division: Division { bits } }
    }

    #[test]
    fn all_together_answer_as_one() {
        for bits in 0..=MOST_BITS {
            let parts = parts(&vec![u64::MAX; 1 << bits]);
            let mut seen = HashSet::new();
            for block in hashes(50_000).chunks(777) {
                let (found, answer) = answered(&parts, block);
                assert!(answer.is_ok() && found.len() == block.len());
                for (hash, found) in block.iter().zip(found) {
                    assert_eq!(!seen.insert(hash.to_u64()), found == Found::Yes);
                }
            }
            assert_eq!(parts.figures().items, seen.len() as u64);
            let mean = seen.len() as u64 >> bits;
            let alike = |part: usize| parts.part(part).filter.len().abs_diff(mean) < 1_000;
            assert!((0..1 << bits).all(alike), "{bits} bits");
        }
    }

    #[test]
    fn the_first_record_without_room_ends_it() {
        let hashes = hashes(400);
        for most in [[11, 11], [11, 21], [21, 11], [2, 61], [61, 2], [1, 1]] {
            let parts = parts(&most);
            let (mut seen, mut items) = (HashSet::new(), [0; 2]);
            let fits = |hash: &&KeyHash| {
                let part = parts.division.part_of(**hash);
                items[part] += u64::from(seen.insert(hash.to_u64()));
                items[part] <= most[part]
            };
            let expected = hashes.iter().take_while(fits).count();
            let (found, answer) = answered(&parts, &hashes);
            let Err(Stop::Full { nth, why }) = answer else { panic!("{answer:?}") };
            assert_eq!((nth, found.len()), (expected, expected), "{most:?}");
            let different: HashSet<_> = hashes[..expected].iter().map(|h| h.to_u64()).collect();
            let new = found.iter().filter(|found| **found == Found::No).count();
            assert_eq!(new, different.len());
            assert!(why.contains(&format!("{new} items")), "of both parts: {why}");
        }
    }
}
