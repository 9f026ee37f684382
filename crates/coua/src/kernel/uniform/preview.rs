//! previewing what the inserts or removals of a group of keys will find.

use super::compare::LookupResult;
use super::{Buckets, Uniform};
use crate::kernel::codec::{Encoding, SlotCodec};
use crate::kernel::place::ALTERNATE;
use crate::kernel::preview::{KeyGroup, Preview, UniformTable, WIDTH, Wanted};
use crate::kernel::vector::{Isa, Kernel, Vector, with_vectors};

/// Looks at the buckets of a group of located keys as they are now; false if that does not pay.
#[inline]
pub(crate) fn preview(
    table: UniformTable<'_>,
    keys: &KeyGroup,
    wanted: Wanted,
    preview: &mut Preview,
) -> bool {
    table.has_lanes()
        && match wanted {
            Wanted::Free => with_vectors(PreviewGroup::<true> { table, keys, preview }),
            Wanted::Key => with_vectors(PreviewGroup::<false> { table, keys, preview }),
        }
}

/// `FREE`: free slots are [`Wanted`].
struct PreviewGroup<'a, const FREE: bool> {
    table: UniformTable<'a>,
    keys: &'a KeyGroup,
    preview: &'a mut Preview,
}

impl<const FREE: bool> Kernel for PreviewGroup<'_, FREE> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        if I::LOOKS_AHEAD {
            let uniform = Uniform::new(isa, self.table);
            self.preview.forget();
            for first in (0..WIDTH).step_by(I::LANES) {
                uniform.preview::<FREE>(self.keys, self.preview, first);
            }
        }
        I::LOOKS_AHEAD
    }
}

/// A vector of keys and their buckets, as they were read.
struct Pairs<V> {
    value: V,
    primary_bit: V,
    primary: Buckets<V>,
    alternate_bit: V,
    alternate: Buckets<V>,
}

impl<I: Isa> Uniform<'_, I> {
    /// The `first` key of a group and those after it.
    #[inline(always)]
    fn read_pairs(&self, keys: &KeyGroup, first: usize) -> Pairs<I::Vector> {
        let base = self.segment_bases(self.isa.load(&keys.segment[first..]));
        let primary_bit = self.isa.load(&keys.primary_bit[first..]);
        let alternate_bit = self.isa.load(&keys.alternate_bit[first..]);
        let primary = self.read_at(base, primary_bit);
        let alternate = self.read_at(base, alternate_bit);
        let value = self.isa.load(&keys.value[first..]);
        Pairs { value, primary_bit, primary, alternate_bit, alternate }
    }

    #[inline(always)]
    fn preview<const FREE: bool>(&self, keys: &KeyGroup, preview: &mut Preview, first: usize) {
        let pairs = self.read_pairs(keys, first);
        let Pairs { value, primary, alternate, .. } = &pairs;
        let LookupResult { found, doubtful, in_alternate, marks } =
            self.lookup(primary, alternate, *value);
        let bits = |mask: u8| u16::from(mask & I::Vector::ALL) << first;
        let absent = !(found | doubtful);
        preview.held |= bits(found);
        if !FREE {
            preview.absent |= bits(absent);
            let word = I::Vector::select(in_alternate, alternate.word, primary.word);
            word.store(&mut preview.before[first..]);
            return self.note(preview, first, &pairs, (in_alternate, marks));
        }
        primary.word.store(&mut preview.primary_word[first..]);
        alternate.word.store(&mut preview.alternate_word[first..]);
        let (here, there) = (self.free_slots(primary), self.free_slots(alternate));
        let in_alternate = self.sum(here).is_below(self.sum(there));
        let free_slots = I::Vector::select(in_alternate, there, here);
        self.note(preview, first, &pairs, (in_alternate, free_slots));
        let is_full = I::Vector::bits(free_slots.is_zero());
        preview.full |= bits(absent & is_full);
        preview.placeable |= bits(absent & !is_full);
    }

    /// Notes the change of each key's first marked slot, in the alternate bucket or in the primary one.
    #[inline(always)]
    fn note(
        &self,
        preview: &mut Preview,
        first: usize,
        pairs: &Pairs<I::Vector>,
        (in_alternate, marks): (<I::Vector as Vector>::Mask, I::Vector),
    ) {
        let &SlotCodec { lane_bits, lane_mask, encoding, .. } = self.codec();
        let position = self.first_position(marks);
        let mut value =
            I::Vector::select(in_alternate, pairs.value | self.splat(ALTERNATE), pairs.value);
        if self.codec().overlap() {
            value = value | (position << 1);
        }
        let bit = I::Vector::select(in_alternate, pairs.alternate_bit, pairs.primary_bit);
        let bucket = Buckets::select(in_alternate, &pairs.alternate, &pairs.primary);
        let offset = position.multiply_halves(self.splat(lane_bits.into()));
        let shift = offset + bucket.shift;
        let mut change = (value & self.splat(lane_mask)).shl_each(shift);
        if encoding == Encoding::Wide {
            let (rest_word, shift) = self.rest_places(bit, position);
            let rest = (value >> lane_bits).shl_each(shift);
            // The two words may share bytes; what is shifted by more than a word is 0.
            let between = rest_word - (bit & self.splat(!7));
            change = change ^ rest.shl_each(between);
            rest_word.store(&mut preview.rest_word[first..]);
            rest.store(&mut preview.rest_change[first..]);
        }
        bit.store(&mut preview.bit[first..]);
        (bucket.word ^ change).store(&mut preview.word[first..]);
    }
}
