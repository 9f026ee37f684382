//! Inserting many keys, with relocations interleaved.
//!
//! The order of all work *within a segment* is that of single calls ([`Pending`]). Segments are
//! independent, so the bytes are the same. What depends on more than a segment (growing, refusing)
//! happens in the order of the keys, with nothing under way: who needs it is left behind, with the rest of
//! its group.

use std::ops::Range;

use super::pending::Pending;
use super::{LocatedKeys, Lookahead, Outlook, WIDTH, foresee};
use crate::KeyHash;
use crate::error::{BatchFull, Full, Insertion};
use crate::filter::CuckooFilter;
use crate::geometry::Probe;
use crate::prepared::{Accepted, Copies};
use crate::relocate::Room;
use crate::shapes::{Shapes, Work, in_best_form};

/// In a filter of fewer segments nearly every key would meet a relocation: there each is finished at
/// once.
const FEW_SEGMENTS: usize = 4;
/// Keys of a batch that are taken together: none of them waits for longer.
const STRETCH: usize = 4096;

/// A batch of keys on its way into a filter.
pub(super) struct Inserter<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    done: usize,
    pub(super) copies: Copies,
    /// One for each key, or none where nobody asks.
    outcomes: &'a mut [Insertion],
    pub(super) pending: Pending,
    /// Keys may overtake those that wait for a relocation: no limit is near that depends on the order.
    may_overtake: bool,
    /// Each key must see whether the filter takes one more item.
    is_near_max_items: bool,
    /// A key needs the filter to grow, which must wait for all keys before it.
    pub(super) is_stuck: bool,
    /// That key and the rest of its group: they wait as if in line.
    pub(super) left_behind: Vec<usize>,
}

impl<'a> Inserter<'a> {
    #[inline(always)]
    pub(super) fn new(
        filter: &'a mut CuckooFilter,
        hashes: &'a [KeyHash],
        copies: Copies,
        outcomes: &'a mut [Insertion],
    ) -> Self {
        let pending = Pending::default();
        Self {
            filter,
            hashes,
            done: 0,
            copies,
            outcomes,
            pending,
            may_overtake: false,
            is_near_max_items: true,
            is_stuck: false,
            left_behind: Vec::new(),
        }
    }

    pub(super) fn insert_all(mut self) -> Result<(), BatchFull> {
        let mut outcome = Ok(());
        while outcome.is_ok() && self.done < self.hashes.len() {
            let only = self.filter.only_shape;
            outcome = in_best_form(&mut self, only);
        }
        outcome
    }

    /// Inserts a stretch of keys, or fewer if the shapes change; none is left waiting.
    #[inline(always)]
    fn insert(&mut self, shapes: impl Shapes) -> Result<(), BatchFull> {
        let end = self.hashes.len().min(self.done + STRETCH);
        self.may_overtake = self.filter.is_far_from_limits(end - self.done);
        let mut ahead = Lookahead::new(self.filter, shapes, &self.hashes[..end], self.done);
        self.is_near_max_items = !self.filter.takes_items(end - self.done);
        let mut outlook = Outlook::default();
        let mut outcome = Ok(());
        let splits = self.filter.splits;
        while outcome.is_ok() && self.done < end && !self.is_stuck && self.filter.splits == splits {
            outcome = self.insert_group(shapes, &ahead, &mut outlook);
            ahead.next_group(self.filter, shapes);
        }
        self.settle_all(shapes);
        outcome
    }

