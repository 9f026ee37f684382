//! Joining segments: the inverse of a [`split`](super::split), for filters that have become mostly empty.
//!
//! Two segments whose prefixes differ in the last bit become one, a level up, where fingerprints have one bit
//! more. Their items are identified by their representatives, as in a rebuild, but only these items move, so a
//! large filter frees memory in steps. A step depends only on the slots, so equal filters stay equal.

use super::Segments;
use crate::error::{OutOfMemory, reserve};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, LevelGeometry, Resolution};

impl Segments {
    /// A segment and the one with which it makes up one a level up, the lower one first.
    pub(crate) fn siblings(&self, index: u32) -> Option<[u32; 2]> {
        let (segment, depth) = (self.table.segment(index), self.level_of(index).depth);
        let bit = 1_u64.checked_shl(64_u32.checked_sub(depth)?)?;
        let other = self.directory.segment_of(KeyHash::from_u64(segment.prefix() ^ bit));
        let pair = if segment.prefix() & bit == 0 { [index, other] } else { [other, index] };
        (self.table.segment(other).level() == segment.level()).then_some(pair)
    }

    /// Whether there is a level above that of a segment.
    pub(crate) fn has_level_above(&self, index: u32) -> bool {
        self.table.segment(index).level() > 0 || self.lowered().is_some()
    }

    /// Puts an empty segment a level up in the place of two, whose items are lost. Takes all memory first. The
    /// number of the new one, which has no marks of overflow.
    pub(crate) fn join(&mut self, [lower, upper]: [u32; 2]) -> Result<u32, OutOfMemory> {
        let (prefix, level) =
            (self.table.segment(lower).prefix(), self.table.segment(lower).level());
        let lowered = if level == 0 { self.lowered() } else { None };
        let parent = lowered.map_or_else(|| self.levels[usize::from(level) - 1], |(_, base)| base);
        let bytes = parent.bytes();
        reserve(&mut self.levels, 1)?;
        self.table.reserve_segment(bytes)?;
        if let Some((geometry, base)) = lowered {
            self.lower_base(geometry, base);
        }
        let level = self.table.segment(lower).level() - 1;
        let joined = self.table.add_segment(bytes, prefix, level)?;
        self.directory.assign(prefix, parent.depth, joined);
        // The later one first: the last segment takes the place of one that goes.
        self.drop_segment(lower.max(upper));
        self.drop_segment(lower.min(upper));
        self.directory.shrink();
        let deepest = (self.directory.depth() - self.geometry.base_depth) as usize;
        self.levels.truncate(deepest + 2);
        self.levels.shrink_to_fit();
        self.note_levels();
        Ok(self.directory.segment_of(KeyHash::from_u64(prefix)))
    }

    /// The geometry whose segments are the pairs of this one's, and their level; `None` if fingerprints would be
    /// too wide, or could not be split again.
    fn lowered(&self) -> Option<(Geometry, LevelGeometry)> {
        let base_depth = self.geometry.base_depth.checked_sub(1)?;
        // A representative has at most 63 bits after the prefix.
        if base_depth == 0 && self.geometry.resolution == (Resolution::Prefix { bits: 64 }) {
            return None;
        }
        let geometry = Geometry { base_depth, ..self.geometry };
        let base = geometry.level(base_depth)?;
        geometry.level(base_depth + 1).map(|_| (geometry, base))
    }

    /// Makes all segments ones that were split once more.
    fn lower_base(&mut self, geometry: Geometry, base: LevelGeometry) {
        self.levels.insert(0, base);
        self.table.iter_mut().for_each(|mut segment| segment.deepen());
        self.geometry = geometry;
    }

    /// Removes a segment to which no hash leads any more.
    fn drop_segment(&mut self, index: u32) {
        self.table.remove_segment(index);
        if (index as usize) < self.table.len() {
            let (prefix, depth) = (self.table.segment(index).prefix(), self.level_of(index).depth);
            self.directory.assign(prefix, depth, index);
        }
    }
}
