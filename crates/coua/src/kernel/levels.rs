//! Properties of levels that are known before a loop over keys begins.
//!
//! A loop that finds the geometry of each key's segment anew, and asks at every step whether buckets are
//! narrow or wide, takes a quarter more instructions than one that knows.

use super::codec::Encoding;
use super::level::LevelGeometry;
use crate::simd::Avx2Bucket;

/// The known properties of the levels of all segments that a loop touches.
pub(crate) trait Levels: Copy {
    /// The one level of all segments, or what the segment's own level is.
    fn uniform_or(self, own: impl FnOnce() -> LevelGeometry) -> LevelGeometry;

    /// The comparison of single keys with whole buckets, if known.
    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        None
    }
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

/// All segments have this level, and their buckets are wide or narrow. Right until one splits.
pub(crate) struct Known<const WIDE: bool>(pub(crate) LevelGeometry);

impl<const WIDE: bool> Levels for &Known<WIDE> {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        self.0.with_encoding(if WIDE { Encoding::Wide } else { Encoding::Narrow })
    }
}

/// The segment that is touched has this level, and what compares single keys with its buckets.
pub(crate) struct KnownAvx2(pub(crate) LevelGeometry, pub(crate) &'static Avx2Bucket);

impl Levels for &KnownAvx2 {
    #[inline(always)]
    fn uniform_or(self, _own: impl FnOnce() -> LevelGeometry) -> LevelGeometry {
        LevelGeometry { codec: self.0.codec.with_avx2(), ..self.0 }
    }

    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        Some(self.1)
    }
}

/// Compiles a loop for each encoding of `uniform`, the level of all segments that it touches, and for segments of
/// several levels (`None`). In the loop, `levels` is what the compiler knows of the levels.
macro_rules! with_levels {
    ($uniform:expr, |$levels:ident| $work:expr) => {
        match $uniform {
            Some(level) if level.codec.encoding == $crate::kernel::Encoding::Narrow => {
                let $levels = &$crate::kernel::Known::<false>(level);
                $work
            }
            Some(level) => {
                let $levels = &$crate::kernel::Known::<true>(level);
                $work
            }
            None => {
                let $levels = $crate::kernel::AnyLevel;
                $work
            }
        }
    };
}

pub(crate) use with_levels;