    /// Inserts the keys of a group, or those before the first that changes the shapes.
    #[inline(always)]
    fn insert_group(
        &mut self,
        shapes: impl Shapes,
        ahead: &Lookahead,
        outlook: &mut Outlook,
    ) -> Result<(), BatchFull> {
        let (keys, numbers) = ahead.group();
        let splits = self.filter.splits;
        let mut left = self.foresee_group(keys, &numbers, outlook);
        let start = self.done - numbers.start;
        let mut behind = Behind { keys: ahead.to_be_asked(), asked: 0 };
        let mut next = if self.may_overtake { outlook.ready(left) } else { outlook.run(left) };
        loop {
            left &= !self.place_or_wait(&shapes, (keys, outlook), (start, next), &mut behind);
            if left == 0 {
                break;
            }
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            behind.ask_next(self.filter, shapes);
            if let Err(full) = self.insert_next(shapes, (keys, outlook), (start, number)) {
                if !self.may_overtake {
                    self.done = start + number;
                    return Err(BatchFull { done: self.done, full });
                }
                self.leave_behind(start + number);
            }
            if self.filter.splits != splits {
                self.done = start + number + 1;
                return Ok(());
            }
            if self.is_stuck {
                let rest = numbers.clone().filter(|it| left >> it & 1 == 1);
                self.left_behind.extend(rest.map(|it| start + it));
                break;
            }
            next = outlook.run(left);
        }
        behind.ask_rest(self.filter, shapes);
        self.done = start + numbers.end;
        if self.pending.len() > 0 {
            self.take_turn(shapes);
        }
        Ok(())
    }

    /// Inserts a key whose slot was not foreseen, or puts it into the line of its segment's owner.
    #[inline(always)]
    fn insert_next(
        &mut self,
        shapes: impl Shapes,
        (keys, outlook): (&LocatedKeys, &Outlook),
        (start, number): (usize, usize),
    ) -> Result<(), Full> {
        let probe = keys.probe(number);
        if self.filter.table.segments[probe.segment as usize].owner != 0 {
            if self.may_wait(keys, (start, number)) {
                return Ok(());
            }
            self.settle(shapes, probe.segment);
        }
        let under_way = self.pending.len();
        if !self.may_overtake && under_way > 0 && !self.filter.has_entries_left(under_way) {
            // Each may end without a slot, and take the memory that a copy of this key would take.
            self.settle_all(shapes);
        }
        let is_full = outlook.is_full(number) && self.is_as_seen(keys, number, outlook);
        let accepted = if is_full {
            Accepted::NeedsRoom
        } else {
            self.filter.accept(shapes, &probe, self.copies)?
        };
        match accepted {
            Accepted::Done(insertion) => self.tell(start + number, insertion),
            Accepted::NeedsRoom => self.relocate(shapes, start + number, &probe)?,
        }
        Ok(())
    }

    /// Looks at a group as its buckets are now. A bit for each key that is to be inserted.
    #[inline(always)]
    fn foresee_group(
        &self,
        keys: &LocatedKeys,
        numbers: &Range<usize>,
        outlook: &mut Outlook,
    ) -> u32 {
        if numbers.len() != WIDTH || !foresee(self.filter, keys, self.copies, outlook) {
            outlook.forget();
        }
        let mut left = ((1u32 << numbers.len()) - 1) << numbers.start;
        if self.copies == Copies::Keep {
            // Inserts take no key away: those are still there.
            left &= !u32::from(outlook.held);
        }
        if self.is_near_max_items {
            outlook.forget();
        }
        left
    }

    /// Inserts some keys of a group into the slots that were foreseen, up to the first for which there may be none
    /// any more; those whose segment has an owner wait in line. A bit for each that was served.
    #[inline(always)]
    fn place_or_wait(
        &mut self,
        shapes: &impl Shapes,
        seen: (&LocatedKeys, &Outlook),
        (start, some): (usize, u32),
        behind: &mut Behind,
    ) -> u32 {
        let mut left = some;
        while left != 0 {
            left = self.place_foreseen(shapes, seen, (start, left), behind);
            if left == 0 || !self.may_wait(seen.0, (start, left.trailing_zeros() as usize)) {
                break;
            }
            left &= left - 1;
        }
        some & !left
    }

