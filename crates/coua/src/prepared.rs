//! Prepare and prepared: [`CuckooFilter::locate`] finds a key's place, the rest works on it.
//!
//! Single calls do the one after the other; batches locate many keys before they touch the first.

use crate::KeyHash;
use crate::bucket::Form;
use crate::error::{Full, FullReason, Insertion};
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::{Probe, Shape};
use crate::pair::Pair;
use crate::relocate::Step;
use crate::shapes::{ByLevel, Shapes, Work, in_form};
use crate::side::{Aside, Taken};

/// Whether an insert adds a copy of a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    Add,
    Keep,
}

/// How far an insert came without moving anything.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accepted {
    Done(Insertion),
    /// Both buckets are full; nothing was changed yet.
    NeedsRoom,
}

impl CuckooFilter {
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> Probe {
        self.locate_with(self.shape_for(hash), hash)
    }

    #[inline(always)]
    fn locate_with(&self, shape: &Shape, hash: KeyHash) -> Probe {
        shape.locate(hash, self.directory.segment_of(hash))
    }

    /// The shape of a key's segment. Where all have one, it is known before the segment is.
    #[inline(always)]
    fn shape_for(&self, hash: KeyHash) -> &Shape {
        let depth = |shape: Option<Shape>| shape.map(|shape| shape.depth);
        debug_assert_eq!(depth(self.only_shape), depth(self.shape_of_all()));
        match &self.only_shape {
            Some(shape) => shape,
            None => self.shape_by_level(hash),
        }
    }

    /// Out of line, lest the compiler read the shape through the segment after all.
    #[inline(never)]
    fn shape_by_level(&self, hash: KeyHash) -> &Shape {
        self.shape_of(self.directory.segment_of(hash))
    }

    #[inline(always)]
    pub(crate) fn shape_of(&self, segment: u32) -> &Shape {
        &self.shapes[self.table.segments[segment as usize].level as usize]
    }

    /// What `only_shape` is to be: once more after every change of a segment's depth.
    pub(crate) fn shape_of_all(&self) -> Option<Shape> {
        self.directory.is_even(self.table.segments.len()).then(|| *self.shape_of(0))
    }

    /// Puts an item into the emptier of its buckets; `Again` if both are full.
    #[inline(always)]
    pub(crate) fn place(&mut self, shapes: impl Shapes, probe: &Probe) -> Step {
        let lanes = shapes.of(self, probe.segment).lanes;
        let segment = &mut self.table.segments[probe.segment as usize];
        Pair::read(lanes, segment, probe).place(segment, probe)
    }

    /// The commonest case alone is inlined where a key is asked for, and no case has to keep what another needs.
    #[inline(always)]
    pub(crate) fn look(&self, hash: KeyHash) -> bool {
        match &self.only_shape {
            Some(shape) if shape.lanes.form == Form::Narrow && !self.side.has_homeless() => {
                self.look_in_slots(shape.in_form(Form::Narrow), hash)
            }
            Some(shape) if shape.lanes.form == Form::Wide && !self.side.has_homeless() => {
                self.look_in_wide_slots(shape, hash)
            }
            _ => self.look_with_care(hash),
        }
    }

    /// Where all segments have this shape and all keys a slot.
    #[inline(always)]
    fn look_in_slots(&self, shape: Shape, hash: KeyHash) -> bool {
        let probe = &self.locate_with(&shape, hash);
        let segment = &self.table.segments[probe.segment as usize];
        let is_held = Pair::read(shape.lanes, segment, probe).holds(segment, probe);
        is_held.unwrap_or_else(|| self.look_with_care(hash))
    }

    #[inline(never)]
    fn look_in_wide_slots(&self, shape: &Shape, hash: KeyHash) -> bool {
        self.look_in_slots(shape.in_form(Form::Wide), hash)
    }

    #[inline(never)]
    fn look_with_care(&self, hash: KeyHash) -> bool {
        let shape = self.shape_for(hash);
        let probe = &self.locate_with(shape, hash);
        in_form(LookUp { filter: self, probe }, Some(*shape))
    }

    #[inline(always)]
    pub(crate) fn look_in(&self, shapes: impl Shapes, probe: &Probe) -> bool {
        let lanes = shapes.of(self, probe.segment).lanes;
        let segment = &self.table.segments[probe.segment as usize];
        let is_held = match Pair::read(lanes, segment, probe).holds(segment, probe) {
            Some(is_held) => is_held,
            None => self.is_among_many(*probe),
        };
        // Whether it is held cannot be foretold: no branch on it but in filters that have such keys.
        if self.side.has_homeless() {
            return is_held || segment.spilled && self.is_aside(*probe);
        }
        is_held
    }

    /// Takes a copy of the probe, as all do that are seldom called: were it lent, those that call it would
    /// have to keep it in memory.
    #[cold]
    fn is_aside(&self, probe: Probe) -> bool {
        self.side_copies(&probe) > 0
    }

