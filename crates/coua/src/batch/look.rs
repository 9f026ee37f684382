//! Looking many keys up, without vectors.

use super::{Lookahead, Work};
use crate::KeyHash;
use crate::bucket::Form;
use crate::filter::CuckooFilter;
use crate::prepared::{ByLevel, Narrow, Shapes, Wide};

/// A batch of keys to be looked up.
pub(super) struct Looker<'a> {
    pub(super) filter: &'a CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) present: &'a mut Vec<bool>,
}

impl Work for Looker<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.filter.only_shape().copied() {
            Some(shape) if shape.lanes.form == Form::Narrow => self.look(Narrow(shape)),
            Some(shape) if shape.lanes.form == Form::Wide => self.look(Wide(shape)),
            _ => self.look(ByLevel),
        }
    }
}

impl Looker<'_> {
    #[inline(always)]
    fn look(self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        while let Some((_, probe)) = ahead.next(self.filter, shapes) {
            self.present.push(self.filter.look_in(shapes, &probe));
        }
    }
}
