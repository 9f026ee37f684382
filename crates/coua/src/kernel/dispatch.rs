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

    /// A level of the encoding that the task is compiled for, which the compiler then knows.
    fn with_encoding(self, level: LevelGeometry) -> LevelGeometry;
}

/// Nothing is known: always right.
#[derive(Clone, Copy)]
pub(crate) struct AnyLevel;

impl Levels for AnyLevel {
    #[inline(always)]
    fn uniform_or(self, own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        own()
    }

    #[inline(always)]
    fn with_encoding(self, level: LevelGeometry) -> LevelGeometry {
        level
    }
}

/// All segments have this level, and their buckets are narrow. Right until one splits. Passed on by reference:
/// copies of it cost more than reading it.
struct Narrow(LevelGeometry);

impl Levels for &Narrow {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        self.with_encoding(self.0)
    }

    #[inline(always)]
    fn with_encoding(self, level: LevelGeometry) -> LevelGeometry {
        level.with_encoding(Encoding::Narrow)
    }
}

/// As [`Narrow`], for wide buckets.
struct Wide(LevelGeometry);

impl Levels for &Wide {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        self.with_encoding(self.0)
    }

    #[inline(always)]
    fn with_encoding(self, level: LevelGeometry) -> LevelGeometry {
        level.with_encoding(Encoding::Wide)
    }
}

/// Work on segments. `run` is always inlined, into code for one encoding and one kind of processor.
pub(crate) trait Task {
    type Output;

    fn run(self, levels: impl Levels) -> Self::Output;
}

/// Runs a task for the encoding of `uniform`, the level of all segments that it touches; `None` if their
/// levels differ.
#[inline(always)]
pub(crate) fn dispatch_inline<T: Task>(task: T, uniform: Option<LevelGeometry>) -> T::Output {
    match uniform {
        Some(level) if level.codec.encoding == Encoding::Narrow => task.run(&Narrow(level)),
        Some(level) if level.codec.encoding == Encoding::Wide => task.run(&Wide(level)),
        _ => task.run(AnyLevel),
    }
}

/// [`dispatch_inline`], compiled for the instructions of this processor: for loops that are worth a call.
#[inline]
pub(crate) fn dispatch<T: Task>(task: T, uniform: Option<LevelGeometry>) -> T::Output {
    struct Dispatched<T>(T, Option<LevelGeometry>);
    impl<T: Task> Compiled for Dispatched<T> {
        type Output = T::Output;

        #[inline(always)]
        fn run(self) -> T::Output {
            dispatch_inline(self.0, self.1)
        }

        #[inline(always)]
        fn run_portable(self) -> T::Output {
            // One version is enough: the others would double the code.
            self.0.run(AnyLevel)
        }
    }
    with_bit_instructions(Dispatched(task, uniform))
}
