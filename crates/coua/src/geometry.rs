//! Where a key lies: pure arithmetic from a [`KeyHash`] to segment, buckets and fingerprint.
//!
//! The hash is read like a fraction in [0, 1), most significant bits first:
//!
//! ```text
//! hash   ddd|rrrrrrrrrrrrrrrrrrrrrrrrr     d: prefix = segment (found through the directory)
//! r * m  bucket . ttttt | lllll            t: top bits of the fingerprint, l: scaled to 2^g - 1
//! ```
//!
//! Every step is order-preserving, so a slot stands for one *cell*, an interval of hashes, and the
//! smallest hash of that interval, its [`Shape::representative`], finds the same cell again. All
//! rebuilding (compaction, merging, conversion) is "take the representative, insert it"; a split does the
//! same on the cell's number.
//!
//! The fingerprint's low part runs over 1..=2^g - 1, so that no fingerprint is 0 = empty, and every
//! cell still has exactly the same size: the law `FPR(n) = n / cells` is exact.
//!
//! Each slot also holds a *choice bit*: 0 in the primary bucket, 1 in the partner. It is compared
//! with the fingerprint, so it costs no rate, and it makes a slot's cell unambiguous.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::KeyHash;
use crate::bucket::{Form, Lanes};
use crate::table::Segment;

/// How slots are shared between buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Disjoint buckets of 1, 2, 4 or 8 slots: fewest relocations, the default.
    Buckets,
    /// Overlapping windows of two slots (Schmitz, Zentgraf, Rahmann 2025, arXiv 2505.05847):
    /// about one bit an item smaller at the same rate, more relocations per insert.
    Windows,
}

/// Widest slot that one unaligned 8-byte load can hold at any bit offset.
pub(crate) const MAX_SLOT_BITS: u32 = 57;
/// Bits of the fingerprint's scaled low part; also the narrowest fingerprint that can still split.
pub(crate) const LOW_BITS: u32 = 6;
/// Narrowest fingerprint of all.
pub(crate) const MIN_FINGERPRINT_BITS: u32 = 3;

/// What stays the same in a filter until it is rebuilt. Plain numbers; also the snapshot's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) layout: Layout,
    pub(crate) slots_per_bucket: u32,
    /// Buckets (or windows) of every segment.
    pub(crate) buckets: u64,
    /// Prefix length of the segments that were not split.
    pub(crate) base_depth: u32,
    /// Bits of the fingerprint's scaled low part.
    pub(crate) low_bits: u32,
    pub(crate) resolution: Resolution,
}

/// Which hashes a filter tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The first `bits` bits of the hash, whatever the geometry: may be rebuilt to any size.
    Prefix { bits: u32 },
    /// The cells of this very geometry, with `top_bits` top bits at the base depth: not a bit is
    /// wasted, but only halving and doubling keep it.
    Cells { top_bits: u32 },
}

/// Geometry of the segments of one depth, ready for use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) buckets: u64,
    pub(crate) depth: u32,
    /// The bits of a hash after the segment's prefix, as far as the filter tells them apart.
    pub(crate) suffix_mask: u64,
    /// `buckets`, as many places higher as the suffix lies below the top of a word.
    scaled_buckets: u64,
    /// Resolution of a representative within the segment: bits of the hash after the prefix.
    suffix_bits: u32,
    pub(crate) top_bits: u32,
    pub(crate) low_bits: u32,
    /// Values of the fingerprint's low part, 2^`low_bits` - 1.
    pub(crate) low_range: u64,
    /// Shifts the first bits of a word to the place of the fingerprint's top bits.
    pub(crate) top_shift: u32,
    /// The bits of a fingerprint that are not its low part.
    pub(crate) top_mask: u64,
    /// What a word holds below the first `top_bits` bits.
    below_top_mask: u64,
    /// `low_range`, `top_bits` places higher.
    scaled_low_range: u64,
    pub(crate) lanes: Lanes,
}

/// Buckets of a segment stay below this, so that a partner takes two short multiplications.
pub(crate) const MAX_BUCKETS: u64 = 1 << 32;

