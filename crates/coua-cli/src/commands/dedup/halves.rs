//! The filter of a run that remembers nothing afterwards, in two halves: two threads can ask it.
//!
//! The first bit of a key's hash names the half, which is a filter of the other 63 bits. A thread asks
//! the first half about a block, the next one the second half. So each half is asked in the order of
//! the records, and answers as it would if one thread asked both.

use super::Args;
use super::tally::{Counts, Saved, Tally, answered_in};
use crate::pipeline::{Answer, Early, Flow};
use crate::record::block::Block;
use crate::run::preflight::Ready;
use crate::target::collisions;
use crate::target::estimate::Forecast;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use coua::{BatchFull, CuckooFilter, Insertion, KeyHash};
use std::mem;

/// Bits of a hash that a half remembers.
const BITS: u32 = 63;

pub(super) fn run(args: &Args, ready: Ready<'_>) -> Result<Exit, Failure> {
    args.now.for_window(None)?;
    let half = |number| {
        let filter = args.filter.build_with_hash_bits(BITS)?;
        Ok(Half::new(number, filter, Forecast::new(ready.inputs.total_bytes)))
    };
    let (mut first, second) = (half(0)?, half(1)?);
    let hasher = second.filter.hasher();
    let mut outputs = ready.open_outputs()?;
    let session = ready.session(Counted::Unique)?;
    let pipeline = session.pipeline(ready.reading, hasher);
    let tally = Tally::new(session, Counts::default(), &args.output);
    let mut dedup = Halved { second, outcomes: Vec::new(), tally };
    let mut prepare = |block: &mut Block| first.answer_first(block);
    let read = pipeline.run_early(Early::Prepare(&mut prepare), &mut dedup, &mut outputs);
    dedup.tally.session.end(read)?;
    let Halved { second, mut tally, .. } = dedup;
    tally.counts.expected_wrongly_dropped =
        first.expected_wrongly_dropped + second.expected_wrongly_dropped;
    tally.finish([&first.filter, &second.filter], Saved::NOWHERE)
}

#[derive(Debug)]
struct Halved {
    second: Half,
    outcomes: Vec<Insertion>,
    tally: Tally,
}

impl Answer for Halved {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.tally.session.note(block);
        let answered = self.second.answer_rest(block, &mut self.outcomes);
        self.tally.count(&self.outcomes);
        self.tally.select(block, &self.outcomes);
        if let Err(stopped) = answered {
            self.tally.refuse(block, stopped);
            return Ok(Flow::Enough);
        }
        Ok(self.tally.show(self.second.filter.load()))
    }
}

/// The half that a key belongs to.
fn half_of(hash: KeyHash) -> usize {
    (hash.to_u64() >> BITS) as usize
}

/// The answers for all keys, from those of the halves.
fn merge(hashes: &[KeyHash], halves: [&[Insertion]; 2], outcomes: &mut Vec<Insertion>) {
    let mut next = [0; 2];
    outcomes.clear();
    outcomes.extend(hashes.iter().map(|hash| {
        let half = half_of(*hash);
        let outcome = halves[half][next[half]];
        next[half] += 1;
        outcome
    }));
}

#[derive(Debug)]
struct Half {
    number: usize,
    filter: CuckooFilter,
    forecast: Option<Forecast>,
    records: u64,
    /// Its keys of the block, and its answers.
    hashes: Vec<KeyHash>,
    outcomes: Vec<Insertion>,
    /// Records of its own taken for repeats that are none, as many as chance has it.
    expected_wrongly_dropped: f64,
}

impl Half {
    fn new(number: usize, filter: CuckooFilter, forecast: Option<Forecast>) -> Self {
        let (hashes, outcomes) = (Vec::new(), Vec::new());
        let (records, expected_wrongly_dropped) = (0, 0.0);
        Self { number, filter, forecast, records, hashes, outcomes, expected_wrongly_dropped }
    }

    /// What the first half has to say about a block, in the block.
    fn answer_first(&mut self, block: &mut Block) {
        block.first_half.items_before = self.filter.len();
        let answered = self.insert_unique(&block.hashes, block.consumed);
        block.first_half.stopped = answered.err();
        mem::swap(&mut block.first_half.outcomes, &mut self.outcomes);
    }

