//! Looking many keys up, without vectors.

use super::Lookahead;
use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::shapes::{Shapes, Work};

/// A batch of keys to be looked up.
pub(super) struct Looker<'a> {
    pub(super) filter: &'a CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) present: &'a mut Vec<bool>,
}

impl Work for Looker<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        while let Some((_, probe)) = ahead.next(self.filter, shapes) {
            self.present.push(self.filter.look_in(shapes, &probe));
        }
    }
}
