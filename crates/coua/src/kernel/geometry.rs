//! Which hashes a filter distinguishes, and the layout of its segments at each depth.
//!
//! Pure arithmetic. A [`LevelGeometry`] is what the operations work with; a [`Geometry`] makes one for
//! each depth.

use super::level::{LOW_BITS, LevelGeometry, SLOTS, SlotCodec};

/// Buckets of a segment stay below this, so that the alternate bucket takes two short multiplications.
pub(crate) const MAX_BUCKETS: u64 = 1 << 32;

/// The properties that a filter keeps until it is rebuilt. Plain numbers; also the snapshot's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Buckets of every segment.
    pub(crate) buckets: u64,
    /// Prefix length of the segments that were not split.
    pub(crate) base_depth: u32,
    /// Bits of the fingerprint's scaled low part.
    pub(crate) low_bits: u32,
    pub(crate) resolution: Resolution,
}

/// Which hashes a filter distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The first `bits` bits of the hash, whatever the geometry: may be rebuilt to any size.
    Prefix { bits: u32 },
    /// The cells of this geometry, with `top_bits` top bits at the base depth. No bit is wasted, but the filter
    /// can only be halved or doubled.
    Cells { top_bits: u32 },
}

impl Geometry {
    /// One bucket that remembers whole hashes.
    pub(crate) const ONE_BUCKET: Self = Self {
        buckets: 1,
        base_depth: 0,
        low_bits: LOW_BITS,
        resolution: Resolution::Prefix { bits: 64 },
    };

