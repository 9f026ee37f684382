//! Both buckets of a key: finding it there, putting it in, taking it out.

use std::hint::select_unpredictable;

use super::codec::{Encoding, SlotCodec};
use super::compare::Marks;
use super::place::{ALTERNATE, Place};
use super::slots::Bucket;
use crate::table::{Segment, SegmentMut};

/// The slot of a key.
struct Slot {
    in_alternate: bool,
    position: u32,
}

/// What the first look at both buckets tells.
enum Found {
    Nowhere,
    At(Slot),
    /// The first candidate is another key, and there may be more. This is rare, so its code stands apart
    /// from the rest.
    Unclear,
}

/// Both buckets of a key, read at once.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    codec: SlotCodec,
    primary: Bucket,
    alternate: Bucket,
}

impl Pair {
    #[inline(always)]
    pub(crate) fn read(codec: &SlotCodec, segment: &Segment, place: &Place) -> Self {
        let primary = codec.read(segment, place.primary);
        let alternate = codec.read(segment, place.alternate);
        Self { codec: *codec, primary, alternate }
    }

    /// The slots that hold the key, in the primary and in the alternate bucket.
    fn matches(&self, segment: &Segment, place: &Place) -> (Marks, Marks) {
        let primary = self.codec.matches(segment, &self.primary, place.value);
        let alternate = self.codec.matches(segment, &self.alternate, place.alternate_value());
        (primary, alternate)
    }

    /// The slots whose lanes are the key's, of which only the first of each bucket is certain.
    #[inline(always)]
    fn candidates(&self, segment: &Segment, place: &Place) -> (Marks, Marks) {
        let Self { codec, primary, alternate } = self;
        if codec.encoding == Encoding::WideOverlapping {
            let here = codec.candidates(segment, primary, place.value);
            return (here, codec.candidates(segment, alternate, place.alternate_value()));
        }
        let here = codec.repeated(place.value);
        // The choice bit is the lowest of a lane.
        let there = here | (codec.ones * ALTERNATE);
        let zero_lane = |bucket: &Bucket, lanes| codec.lowest_zero_lane(bucket.lanes() ^ lanes);
        (zero_lane(primary, here), zero_lane(alternate, there))
    }

    /// The first slot that holds the key, in the primary bucket or else in the alternate one.
    #[inline(always)]
    fn find(&self, segment: &Segment, place: &Place) -> Found {
        let (primary, alternate) = self.candidates(segment, place);
        // The bucket is unpredictable: no branch on it.
        let in_alternate = !primary.any();
        let candidates = select_unpredictable(in_alternate, alternate, primary);
        let Some(position) = self.codec.first(candidates) else {
            return Found::Nowhere;
        };
        let bucket = select_unpredictable(in_alternate, self.alternate, self.primary);
        let value = place.value | (u64::from(in_alternate) * ALTERNATE);
        if self.codec.confirms(segment, &bucket, position, value) {
            Found::At(Slot { in_alternate, position })
        } else {
            Found::Unclear
        }
    }

    /// Whether a slot holds the key; `None` where [`count`](Self::count) must tell.
    #[inline(always)]
    pub(crate) fn contains(&self, segment: &Segment, place: &Place) -> Option<bool> {
        if self.codec.encoding == Encoding::Wide {
            return match self.find(segment, place) {
                Found::Nowhere => Some(false),
                Found::At(_) => Some(true),
                Found::Unclear => None,
            };
        }
        let (primary, alternate) = self.candidates(segment, place);
        Some(primary.any() | alternate.any())
    }

    /// How many slots hold the key.
    pub(crate) fn count(&self, segment: &Segment, place: &Place) -> u32 {
        let (primary, alternate) = self.matches(segment, place);
        primary.count() + alternate.count()
    }

    /// Puts the item into a free slot of the emptier bucket; false if both buckets are full.
    #[inline(always)]
    pub(crate) fn insert(&self, segment: &mut SegmentMut<'_>, place: &Place) -> bool {
        let primary = self.codec.free_slots(segment, &self.primary);
        let alternate = self.codec.free_slots(segment, &self.alternate);
        // Which bucket is emptier is unpredictable: no branch on it.
        let to_alternate = self.codec.has_more(alternate, primary);
        let free_slots = select_unpredictable(to_alternate, alternate, primary);
        let bucket = select_unpredictable(to_alternate, self.alternate, self.primary);
        let Some(position) = self.codec.first(free_slots) else {
            return false;
        };
        let value = place.value | (u64::from(to_alternate) * ALTERNATE);
        self.codec.fill(segment, &bucket, position, value);
        segment.count_filled();
        true
    }

    /// Takes one copy out of its slot; `None` where [`remove_any`](Self::remove_any) must look.
    #[inline(always)]
    pub(crate) fn remove(&self, segment: &mut SegmentMut<'_>, place: &Place) -> Option<bool> {
        if self.codec.encoding == Encoding::Narrow {
            return Some(self.remove_lane(segment, place));
        }
        match self.find(segment, place) {
            Found::Nowhere => Some(false),
            Found::At(slot) => {
                self.clear(segment, place, &slot);
                Some(true)
            }
            Found::Unclear => None,
        }
    }

    /// [`remove`](Self::remove) for narrow buckets, in fewer instructions: the slot's position is not needed.
    #[inline(always)]
    fn remove_lane(&self, segment: &mut SegmentMut<'_>, place: &Place) -> bool {
        let (primary, alternate) = self.candidates(segment, place);
        // The bucket is unpredictable: no branch on it.
        let in_alternate = !primary.any();
        let marks = select_unpredictable(in_alternate, alternate, primary);
        if !marks.any() {
            return false;
        }
        let bucket = select_unpredictable(in_alternate, self.alternate, self.primary);
        self.codec.clear_first(segment, &bucket, marks);
        segment.count_cleared();
        true
    }

    /// [`remove`](Self::remove) that looks at every candidate.
    pub(crate) fn remove_any(&self, segment: &mut SegmentMut<'_>, place: &Place) -> bool {
        let (primary, alternate) = self.matches(segment, place);
        let in_alternate = !primary.any();
        let position = self.codec.first(if in_alternate { alternate } else { primary });
        if let Some(position) = position {
            self.clear(segment, place, &Slot { in_alternate, position });
        }
        position.is_some()
    }

    #[inline(always)]
    fn clear(&self, segment: &mut SegmentMut<'_>, place: &Place, slot: &Slot) {
        let &Slot { in_alternate, position } = slot;
        let bucket = select_unpredictable(in_alternate, self.alternate, self.primary);
        let value = place.value | (u64::from(in_alternate) * ALTERNATE);
        let stored = self.codec.at_position(value, position);
        self.codec.replace(segment, &bucket, position, (stored, 0));
        segment.count_cleared();
    }
}
