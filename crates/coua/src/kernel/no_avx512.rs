//! In place of [`avx512`](super::avx512) where there are no such vectors: every function does nothing and
//! says so, and portable code does the work.

use std::ops::Range;

use super::codec::SlotCodec;
use super::split::{MovedItems, Parent};
use crate::table::SegmentMut;

pub(crate) fn find_moved(_parent: &Parent, _slots: Range<u64>, _moved: &mut MovedItems) -> bool {
    false
}

pub(crate) fn keep(_parent: &Parent, _values: &mut [u64], _items: &mut [u8]) -> bool {
    false
}

pub(crate) fn pack(_codec: &SlotCodec, _segment: &mut SegmentMut<'_>, _values: &[u64]) -> bool {
    false
}