/// One key's place: all that the table needs to answer for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    pub(crate) segment: u32,
    pub(crate) primary: u64,
    pub(crate) partner: u64,
    /// The slot value in the primary bucket; in the partner it is [`Probe::partner_value`].
    pub(crate) value: u64,
}

/// Choice bit of a slot value.
pub(crate) const PARTNER: u64 = 1;

impl Probe {
    #[inline(always)]
    pub(crate) fn partner_value(&self) -> u64 {
        self.value | PARTNER
    }
}

#[inline(always)]
fn multiply_high(a: u64, b: u64) -> (u64, u64) {
    let wide = u128::from(a) * u128::from(b);
    ((wide >> 64) as u64, wide as u64)
}

impl Geometry {
    /// Number of hashes told apart; the false-positive rate with n items is n / cells.
    pub(crate) fn cells(&self) -> f64 {
        match self.resolution {
            Resolution::Prefix { bits } => f64::from(bits).exp2(),
            Resolution::Cells { top_bits } => {
                let low_range = ((1u64 << self.low_bits) - 1) as f64;
                self.buckets as f64 * low_range * f64::from(self.base_depth + top_bits).exp2()
            }
        }
    }

    /// Slots of one segment.
    pub(crate) fn segment_slots(&self) -> u64 {
        match self.layout {
            Layout::Buckets => self.buckets * u64::from(self.slots_per_bucket),
            Layout::Windows => self.buckets + 1,
        }
    }

    /// Slots of all segments, before any splits.
    pub(crate) fn slots(&self) -> u64 {
        self.segment_slots().saturating_mul(1 << self.base_depth)
    }

    /// Bytes of the slots of all segments, before any splits; `u64::MAX` if more.
    pub(crate) fn slot_bytes(&self) -> u64 {
        let shape = self.shape(self.base_depth);
        let segment = shape.map_or(u64::MAX, |shape| shape.bytes(self.segment_slots()));
        u64::try_from(u128::from(segment) << self.base_depth).unwrap_or(u64::MAX)
    }

    /// Top bits of the fingerprint at `depth`, or `None` where the fingerprint has none to give.
    fn top_bits(&self, depth: u32) -> Option<u32> {
        match self.resolution {
            Resolution::Cells { top_bits } => (self.base_depth + top_bits).checked_sub(depth),
            Resolution::Prefix { bits } => {
                let wanted = 1u128 << bits.checked_sub(depth)?;
                let cells = u128::from(self.buckets) * ((1 << self.low_bits) - 1);
                // A segment splits only while its fingerprint has a top bit to give.
                let parent_had_one = depth == self.base_depth || 2 * wanted > cells;
                parent_had_one.then(|| wanted.div_ceil(cells).next_power_of_two().trailing_zeros())
            }
        }
    }

    /// The shape at `depth`, or `None` if the fingerprint would be too narrow or too wide there.
    pub(crate) fn shape(&self, depth: u32) -> Option<Shape> {
        let top_bits = self.top_bits(depth)?;
        let bits = match self.resolution {
            Resolution::Prefix { bits } => bits,
            Resolution::Cells { .. } => 64,
        };
        let lanes = Lanes::new(self.layout, self.slots_per_bucket, top_bits + self.low_bits)?;
        Some(Shape {
            buckets: self.buckets,
            depth,
            suffix_mask: (u64::MAX << (64 - bits)) & (u64::MAX >> depth),
            suffix_bits: bits - depth,
            top_bits,
            low_bits: self.low_bits,
            low_range: (1 << self.low_bits) - 1,
            scaled_buckets: self.buckets.checked_mul(1 << depth)?,
            below_top_mask: u64::MAX >> top_bits,
            scaled_low_range: ((1 << self.low_bits) - 1) << top_bits,
            top_shift: 64 - (top_bits + self.low_bits),
            top_mask: u64::MAX << self.low_bits,
            lanes,
        })
    }

    /// The shapes of the levels down to the one below `level`, if that exists.
    pub(crate) fn shapes_below(&self, level: u8) -> Vec<Shape> {
        let depths = (self.base_depth..64).take(usize::from(level) + 2);
        let mut shapes: Vec<_> = depths.map_while(|depth| self.shape(depth)).collect();
        shapes.shrink_to_fit();
        shapes
    }

