//! In place of [`avx512`](super::avx512) where there are no such vectors: every function does nothing and
//! says so, and portable code does the work.

use std::ops::Range;

use super::codec::SlotCodec;
use super::moves::GroupMoves;
use super::probes::{
    IfPresent, InsertProbes, KeyGroup, Lookups, RemoveProbes, UniformTable, WIDTH,
};
use super::split::{MovedItems, Parent};
use crate::hash::KeyHash;
use crate::table::SegmentMut;

pub(crate) fn locate(
    _table: UniformTable<'_>,
    _hashes: &[KeyHash; WIDTH],
    _keys: &mut KeyGroup,
) -> bool {
    false
}

pub(crate) fn contains(
    _table: UniformTable<'_>,
    _lookups: &Lookups<'_, impl Fn(KeyHash) -> bool>,
    _present: &mut Vec<bool>,
) -> bool {
    false
}

pub(crate) fn probe_inserts(
    _table: UniformTable<'_>,
    _keys: &KeyGroup,
    _if_present: IfPresent,
    _probes: &mut InsertProbes,
) -> bool {
    false
}

pub(crate) fn probe_removals(
    _table: UniformTable<'_>,
    _keys: &KeyGroup,
    _probes: &mut RemoveProbes,
) -> bool {
    false
}

pub(crate) fn find_moves(_table: UniformTable<'_>, _moves: &mut GroupMoves) -> bool {
    false
}

pub(crate) fn test_moves(_table: UniformTable<'_>, _moves: &mut GroupMoves) -> bool {
    false
}

pub(crate) fn divide(_parent: &Parent, _slots: Range<u64>, _moved: &mut MovedItems) -> bool {
    false
}

pub(crate) fn keep(_parent: &Parent, _values: &mut [u64], _items: &mut [u8]) -> bool {
    false
}

pub(crate) fn pack(_codec: &SlotCodec, _segment: &mut SegmentMut<'_>, _values: &[u64]) -> bool {
    false
}
