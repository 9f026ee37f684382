//! Dispatch on the encoding: tasks are compiled for each kind of bucket.
//!
//! A loop that finds the geometry of each key's segment anew, and asks at every step whether buckets are
//! narrow or wide, takes a quarter more instructions than one that knows.

use super::codec::Encoding;
use super::instructions::{Compiled, with_bit_instructions};
use super::level::LevelGeometry;

/// What is known of the levels of all segments that a task touches.
pub(crate) trait Levels: Copy {
    /// The one level of all segments, or what the segment's own level is.
    fn uniform_or(self, own: impl FnOnce() -> LevelGeometry) -> LevelGeometry;
}

/// Nothing is known: always right.
#[derive(Clone, Copy)]
pub(crate) struct AnyLevel;

impl Levels for AnyLevel {
    #[inline(always)]
    fn uniform_or(self, own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        own()
    }
}

/// The level of all segments that are touched. Passed on by reference: copies of it cost more than reading it.
impl Levels for &LevelGeometry {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        *self
    }
}

/// All segments have this level, and their buckets are wide or narrow. Right until one splits.
struct Known<const WIDE: bool>(LevelGeometry);

impl<const WIDE: bool> Levels for &Known<WIDE> {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        self.0.with_encoding(if WIDE { Encoding::Wide } else { Encoding::Narrow })
    }
}

/// Work on segments. `run` is always inlined, into code for one encoding and one kind of processor.
pub(crate) trait Task {
    type Output;

    fn run(self, levels: impl Levels) -> Self::Output;
}

/// Runs a task for the encoding of `uniform`, the level of all segments that it touches; `None` if their
/// levels differ. Compiled for the instructions of this processor: for loops that are worth a call.
#[inline]
pub(crate) fn dispatch<T: Task>(task: T, uniform: Option<LevelGeometry>) -> T::Output {
    struct Dispatched<T>(T, Option<LevelGeometry>);
    impl<T: Task> Compiled for Dispatched<T> {
        type Output = T::Output;

        #[inline(always)]
        fn run(self) -> T::Output {
            let Self(task, uniform) = self;
            match uniform {
                Some(level) if level.codec.encoding == Encoding::Narrow => {
                    task.run(&Known::<false>(level))
                }
                Some(level) if level.codec.encoding == Encoding::Wide => {
                    task.run(&Known::<true>(level))
                }
                _ => task.run(AnyLevel),
            }
        }
    }
    with_bit_instructions(Dispatched(task, uniform))
}
