//! Putting many items back that are counted already.

use super::Lookahead;
use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::shapes::{Shapes, Work};

/// A batch of items that are counted already on their way into slots.
pub(super) struct Restorer<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
}

impl Work for Restorer<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        while let Some((_, probe)) = ahead.next(self.filter, shapes) {
            self.filter.put_back(shapes, &probe);
        }
    }
}
