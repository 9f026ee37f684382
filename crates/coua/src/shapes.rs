//! Work on segments, compiled for the form of their buckets.
//!
//! A loop that finds the shape of each key's segment anew, and asks at every step whether its buckets
//! are narrow or wide, takes a quarter more instructions than one that knows.

use crate::bucket::Form;
use crate::filter::CuckooFilter;
use crate::geometry::Shape;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::with_bit_instructions;

/// How a segment's shape is found.
pub(crate) trait Shapes: Copy {
    fn of(self, filter: &CuckooFilter, segment: u32) -> Shape;

    /// A shape of the form that the work is compiled for, known to the compiler.
    fn in_form(self, shape: Shape) -> Shape;
}

/// Through the segment's level: always right.
#[derive(Clone, Copy)]
pub(crate) struct ByLevel;

impl Shapes for ByLevel {
    #[inline(always)]
    fn of(self, filter: &CuckooFilter, segment: u32) -> Shape {
        *filter.shape_of(segment)
    }

    #[inline(always)]
    fn in_form(self, shape: Shape) -> Shape {
        shape
    }
}

/// All segments that are touched have this shape, and their buckets are narrow. Right until one
/// splits.
#[derive(Clone, Copy)]
struct Narrow(Shape);

impl Shapes for Narrow {
    #[inline(always)]
    fn of(self, _filter: &CuckooFilter, _segment: u32) -> Shape {
        self.in_form(self.0)
    }

    #[inline(always)]
    fn in_form(self, shape: Shape) -> Shape {
        shape.in_form(Form::Narrow)
    }
}

/// As [`Narrow`], for wide buckets.
#[derive(Clone, Copy)]
struct Wide(Shape);

impl Shapes for Wide {
    #[inline(always)]
    fn of(self, _filter: &CuckooFilter, _segment: u32) -> Shape {
        self.in_form(self.0)
    }

    #[inline(always)]
    fn in_form(self, shape: Shape) -> Shape {
        shape.in_form(Form::Wide)
    }
}

/// Work on segments. `run` is always inlined, into code for one form and one kind of processor.
pub(crate) trait Work {
    type Output;

    fn run(self, shapes: impl Shapes) -> Self::Output;
}

/// Runs work in the form that `only`, the shape of all segments that it touches, has; `None` if their
/// shapes differ.
#[inline(always)]
pub(crate) fn in_form<W: Work>(work: W, only: Option<Shape>) -> W::Output {
    match only {
        Some(shape) if shape.lanes.form == Form::Narrow => work.run(Narrow(shape)),
        Some(shape) if shape.lanes.form == Form::Wide => work.run(Wide(shape)),
        _ => work.run(ByLevel),
    }
}

/// [`in_form`], compiled for what the processor has: for loops that are worth a call.
#[inline]
pub(crate) fn in_best_form<W: Work>(work: W, only: Option<Shape>) -> W::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let output = with_bit_instructions(work, only);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let output = in_form(work, only);
    output
}
