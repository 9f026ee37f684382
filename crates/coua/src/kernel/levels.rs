//! What the compiler knows of a level in a loop over keys.
//!
//! A loop that asks at every step whether buckets are narrow or wide takes a quarter more instructions than one that
//! knows.

use super::codec::Encoding;
use super::level::LevelGeometry;
use crate::simd::Avx2Bucket;

/// The level of all segments that a loop touches.
pub(crate) trait KnownLevel: Copy {
    fn geometry(self) -> LevelGeometry;

    /// The comparison of single keys with whole buckets, if known.
    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        None
    }
}

/// A level about which the compiler knows nothing.
impl KnownLevel for &LevelGeometry {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        *self
    }
}

/// A level whose buckets are wide or narrow.
pub(crate) struct WithEncoding<const WIDE: bool>(pub(crate) LevelGeometry);

impl<const WIDE: bool> KnownLevel for &WithEncoding<WIDE> {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        self.0.with_encoding(if WIDE { Encoding::Wide } else { Encoding::Narrow })
    }
}

/// A level, and what compares single keys with its buckets.
pub(crate) struct WithAvx2(LevelGeometry, &'static Avx2Bucket);

impl WithAvx2 {
    /// A level that has [`avx2`](super::SlotCodec::avx2).
    #[inline(always)]
    pub(crate) fn of(level: &LevelGeometry) -> Self {
        Self(*level, level.codec.avx2.expect("buckets of that kind"))
    }
}

impl KnownLevel for &WithAvx2 {
    #[inline(always)]
    fn geometry(self) -> LevelGeometry {
        LevelGeometry { codec: self.0.codec.with_avx2(), ..self.0 }
    }

    #[inline(always)]
    fn avx2(self) -> Option<&'static Avx2Bucket> {
        Some(self.1)
    }
}

/// Compiles a loop for each encoding of the level of all segments that it touches.
macro_rules! with_encoding {
    ($geometry:expr, |$level:ident| $work:expr) => {
        match $geometry {
            geometry if geometry.codec.encoding == $crate::kernel::Encoding::Narrow => {
                let $level = &$crate::kernel::WithEncoding::<false>(geometry);
                $work
            }
            geometry => {
                let $level = &$crate::kernel::WithEncoding::<true>(geometry);
                $work
            }
        }
    };
}

/// Does work on one key, compiled for what is known of the level of its segment. Only the common cases are inlined, so
/// the others add no register pressure.
macro_rules! with_level {
    ($segments:expr, $hash:expr, |$level:ident| $work:expr) => {
        if let Some(&level) = $segments.uniform_narrow() {
            let $level = &$crate::kernel::WithEncoding::<false>(level);
            $work
        } else if let Some(avx2) = $segments.avx2() {
            avx2.run(
                #[inline(always)]
                move || {
                    let $level = &$crate::kernel::WithAvx2::of($segments.level_for($hash));
                    $work
                },
            )
        } else {
            $crate::kernel::out_of_line(move || {
                $crate::kernel::with_encoding!(*$segments.level_for($hash), |$level| $work)
            })
        }
    };
}

#[inline(never)]
pub(crate) fn out_of_line<T>(work: impl FnOnce() -> T) -> T {
    work()
}

pub(crate) use {with_encoding, with_level};