    /// All shapes from the base depth down to the narrowest fingerprint.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        (self.base_depth..64).map_while(|depth| self.shape(depth)).collect()
    }

    /// Whether the representatives of `self` name one cell each of `coarser`.
    pub(crate) fn resolves(&self, coarser: &Self) -> bool {
        match (self.resolution, coarser.resolution) {
            (Resolution::Prefix { bits: mine }, Resolution::Prefix { bits: theirs }) => {
                mine >= theirs
            }
            (Resolution::Prefix { bits }, Resolution::Cells { .. }) => bits == 64,
            (Resolution::Cells { .. }, Resolution::Prefix { .. }) => false,
            (Resolution::Cells { top_bits: mine }, Resolution::Cells { top_bits: theirs }) => {
                self.buckets == coarser.buckets
                    && self.low_bits == coarser.low_bits
                    && self.base_depth + mine >= coarser.base_depth + theirs
            }
        }
    }
}

impl Shape {
    /// The same, where the compiler knows the form: a loop made for one form has no branches on it.
    #[inline(always)]
    pub(crate) fn in_form(self, form: Form) -> Self {
        Self { lanes: self.lanes.in_form(form), ..self }
    }

    /// Spreads a fingerprint over the upper half of a word (2^64 divided by the golden ratio).
    pub(crate) const OFFSET_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    /// From hash to buckets and slot value. The caller has found the segment.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash, segment: u32) -> Probe {
        let suffix = hash.to_u64() & self.suffix_mask;
        let (primary, rest) = multiply_high(suffix, self.scaled_buckets);
        let top = (rest >> self.top_shift) & self.top_mask;
        let (low, _) = multiply_high(rest & self.below_top_mask, self.scaled_low_range);
        let fingerprint = top | (low + 1);
        let partner = self.wrapped(primary + self.offset(fingerprint));
        Probe { segment, primary, partner, value: fingerprint << self.lanes.tag_bits }
    }

    /// A bucket number below twice the number of buckets, modulo that number.
    #[inline(always)]
    fn wrapped(&self, bucket: u64) -> u64 {
        // The smaller of the two, for what is below it wraps when that is taken off.
        bucket.min(bucket.wrapping_sub(self.buckets))
    }

    /// The same item one level deeper, in the halves of its segment, whose buckets are counted through: its
    /// primary bucket and the value there.
    #[inline(always)]
    pub(crate) fn in_halves(&self, bucket: u64, value: u64) -> (u64, u64) {
        let (other, _) = self.other_place(bucket, value);
        let primary = select_unpredictable(value & PARTNER == 0, bucket, other);
        self.at_home_in_halves(primary, value & !PARTNER)
    }

    /// [`in_halves`](Self::in_halves) for an item in its primary bucket. Bucket and top bits are one number
    /// in order of the hash: the first of these bits goes to the bucket.
    #[inline(always)]
    pub(crate) fn at_home_in_halves(&self, primary: u64, value: u64) -> (u64, u64) {
        let first = self.lanes.slot_bits - 1;
        ((primary << 1) | (value >> first), value & ((1 << first) - 1))
    }

    /// The partner of a bucket, where those of two segments of this shape are counted through.
    #[inline(always)]
    pub(crate) fn partner_in_halves(&self, primary: u64, value: u64) -> u64 {
        let first = select_unpredictable(primary >= self.buckets, self.buckets, 0);
        let offset = self.offset(value >> self.lanes.tag_bits);
        first + self.wrapped(primary - first + offset)
    }

    /// Distance from primary to partner: a mix of the whole fingerprint, below `buckets`.
    #[inline(always)]
    fn offset(&self, fingerprint: u64) -> u64 {
        ((fingerprint.wrapping_mul(Self::OFFSET_FACTOR) >> 32) * self.buckets) >> 32
    }

    /// The other place of a slot value found in `bucket` (its own, position removed): the partner
    /// bucket and the value there.
    #[inline(always)]
    pub(crate) fn other_place(&self, bucket: u64, value: u64) -> (u64, u64) {
        let offset = self.offset(value >> self.lanes.tag_bits);
        let turned = if value & PARTNER == 0 { offset } else { self.buckets - offset };
        (self.wrapped(bucket + turned), value ^ PARTNER)
    }

    /// The smallest hash of the cell that `value` in `bucket` stands for; `prefix` is the segment's
    /// hash prefix, in the most significant bits.
    pub(crate) fn representative(&self, prefix: u64, bucket: u64, value: u64) -> KeyHash {
        let primary = if value & PARTNER == 0 { bucket } else { self.other_place(bucket, value).0 };
        let fingerprint = value >> self.lanes.tag_bits;
        let range = u128::from(self.low_range);
        let top = fingerprint >> self.low_bits;
        let low = (fingerprint & self.low_range).saturating_sub(1);
        let cell = u128::from((primary << self.top_bits) | top) * range + u128::from(low);
        let cells = (u128::from(self.buckets) << self.top_bits) * range;
        // The builder keeps cells * 2^depth <= 2^64, or suffix_bits <= 63 where it is more.
        let suffix = ((cell << self.suffix_bits).div_ceil(cells)) as u64;
        let below_prefix = 64 - self.depth - self.suffix_bits;
        KeyHash::from_u64(prefix | (suffix << below_prefix))
    }

    /// Slots of a segment.
    pub(crate) fn slots(&self) -> u64 {
        if self.lanes.overlap() {
            self.buckets + 1
        } else {
            self.buckets * u64::from(self.lanes.slots)
        }
    }

    /// Calls `visit` with the bucket and the value of every slot in use.
    #[inline(always)]
    pub(crate) fn for_each_value(&self, segment: &Segment, mut visit: impl FnMut(u64, u64)) {
        self.for_each_slot_in(segment, 0..self.slots(), |bucket, value| {
            if value != 0 {
                visit(bucket, value);
            }
        });
    }

    /// Calls `visit` with the bucket and the value of each of these slots, 0 where it is free; where buckets
    /// do not overlap, of whole ones.
    #[inline(always)]
    pub(crate) fn for_each_slot_in(
        &self,
        segment: &Segment,
        slots: Range<u64>,
        mut visit: impl FnMut(u64, u64),
    ) {
        for (number, positions) in self.lanes.runs(slots) {
            let bucket = self.lanes.read(segment, number);
            for position in positions {
                let stored = self.lanes.stored(segment, &bucket, position);
                let (own, value) = self.lanes.own_bucket(number, position, stored);
                visit(own, value);
            }
        }
    }

    /// Bytes of a segment of this shape, with the tail that lets every load read eight bytes.
    pub(crate) fn bytes(&self, slots: u64) -> u64 {
        (self.lanes.segment_bits(slots).div_ceil(8) + 8).next_multiple_of(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd, even, prime, one, and as large as they come: 2^32 buckets of 8 are 2^35 slots.
    const BUCKETS: [u64; 9] = [1, 2, 3, 7, 100, 4097, 65_535, (1 << 31) + 11, MAX_BUCKETS - 1];

    /// Geometries of all kinds, with their shapes.
    fn all() -> Vec<(Geometry, Vec<Shape>)> {
        let mut all = Vec::new();
        for buckets in BUCKETS {
            for base_depth in [0, 1, 5, 20] {
                for (layout, slots_per_bucket) in [(Layout::Buckets, 8), (Layout::Windows, 2)] {
                    let geometry = |low_bits, resolution| Geometry {
                        layout,
                        slots_per_bucket,
                        buckets,
                        base_depth,
                        low_bits,
                        resolution,
                    };
                    for bits in [20, 30, 40, 50, 63, 64] {
                        all.push(geometry(LOW_BITS, Resolution::Prefix { bits }));
                    }
                    for top_bits in [0, 1, 9, 30] {
                        all.push(geometry(LOW_BITS, Resolution::Cells { top_bits }));
                    }
                    all.push(geometry(3, Resolution::Cells { top_bits: 0 }));
                }
            }
        }
        let fits = |geometry: &Geometry| match geometry.resolution {
            Resolution::Prefix { bits } => (geometry.base_depth..64).contains(&bits),
            Resolution::Cells { .. } => geometry.cells() <= 64f64.exp2(),
        };
        all.retain(|geometry| fits(geometry) && geometry.shape(geometry.base_depth).is_some());
        all.into_iter().map(|geometry| (geometry, geometry.shapes())).collect()
    }

    /// Uniform hashes, and the ends.
    fn hashes() -> impl Iterator<Item = u64> {
        let mix = |n: u64| (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let random = (1..60u64).map(move |n| mix(mix(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        random.chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1])
    }

    fn prefix_of(hash: u64, depth: u32) -> u64 {
        hash & !u64::MAX.checked_shr(depth).unwrap_or(0)
    }

    fn place(shape: &Shape, hash: u64) -> (u64, u64, u64) {
        let probe = shape.locate(KeyHash::from_u64(hash), 0);
        (probe.primary, probe.partner, probe.value)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn the_other_place_of_the_other_place_is_the_place() {
        let mut tried = 0;
        for (_, shapes) in all() {
            for shape in &shapes {
                for hash in hashes() {
                    let (primary, partner, value) = place(shape, hash);
                    assert!(primary < shape.buckets && partner < shape.buckets);
                    assert!(value >> shape.lanes.tag_bits != 0 && value & PARTNER == 0);
                    assert_eq!(shape.other_place(primary, value), (partner, value | PARTNER));
                    assert_eq!(shape.other_place(partner, value | PARTNER), (primary, value));
                    tried += 1;
                }
            }
        }
        assert!(tried > 100_000, "{tried}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_representative_is_the_smallest_hash_of_its_cell() {
        for (_, shapes) in all() {
            for shape in &shapes {
                for hash in hashes() {
                    let prefix = prefix_of(hash, shape.depth);
                    let (primary, partner, value) = place(shape, hash);
                    let found = shape.representative(prefix, primary, value).to_u64();
                    assert_eq!(place(shape, found), (primary, partner, value));
                    let from_partner = shape.representative(prefix, partner, value | PARTNER);
                    assert_eq!(from_partner.to_u64(), found);
                    assert!(found <= hash);
                    if found > prefix {
                        assert_ne!(place(shape, found - 1), (primary, partner, value));
                    }
                }
            }
        }
    }

    /// With C cells, a hash h lies in cell floor(h C / 2^64): the law is exact.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn all_cells_have_the_same_size() {
        for (geometry, shapes) in all() {
            let cells = geometry.cells() as u128;
            let exact = |hash: u64| {
                let (low, high) = (cells & u128::from(u64::MAX), cells >> 64);
                ((u128::from(hash) * low) >> 64) + u128::from(hash) * high
            };
            for shape in &shapes {
                for hash in hashes() {
                    let prefix = prefix_of(hash, shape.depth);
                    let (primary, _, value) = place(shape, hash);
                    let found = shape.representative(prefix, primary, value).to_u64();
                    assert_eq!(exact(found), exact(hash), "{geometry:?}");
                    assert!(found == 0 || exact(found - 1) < exact(found), "{geometry:?}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_split_takes_every_hash_where_its_representative_goes() {
        for (_, shapes) in all() {
            for pair in shapes.windows(2) {
                let [parent, child] = pair else { continue };
                for hash in hashes() {
                    let prefix = prefix_of(hash, parent.depth);
                    let (primary, partner, value) = place(parent, hash);
                    let found = parent.representative(prefix, primary, value).to_u64();
                    assert_eq!(prefix_of(found, child.depth), prefix_of(hash, child.depth));
                    assert_eq!(place(child, found), place(child, hash));
                    for (bucket, value) in [(primary, value), (partner, value | PARTNER)] {
                        let (primary, value) = parent.in_halves(bucket, value);
                        let partner = child.partner_in_halves(primary, value);
                        let is_upper = prefix_of(hash, child.depth) != prefix;
                        let first = if is_upper { child.buckets } else { 0 };
                        assert_eq!((primary - first, partner - first, value), place(child, hash));
                    }
                }
            }
        }
    }
}