    #[cold]
    fn is_among_many(&self, probe: Probe) -> bool {
        self.slots_holding(&probe) > 0
    }

    pub(crate) fn tally(&self, probe: &Probe) -> u64 {
        self.side_copies(probe).saturating_add(u64::from(self.slots_holding(probe)))
    }

    pub(crate) fn slots_holding(&self, probe: &Probe) -> u32 {
        let segment = &self.table.segments[probe.segment as usize];
        let pair = Pair::read(self.shapes[segment.level as usize].lanes, segment, probe);
        pair.copies(segment, probe)
    }

    pub(crate) fn side_copies(&self, probe: &Probe) -> u64 {
        if self.table.segments[probe.segment as usize].spilled {
            self.side.copies(self.representative(probe))
        } else {
            0
        }
    }

    pub(crate) fn representative(&self, probe: &Probe) -> KeyHash {
        let segment = &self.table.segments[probe.segment as usize];
        self.shapes[segment.level as usize].representative(
            segment.prefix,
            probe.primary,
            probe.value,
        )
    }

    #[inline]
    pub(crate) fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full> {
        let shape = *self.shape_for(hash);
        let probe = &self.locate_with(&shape, hash);
        match in_form(Insert { filter: self, probe, copies }, Some(shape))? {
            Accepted::Done(insertion) => Ok(insertion),
            Accepted::NeedsRoom => self.insert_where_full(hash, *probe),
        }
    }

    /// Inserts a key whose buckets are full.
    #[inline(never)]
    fn insert_where_full(&mut self, hash: KeyHash, probe: Probe) -> Result<Insertion, Full> {
        match self.make_room(&probe) {
            Ok(Some(relocation)) => self.finish(ByLevel, relocation),
            // It lies elsewhere now, and is not refused any more: the filter has changed.
            Ok(None) => {
                self.stored += 1;
                self.put_back(ByLevel, &self.locate(hash));
            }
            // Where there is no limit of memory, or a higher one, the filter grows now: equal items are to
            // make equal filters.
            Err(full) if full.reason == FullReason::MemoryLimit => return Err(full),
            // A key that is there already is not refused.
            Err(_) if self.slots_holding(&probe) > 0 => self.set_aside(&probe, 1)?,
            Err(full) => return Err(full),
        }
        Ok(Insertion::Inserted)
    }

    /// Everything an insert does before it has to move other items.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        shapes: impl Shapes,
        probe: &Probe,
        copies: Copies,
    ) -> Result<Accepted, Full> {
        let lanes = shapes.of(self, probe.segment).lanes;
        let is_at_limit = self.is_at_limit();
        let segment = &mut self.table.segments[probe.segment as usize];
        let pair = Pair::read(lanes, segment, probe);
        let Some(is_held) = pair.holds(segment, probe) else {
            return self.accept_with_care(*probe, copies);
        };
        if is_held && copies == Copies::Keep {
            return Ok(Accepted::Done(Insertion::AlreadyPresent));
        }
        if is_held || is_at_limit || segment.spilled && self.side.has_homeless() {
            return self.accept_with_care(*probe, copies);
        }
        if pair.place(segment, probe) == Step::Again {
            return Ok(Accepted::NeedsRoom);
        }
        self.stored += 1;
        Ok(Accepted::Done(Insertion::Inserted))
    }

    /// `accept` for keys that may be there or have copies, and for filters at their limit.
    #[cold]
    fn accept_with_care(&mut self, probe: Probe, copies: Copies) -> Result<Accepted, Full> {
        let probe = &probe;
        let held = self.slots_holding(probe);
        let has_bucketful = held >= self.geometry.slots_per_bucket;
        // Most repeats are of keys with many copies: of those the side table need not be asked.
        let is_aside = || self.side_copies(probe) > 0;
        if copies == Copies::Keep && (held > 0 || is_aside()) {
            return Ok(Accepted::Done(Insertion::AlreadyPresent));
        }
        let has_all_its_slots = has_bucketful || is_aside();
        if !has_all_its_slots && !self.is_at_limit() {
            if self.place(ByLevel, probe) == Step::Again {
                return Ok(Accepted::NeedsRoom);
            }
            self.stored += 1;
            return Ok(Accepted::Done(Insertion::Inserted));
        }
        // A key that is there already is not refused.
        if !has_all_its_slots && held == 0 {
            return Err(self.full(FullReason::MaxItems));
        }
        self.set_aside(probe, 1)?;
        Ok(Accepted::Done(Insertion::Inserted))
    }

    /// Whether one more item would exceed the stated rate, and may not.
    #[inline(always)]
    pub(crate) fn is_at_limit(&self) -> bool {
        self.stored >= self.policy.max_items && self.policy.when_full != WhenFull::ExceedRate
    }

    /// Adds copies without slots, as many as are wanted where the key has such; otherwise they are an
    /// entry, which takes memory.
    pub(crate) fn set_aside(&mut self, probe: &Probe, copies: u64) -> Result<(), Full> {
        if !self.has_entries_left(0) && self.side_copies(probe) == 0 {
            return Err(self.full(FullReason::MemoryLimit));
        }
        self.side.add(self.representative(probe), Aside { extra: copies, homeless: 0 });
        self.table.segments[probe.segment as usize].spilled = true;
        Ok(())
    }

    /// Takes one copy away, from the side table first: slots are the cheaper place.
    #[inline(always)]
    pub(crate) fn take_away(&mut self, shapes: impl Shapes, probe: &Probe) -> bool {
        if self.table.segments[probe.segment as usize].spilled && self.take_aside(*probe) {
            return true;
        }
        let lanes = shapes.of(self, probe.segment).lanes;
        let segment = &mut self.table.segments[probe.segment as usize];
        let pair = Pair::read(lanes, segment, probe);
        let is_taken = match pair.take(segment, probe) {
            Some(is_taken) => is_taken,
            None => self.take_from_many(*probe),
        };
        // A mapped file may have said less than is there.
        self.stored = self.stored.saturating_sub(u64::from(is_taken));
        is_taken
    }

    #[inline(always)]
    pub(crate) fn remove_one(&mut self, hash: KeyHash) -> bool {
        let shape = *self.shape_for(hash);
        let probe = &self.locate_with(&shape, hash);
        in_form(Remove { filter: self, probe }, Some(shape))
    }

    #[cold]
    fn take_from_many(&mut self, probe: Probe) -> bool {
        let lanes = self.shape_of(probe.segment).lanes;
        let segment = &mut self.table.segments[probe.segment as usize];
        Pair::read(lanes, segment, &probe).take_from_many(segment, &probe)
    }

    #[cold]
    fn take_aside(&mut self, probe: Probe) -> bool {
        let Some(taken) = self.side.take(self.representative(&probe)) else {
            return false;
        };
        self.stored = self.stored.saturating_sub(u64::from(taken == Taken::Homeless));
        true
    }

    #[cold]
    pub(crate) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.policy.max_items, reason }
    }
}