    /// [`place_or_wait`](Self::place_or_wait) up to the first key that cannot go in at once. A bit for each that is left.
    ///
    /// A function of its own, that calls no other: within the work on other keys its loop would not find room in the
    /// processor's registers.
    #[inline(never)]
    fn place_foreseen(
        &mut self,
        shapes: &impl Shapes,
        (keys, outlook): (&LocatedKeys, &Outlook),
        (start, mut left): (usize, u32),
        behind: &mut Behind,
    ) -> u32 {
        let mut placed = 0;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            let index = keys.segment[number] as u32;
            let lanes = shapes.of(self.filter, index).lanes;
            let segment = &mut self.filter.table.segments[index as usize];
            if !outlook.holds_for(keys, number, segment, &self.filter.side) {
                break;
            }
            outlook.place(number, &lanes, segment);
            behind.ask_next(self.filter, *shapes);
            self.note_inserted(start + number);
            placed += 1;
            left &= left - 1;
        }
        self.filter.stored += placed;
        left
    }

    /// Puts a key into the line of its segment's owner, if there is one and others may overtake it.
    #[inline(always)]
    fn may_wait(&mut self, keys: &LocatedKeys, (start, number): (usize, usize)) -> bool {
        let probe = keys.probe(number);
        let segment = &self.filter.table.segments[probe.segment as usize];
        let waits = segment.owner != 0 && self.may_overtake;
        if waits {
            self.pending.wait(segment, start + number, &probe);
        }
        waits
    }

    /// Whether what was seen of a key still holds.
    #[inline(always)]
    fn is_as_seen(&self, keys: &LocatedKeys, number: usize, outlook: &Outlook) -> bool {
        let segment = &self.filter.table.segments[keys.segment[number] as usize];
        outlook.holds_for(keys, number, segment, &self.filter.side)
    }

    #[inline(always)]
    pub(super) fn tell(&mut self, number: usize, insertion: Insertion) {
        if insertion == Insertion::Inserted {
            self.note_inserted(number);
        }
    }

    #[inline(always)]
    pub(super) fn note_inserted(&mut self, number: usize) {
        if let Some(outcome) = self.outcomes.get_mut(number) {
            *outcome = Insertion::Inserted;
        }
    }

    /// Leaves a key until all that came before it are in: others that came after it are in already.
    fn leave_behind(&mut self, number: usize) {
        self.left_behind.push(number);
        self.is_stuck = true;
    }

    /// Starts a relocation for a key whose buckets are full.
    #[inline(always)]
    fn relocate(&mut self, shapes: impl Shapes, number: usize, probe: &Probe) -> Result<(), Full> {
        if self.filter.room_in(probe.segment, self.pending.len()) != Room::Relocate {
            if self.may_overtake {
                self.leave_behind(number);
                return Ok(());
            }
            // Splits and refusals depend on the whole filter: first all that came before.
            self.settle_all(shapes);
            let insertion = self.filter.insert_one(self.hashes[number], self.copies)?;
            self.tell(number, insertion);
            return Ok(());
        }
        self.note_inserted(number);
        let relocation = self.filter.start_relocation(probe);
        let segments = self.filter.table.segments.len();
        if segments < FEW_SEGMENTS {
            self.filter.finish(shapes, relocation);
            return Ok(());
        }
        self.pending.start(&mut self.filter.table.segments[probe.segment as usize], relocation);
        while self.pending.len() >= self.most_under_way() && !self.is_stuck {
            self.take_turn(shapes);
        }
        Ok(())
    }
}

/// The last group in flight, and how many of its keys' memory was asked for.
struct Behind<'a> {
    keys: Option<&'a LocatedKeys>,
    asked: usize,
}

impl Behind<'_> {
    #[inline(always)]
    fn ask_next(&mut self, filter: &CuckooFilter, shapes: impl Shapes) {
        if let Some(keys) = self.keys {
            keys.ask(filter, shapes, self.asked);
            self.asked += 1;
        }
    }

    #[inline(always)]
    fn ask_rest(&self, filter: &CuckooFilter, shapes: impl Shapes) {
        if let Some(keys) = self.keys {
            keys.ask_from(filter, shapes, self.asked);
        }
    }
}

impl Work for &mut Inserter<'_> {
    type Output = Result<(), BatchFull>;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> Self::Output {
        self.insert(shapes)
    }
}