    /// The number of hashes that a filter distinguishes; the false-positive rate with n items is n / cells.
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
        self.buckets * u64::from(SLOTS)
    }

    /// Slots of all segments, before any splits.
    pub(crate) fn slots(&self) -> u64 {
        self.segment_slots().saturating_mul(1 << self.base_depth)
    }

    /// Bytes of the slots of all segments, before any splits; `u64::MAX` if more.
    pub(crate) fn slot_bytes(&self) -> u64 {
        let level = self.level(self.base_depth);
        let segment = level.map_or(u64::MAX, |level| level.bytes());
        u64::try_from(u128::from(segment) << self.base_depth).unwrap_or(u64::MAX)
    }

    /// Top bits of the fingerprint at `depth`, or `None` if the fingerprint has none left.
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

    /// The depth of segments whose fingerprints have no bit left for a split.
    pub(crate) fn last_depth(&self) -> u32 {
        match self.resolution {
            Resolution::Cells { top_bits } => self.base_depth + top_bits,
            Resolution::Prefix { bits } => {
                let cells = self.buckets * ((1 << self.low_bits) - 1);
                bits.saturating_sub(cells.ilog2()).max(self.base_depth)
            }
        }
    }

    /// The geometry of the segments at `depth`, or `None` if the fingerprint would be too narrow or too wide there,
    /// or the numbers do not fit into words.
    pub(crate) fn level(&self, depth: u32) -> Option<LevelGeometry> {
        let bits = match self.resolution {
            Resolution::Prefix { bits } => bits,
            Resolution::Cells { .. } => 64,
        };
        let Self { buckets, low_bits, .. } = *self;
        let top_bits = self.top_bits(depth)?;
        let codec = SlotCodec::new(top_bits + low_bits)?;
        let low_range = (1 << low_bits) - 1;
        Some(LevelGeometry {
            buckets,
            depth,
            suffix_mask: (u64::MAX << (64 - bits)) & (u64::MAX >> depth),
            suffix_bits: bits - depth,
            top_bits,
            low_bits,
            low_range,
            scaled_buckets: buckets.checked_mul(1 << depth)?,
            top_factor: 1 << top_bits,
            scaled_low_range: low_range << top_bits,
            top_shift: 64 - (top_bits + low_bits),
            top_mask: u64::MAX << low_bits,
            codec,
        })
    }

    /// The levels down to the one below `level`, or as far as there are any: down to the narrowest fingerprint.
    pub(crate) fn levels_below(&self, level: u8) -> Vec<LevelGeometry> {
        let depths = (self.base_depth..64).take(usize::from(level) + 2);
        let mut levels: Vec<_> = depths.map_while(|depth| self.level(depth)).collect();
        levels.shrink_to_fit();
        levels
    }

    /// Whether each representative of `self` leads to one cell of `coarser`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;
    use crate::kernel::{ALTERNATE, CHOICE_BITS};
    use crate::smoke::few_in_miri;

    /// Odd, even, prime, one, and the largest: 2^32 buckets are 2^34 slots.
    const BUCKETS: [u64; 9] = [1, 2, 3, 7, 100, 4097, 65_535, (1 << 31) + 11, MAX_BUCKETS - 1];

    /// Geometries of all kinds, with their levels.
    fn all() -> Vec<(Geometry, Vec<LevelGeometry>)> {
        let mut all = Vec::new();
        for buckets in BUCKETS {
            for base_depth in [0, 1, 5, 20] {
                let geometry =
                    |low_bits, resolution| Geometry { buckets, base_depth, low_bits, resolution };
                for bits in [20, 30, 40, 50, 63, 64] {
                    all.push(geometry(LOW_BITS, Resolution::Prefix { bits }));
                }
                for top_bits in [0, 1, 9, 30] {
                    all.push(geometry(LOW_BITS, Resolution::Cells { top_bits }));
                }
                all.push(geometry(3, Resolution::Cells { top_bits: 0 }));
            }
        }
        let fits = |geometry: &Geometry| match geometry.resolution {
            Resolution::Prefix { bits } => (geometry.base_depth..64).contains(&bits),
            Resolution::Cells { .. } => geometry.cells() <= 64f64.exp2(),
        };
        all.retain(|geometry| fits(geometry) && geometry.level(geometry.base_depth).is_some());
        let all = few_in_miri(all.into_iter(), 61);
        all.map(|geometry| (geometry, geometry.levels_below(u8::MAX))).collect()
    }

    #[test]
    fn no_segment_is_deeper_than_the_last_depth() {
        for (geometry, levels) in all() {
            let last = levels.last().unwrap().depth;
            // Beyond 63 bits a segment has no number.
            assert!(last == geometry.last_depth() || last == 63, "{geometry:?}: {last}");
        }
    }

    /// Uniform hashes, and the ends.
    fn hashes() -> impl Iterator<Item = u64> {
        let mix = |n: u64| (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let random = (1..60u64).map(move |n| mix(mix(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        let random = few_in_miri(random, 11);
        random.chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1])
    }

    fn prefix_of(hash: u64, depth: u32) -> u64 {
        hash & !u64::MAX.checked_shr(depth).unwrap_or(0)
    }

    fn place(level: &LevelGeometry, hash: u64) -> (u64, u64, u64) {
        let place = level.locate(KeyHash::from_u64(hash), 0);
        (place.primary, place.alternate, place.value)
    }

    #[test]
    fn the_alternate_of_the_alternate_is_the_bucket_itself() {
        let mut tried = 0;
        for (_, levels) in all() {
            for level in &levels {
                for hash in hashes() {
                    let (primary, alternate, value) = place(level, hash);
                    assert!(primary < level.buckets && alternate < level.buckets);
                    assert!(value >> CHOICE_BITS != 0 && value & ALTERNATE == 0);
                    let words = level.on_words();
                    assert_eq!(words.other_bucket(primary, value), alternate);
                    assert_eq!(words.other_bucket(alternate, value | ALTERNATE), primary);
                    tried += 1;
                }
            }
        }
        assert!(tried > if cfg!(miri) { 500 } else { 100_000 }, "{tried}");
    }

    #[test]
    fn a_representative_is_the_smallest_hash_of_its_cell() {
        for (_, levels) in all() {
            for level in &levels {
                for hash in hashes() {
                    let prefix = prefix_of(hash, level.depth);
                    let (primary, alternate, value) = place(level, hash);
                    let found = level.representative(prefix, primary, value).to_u64();
                    assert_eq!(place(level, found), (primary, alternate, value));
                    let from_alternate = level.representative(prefix, alternate, value | ALTERNATE);
                    assert_eq!(from_alternate.to_u64(), found);
                    assert!(found <= hash);
                    if found > prefix {
                        assert_ne!(place(level, found - 1), (primary, alternate, value));
                    }
                }
            }
        }
    }

    /// With C cells, a hash h is in cell floor(h C / 2^64): the law is exact.
    #[test]
    fn all_cells_have_the_same_size() {
        for (geometry, levels) in all() {
            let cells = geometry.cells() as u128;
            let exact = |hash: u64| {
                let (low, high) = (cells & u128::from(u64::MAX), cells >> 64);
                ((u128::from(hash) * low) >> 64) + u128::from(hash) * high
            };
            for level in &levels {
                for hash in hashes() {
                    let prefix = prefix_of(hash, level.depth);
                    let (primary, _, value) = place(level, hash);
                    let found = level.representative(prefix, primary, value).to_u64();
                    assert_eq!(exact(found), exact(hash), "{geometry:?}");
                    assert!(found == 0 || exact(found - 1) < exact(found), "{geometry:?}");
                }
            }
        }
    }

    #[test]
    fn a_split_takes_every_hash_where_its_representative_goes() {
        for (_, levels) in all() {
            for pair in levels.windows(2) {
                let [parent, child] = pair else { continue };
                for hash in hashes() {
                    let prefix = prefix_of(hash, parent.depth);
                    let (primary, alternate, value) = place(parent, hash);
                    let found = parent.representative(prefix, primary, value).to_u64();
                    assert_eq!(prefix_of(found, child.depth), prefix_of(hash, child.depth));
                    assert_eq!(place(child, found), place(child, hash));
                    for (bucket, value) in [(primary, value), (alternate, value | ALTERNATE)] {
                        let (primary, value) = parent.in_children(bucket, value);
                        let alternate = child.alternate_in_children(primary, value);
                        let is_upper = prefix_of(hash, child.depth) != prefix;
                        let first = if is_upper { child.buckets } else { 0 };
                        assert_eq!((primary - first, alternate - first, value), place(child, hash));
                    }
                }
            }
        }
    }
}