    /// What both halves have to say about a block: the first one has answered, this is the second.
    /// An error counts hashes of the block, and `outcomes` ends there.
    fn answer_rest(
        &mut self,
        block: &Block,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let first = &block.first_half;
        let before = first.stopped.map_or(block.hashes.len(), |stopped| stopped.done);
        let items_before = first.items_before + self.filter.len();
        // What this half refuses comes before what the first one has refused.
        let answered = self.insert_unique(&block.hashes[..before], block.consumed);
        let answered = answered.and(first.stopped.map_or(Ok(()), Err));
        let answered_for = answered.map_or_else(|stopped| stopped.done, |()| before);
        merge(&block.hashes[..answered_for], [&first.outcomes, &self.outcomes], outcomes);
        answered.map_err(|mut stopped| {
            // Those of both halves up to here: to the user they are one filter.
            stopped.full.items = items_before + answered_in(outcomes).new;
            stopped
        })
    }

    /// Inserts those of the hashes that are its own, and answers for them. An error counts all hashes
    /// before the one for which there was no room.
    fn insert_unique(&mut self, hashes: &[KeyHash], consumed: u64) -> Result<(), BatchFull> {
        self.take_own(hashes);
        let before = self.filter.len();
        let answered = self.filter.insert_unique_batch_into(&self.hashes, &mut self.outcomes);
        let (items, bits) = ([before, self.filter.len()], self.filter.hash_bits());
        let counted = answered_in(&self.outcomes);
        self.expected_wrongly_dropped += collisions::among_repeats(counted, items, bits);
        answered.map_err(|mut stopped| {
            let own = (0..).zip(hashes).filter(|(_, hash)| half_of(**hash) == self.number);
            stopped.done = own.map(|(place, _)| place).nth(stopped.done).unwrap_or(hashes.len());
            stopped
        })?;
        self.records += hashes.len() as u64;
        if let Some(forecast) = &mut self.forecast {
            forecast.make_room(consumed, self.records, &mut self.filter);
        }
        Ok(())
    }

    fn take_own(&mut self, hashes: &[KeyHash]) {
        self.hashes.clear();
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        let mut own = 0;
        // Every second hash stays, which no processor foresees: all are written, and some again.
        for hash in hashes {
            self.hashes[own] = KeyHash::from_u64(hash.to_u64() << (64 - BITS));
            own += usize::from(half_of(*hash) == self.number);
        }
        self.hashes.truncate(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Hashes of which about half are repeats.
    fn hashes(number: u64) -> Vec<KeyHash> {
        let mix = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        (0..number).map(|key| KeyHash::from_u64(mix(mix(key) % (number / 2)))).collect()
    }

    fn answered(
        halves: &mut [Half; 2],
        hashes: Vec<KeyHash>,
    ) -> (Vec<Insertion>, Result<(), BatchFull>) {
        let mut block = Block { hashes, ..Block::default() };
        halves[0].answer_first(&mut block);
        let mut outcomes = vec![Insertion::Inserted; 3];
        let answer = halves[1].answer_rest(&block, &mut outcomes);
        (outcomes, answer)
    }

    fn halves(most: [u64; 2]) -> [Half; 2] {
        [0, 1].map(|number| {
            let builder = CuckooFilter::builder().hash_bits(BITS).max_items(most[number]);
            Half::new(number, builder.build().unwrap(), None)
        })
    }

    #[test]
    fn both_together_answer_as_one() {
        let mut halves = halves([u64::MAX; 2]);
        let mut seen = HashSet::new();
        for block in hashes(50_000).chunks(777) {
            let (outcomes, answer) = answered(&mut halves, block.to_vec());
            assert!(answer.is_ok() && outcomes.len() == block.len());
            for (hash, outcome) in block.iter().zip(outcomes) {
                assert_eq!(seen.insert(hash.to_u64()), outcome == Insertion::Inserted);
            }
        }
        let [first, second] = halves.map(|half| half.filter.len());
        assert_eq!(first + second, seen.len() as u64);
        assert!(first.abs_diff(second) < 1_000, "{first} {second}");
    }

    #[test]
    fn the_first_record_without_room_ends_it() {
        let hashes = hashes(400);
        for most in [[11, 11], [11, 21], [21, 11], [2, 61], [61, 2], [1, 1]] {
            let (mut seen, mut items) = (HashSet::new(), [0; 2]);
            let fits = |hash: &&KeyHash| {
                let half = half_of(**hash);
                items[half] += u64::from(seen.insert(hash.to_u64()));
                items[half] <= most[half]
            };
            let expected = hashes.iter().take_while(fits).count();
            let (outcomes, answer) = answered(&mut halves(most), hashes.clone());
            let stopped = answer.unwrap_err();
            assert_eq!(stopped.done, expected, "{most:?}");
            assert_eq!(outcomes.len(), expected);
            let different: HashSet<_> = hashes[..expected].iter().map(|h| h.to_u64()).collect();
            assert_eq!(answered_in(&outcomes).new, different.len() as u64);
            assert_eq!(stopped.full.items, different.len() as u64, "of both halves");
        }
    }
}