/// Looking one key up.
struct LookUp<'a> {
    filter: &'a CuckooFilter,
    probe: &'a Probe,
}

impl Work for LookUp<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> bool {
        self.filter.look_in(shapes, self.probe)
    }
}

/// Inserting one key, as far as it goes without moving others.
struct Insert<'a> {
    filter: &'a mut CuckooFilter,
    probe: &'a Probe,
    copies: Copies,
}

impl Work for Insert<'_> {
    type Output = Result<Accepted, Full>;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> Self::Output {
        self.filter.accept(shapes, self.probe, self.copies)
    }
}

/// Taking one copy of a key away.
struct Remove<'a> {
    filter: &'a mut CuckooFilter,
    probe: &'a Probe,
}

impl Work for Remove<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> bool {
        self.filter.take_away(shapes, self.probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different keys of the same two buckets.
    fn colliding(filter: &CuckooFilter) -> impl Iterator<Item = KeyHash> + use<'_> {
        let hashes = (0..).map(|n: u64| KeyHash::from_u64(n << 24));
        let first = filter.locate(KeyHash::from_u64(0));
        let same = move |hash: &KeyHash| {
            let probe = filter.locate(*hash);
            (probe.primary, probe.partner) == (first.primary, first.partner)
        };
        hashes.filter(same)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn an_insert_that_made_the_filter_grow_is_not_refused() {
        let builder = CuckooFilter::builder().hash_bits(64).capacity(16_000);
        let mut filter = builder.max_relocations(4).build().unwrap();
        let enough = filter.homeless_limit() as usize + 500;
        let same: Vec<_> = colliding(&filter.clone()).take(enough).collect();
        let mut same = same.into_iter();
        let refused = same.find(|hash| filter.insert(*hash).is_err()).unwrap();
        let slots = filter.slots();
        // The segment has more items now than a few keys that collide.
        let others = (0..).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        let others = others.map(KeyHash::from_u64);
        others.take(slots as usize / 7).for_each(|hash| filter.insert(hash).unwrap());
        assert_eq!(filter.slots(), slots);
        // More than the limit, which rises with the slots: so it may be after compaction.
        let elsewhere = filter.representative(&filter.locate(KeyHash::from_u64(u64::MAX)));
        filter.side.add(elsewhere, crate::side::Aside { extra: 0, homeless: 10_000 });
        filter.stored += 10_000;
        filter.insert(refused).unwrap();
        assert!(filter.slots() > slots && filter.contains(refused));
        let slots = filter.slots();
        assert!(same.any(|hash| filter.insert(hash).is_err()));
        assert_eq!(filter.slots(), slots, "a few keys that collide buy no memory");
    }
}
