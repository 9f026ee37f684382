//! The four slots of a wide bucket side by side in a vector of AVX2: a single key is compared with all of them at once.
//!
//! Such a bucket begins at a byte, with 16 bits of each slot; the tails of the slots follow. So what a slot is made of
//! is a constant of its width. The vector takes the first bits as they lie, beside them the bytes that each tail lies in,
//! moves the tails to where they belong, and drops the bits of their neighbors.

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use vectors::Avx2Bucket;

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "vector instructions")]
mod vectors {
    use std::arch::x86_64 as x86;
    use std::array;
    use std::sync::LazyLock;

    use super::super::avx2::{Avx2, Four};
    use super::super::instructions::{InstructionSet, available};
    use super::super::{Isa, Kernel, Vector, Words};

    /// Bits of each slot that a bucket begins with.
    const FIRST_BITS: usize = 16;
    /// Slots that are not narrower have such buckets, and there are no wider ones.
    const WIDTHS: std::ops::RangeInclusive<usize> = 17..=57;
    /// Bytes of half a vector.
    const HALF: usize = 16;
    /// A byte that is 0 instead of one of its half.
    const NO_BYTE: u8 = 0x80;

    /// How the slots of one width lie in their bucket. Where there is one, the processor has the instructions.
    #[derive(Debug)]
    pub(crate) struct Avx2Bucket {
        isa: Avx2,
        /// For each byte of a vector, the one of its half that it takes.
        order: [u64; 4],
        /// Bits of the neighbor before each tail, in its first byte.
        shift: [u64; 4],
        /// The bits of a tail, above the first bits.
        mask: u64,
        /// Where the two halves begin.
        halves: [usize; 2],
        /// From one bucket to the next, in bytes.
        step: u64,
        /// Bytes that are read: a whole bucket, and what follows a short one.
        bytes: usize,
    }

    impl Avx2Bucket {
        /// Those of slots of `slot_bits` bits.
        pub(crate) fn of(slot_bits: u32) -> Option<&'static Self> {
            static ALL: LazyLock<Vec<Avx2Bucket>> = LazyLock::new(|| {
                let isa = (available() >= InstructionSet::Avx2).then_some(Avx2(()));
                isa.map_or_else(Vec::new, |isa| {
                    WIDTHS.map(|bits| Avx2Bucket::new(isa, bits)).collect()
                })
            });
            ALL.get((slot_bits as usize).checked_sub(*WIDTHS.start())?)
        }

        fn new(isa: Avx2, slot_bits: usize) -> Self {
            let tail_bits = slot_bits - FIRST_BITS;
            let step = (4 * slot_bits).div_ceil(8);
            let bytes = step.max(HALF);
            let second = bytes - HALF;
            let halves = [second.min(8), second];
            let tail = |slot: usize| 4 * FIRST_BITS + slot * tail_bits;
            // Six bytes reach a tail of 41 bits and those before it.
            let order = |slot: usize| {
                let first = tail(slot) / 8 - halves[slot / 2];
                let byte = |at: usize| match first + at - FIRST_BITS / 8 {
                    byte if byte < HALF => byte as u8,
                    _ => NO_BYTE,
                };
                let byte = |at| if at < FIRST_BITS / 8 { NO_BYTE } else { byte(at) };
                u64::from_le_bytes(array::from_fn(byte))
            };
            let (order, shift) = (array::from_fn(order), array::from_fn(|it| tail(it) as u64 % 8));
            let mask = ((1 << tail_bits) - 1) << FIRST_BITS;
            Self { isa, order, shift, mask, halves, step: step as u64, bytes }
        }

        /// Runs a kernel on words, compiled for these instructions.
        #[inline(always)]
        pub(crate) fn run<K: Kernel>(&self, kernel: K) -> K::Output {
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
            fn compiled_for_them<K: Kernel>(kernel: K) -> K::Output {
                kernel.run(Words)
            }
            let Avx2(()) = self.isa;
            // SAFETY: the processor has the instructions.
            unsafe { compiled_for_them(kernel) }
        }

        /// The byte of its segment that a bucket begins at.
        #[inline(always)]
        pub(crate) fn first_byte(&self, bucket: u64) -> u64 {
            bucket * self.step
        }

        /// The bytes read of a bucket, starting at its first.
        #[inline(always)]
        pub(crate) fn bytes(&self) -> usize {
            self.bytes
        }

        /// Whether a slot of the first bucket holds a value, or a slot of the second one holds it with its lowest bit set.
        #[inline(always)]
        pub(crate) fn any_match(&self, buckets: [&[u8]; 2], value: u64) -> bool {
            let [one, other] = self.equal(buckets, value);
            let any = (one | other).0;
            instruction!(x86::_mm256_testz_si256(any, any)) == 0
        }

        /// The matching slots of each bucket: a bit for each.
        #[inline(always)]
        pub(crate) fn matches(&self, buckets: [&[u8]; 2], value: u64) -> [u8; 2] {
            self.equal(buckets, value).map(Four::bits)
        }

        #[inline(always)]
        fn equal(&self, [one, other]: [&[u8]; 2], value: u64) -> [Four; 2] {
            let isa = self.isa;
            [
                self.slots(one).equals(isa.splat(value)),
                self.slots(other).equals(isa.splat(value | 1)),
            ]
        }

        /// The values in the slots of a bucket.
        #[inline(always)]
        fn slots(&self, bucket: &[u8]) -> Four {
            assert!(bucket.len() >= self.bytes);
            let bucket = bucket.as_ptr();
            // SAFETY: the bytes are there: 8 at the beginning, and 16 where each half begins. The processor has the
            // instructions.
            let (first, halves) = unsafe {
                let half = |at: usize| x86::_mm_loadu_si128(bucket.add(at).cast());
                let [low, high] = self.halves.map(half);
                let halves =
                    x86::_mm256_inserti128_si256(x86::_mm256_castsi128_si256(low), high, 1);
                (x86::_mm256_cvtepu16_epi64(x86::_mm_loadl_epi64(bucket.cast())), halves)
            };
            let isa = self.isa;
            let tails =
                Four(instruction!(x86::_mm256_shuffle_epi8(halves, isa.load(&self.order).0)));
            Four(first) | (tails.shr_each(isa.load(&self.shift)) & isa.splat(self.mask))
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) use none::Avx2Bucket;

/// Where there is no AVX2.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod none {
    use super::super::Kernel;

    #[derive(Debug)]
    pub(crate) enum Avx2Bucket {}

    impl Avx2Bucket {
        pub(crate) fn of(_slot_bits: u32) -> Option<&'static Self> {
            None
        }

        pub(crate) fn run<K: Kernel>(&self, _kernel: K) -> K::Output {
            match *self {}
        }

        pub(crate) fn first_byte(&self, _bucket: u64) -> u64 {
            match *self {}
        }

        pub(crate) fn bytes(&self) -> usize {
            match *self {}
        }

        pub(crate) fn any_match(&self, _buckets: [&[u8]; 2], _value: u64) -> bool {
            match *self {}
        }

        pub(crate) fn matches(&self, _buckets: [&[u8]; 2], _value: u64) -> [u8; 2] {
            match *self {}
        }
    }
}
