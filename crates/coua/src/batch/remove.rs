//! Removing many keys.

use super::Lookahead;
use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::shapes::{Shapes, Work};

/// A batch of keys to be taken out of a filter.
pub(super) struct Remover<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) removed: &'a mut Vec<bool>,
}

impl Work for Remover<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        while let Some((_, probe)) = ahead.next(self.filter, shapes) {
            self.removed.push(self.filter.take_away(shapes, &probe));
        }
    }
}
