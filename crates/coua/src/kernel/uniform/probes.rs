//! Probing what the inserts or removals of a group of keys will find.

use super::lookup::LookupResult;
use super::{Buckets, Uniform};
use crate::kernel::codec::{Encoding, SlotCodec};
use crate::kernel::probe::ALTERNATE;
use crate::kernel::probes::{
    InsertProbes, KeyGroup, RemoveProbes, SlotChanges, UniformTable, WIDTH,
};
use crate::kernel::vector::{Isa, Kernel, Vector, with_vectors};

/// Looks at the buckets of a group of located keys as they are now; false if that does not pay.
#[inline]
pub(crate) fn probe_inserts(
    table: UniformTable<'_>,
    keys: &KeyGroup,
    probes: &mut InsertProbes,
) -> bool {
    table.has_lanes() && with_vectors(ProbeInserts { table, keys, probes })
}

/// Looks for a group of located keys as the buckets are now; false if that does not pay.
#[inline]
pub(crate) fn probe_removals(
    table: UniformTable<'_>,
    keys: &KeyGroup,
    probes: &mut RemoveProbes,
) -> bool {
    table.has_lanes() && with_vectors(ProbeRemovals { table, keys, probes })
}

struct ProbeInserts<'a> {
    table: UniformTable<'a>,
    keys: &'a KeyGroup,
    probes: &'a mut InsertProbes,
}

impl Kernel for ProbeInserts<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        if I::LOOKS_AHEAD {
            let uniform = Uniform::new(isa, self.table);
            self.probes.forget();
            for first in (0..WIDTH).step_by(I::LANES) {
                uniform.probe_inserts(self.keys, self.probes, first);
            }
        }
        I::LOOKS_AHEAD
    }
}

struct ProbeRemovals<'a> {
    table: UniformTable<'a>,
    keys: &'a KeyGroup,
    probes: &'a mut RemoveProbes,
}

impl Kernel for ProbeRemovals<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        if I::LOOKS_AHEAD {
            let uniform = Uniform::new(isa, self.table);
            self.probes.forget();
            for first in (0..WIDTH).step_by(I::LANES) {
                uniform.probe_removals(self.keys, self.probes, first);
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
    fn probe_inserts(&self, keys: &KeyGroup, probes: &mut InsertProbes, first: usize) {
        let pairs = self.read_pairs(keys, first);
        let Pairs { value, primary, alternate, .. } = &pairs;
        primary.word.store(&mut probes.primary_word[first..]);
        alternate.word.store(&mut probes.alternate_word[first..]);
        let result = self.lookup(primary, alternate, *value);
        let (here, there) = (self.free_slots(primary), self.free_slots(alternate));
        let in_alternate = self.count(here).is_below(self.count(there));
        let free_slots = I::Vector::select(in_alternate, there, here);
        self.note(&mut probes.free, first, &pairs, (in_alternate, free_slots));
        let bits = |mask: u8| u16::from(mask & I::Vector::ALL) << first;
        let is_full = I::Vector::bits(free_slots.is_zero());
        let absent = !(result.found | result.doubtful);
        probes.held |= bits(result.found);
        probes.full |= bits(absent & is_full);
        probes.placeable |= bits(absent & !is_full);
    }

    #[inline(always)]
    fn probe_removals(&self, keys: &KeyGroup, probes: &mut RemoveProbes, first: usize) {
        let pairs = self.read_pairs(keys, first);
        let LookupResult { found, doubtful, in_alternate, marks } =
            self.lookup(&pairs.primary, &pairs.alternate, pairs.value);
        let word = I::Vector::select(in_alternate, pairs.alternate.word, pairs.primary.word);
        word.store(&mut probes.word[first..]);
        self.note(&mut probes.slot, first, &pairs, (in_alternate, marks));
        let bits = |mask: u8| u16::from(mask & I::Vector::ALL) << first;
        probes.found |= bits(found);
        probes.absent |= bits(!(found | doubtful));
    }

    /// Notes the change of each key's first marked slot, in the alternate bucket or in the primary one.
    #[inline(always)]
    fn note(
        &self,
        slots: &mut SlotChanges,
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
            rest_word.store(&mut slots.rest_word[first..]);
            rest.store(&mut slots.rest_change[first..]);
        }
        bit.store(&mut slots.bit[first..]);
        (bucket.word ^ change).store(&mut slots.word[first..]);
    }
}
