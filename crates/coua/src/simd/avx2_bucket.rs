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
    use super::super::{Isa, Vector};

    /// Bits of each slot that a bucket begins with.
    const FIRST_BITS: usize = 16;
    /// Slots that are not narrower have such buckets, and there are no wider ones.
    const WIDTHS: std::ops::RangeInclusive<usize> = 17..=57;
    /// Bytes of half a vector.
    const HALF: usize = 16;
    /// A byte that is 0 instead of one of its half.
    const NO_BYTE: u8 = 0x80;
    /// Bytes of the first bits of all slots; the tails follow.
    const FIRST_BYTES: usize = 4 * FIRST_BITS / 8;
    /// Bytes that writing a bucket may change, starting at the bucket's first.
    const WRITTEN: usize = 40;
    /// The first bytes of both slots of each half, and the words that these are of both halves.
    const FIRST_ORDER: [u64; 4] =
        [0x8080_8080_0908_0100, u64::MAX, 0x8080_8080_0908_0100, u64::MAX];
    const FIRST_WORDS: [u64; 4] = [4 << 32, 0, 0, 0];

    /// How the slots of one width lie in their bucket. Where there is one, the processor has the instructions.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx2Bucket {
        isa: Avx2,
        /// For each byte of a vector, the one of its half that it takes.
        order: [u64; 4],
        /// Bits of the neighbor before each tail, in its first byte.
        shift: [u64; 4],
        /// The bits of a tail, above the first bits.
        mask: u64,
        /// The first bytes of the two halves.
        halves: [usize; 2],
        /// From one bucket to the next, in bytes.
        step: u64,
        /// Bytes that are read: a whole bucket, and what follows a short one.
        bytes: usize,
        /// From the highest bit of a slot to that of a word.
        top_shift: u32,
        tails: WrittenTails,
    }

    /// How values become the tails of a bucket. Those of each half of a vector are written starting at a byte; the two
    /// halves share one byte at most.
    #[derive(Clone, Copy, Debug)]
    struct WrittenTails {
        /// Bits before each tail, in its first byte.
        shift: [u64; 4],
        /// For each byte of a half, the one of the first slot that it takes, and the one of the second slot.
        orders: [[u64; 4]; 2],
        /// For the first byte of the second half, the last one of the first half.
        carry: [u64; 4],
        /// The byte of the bucket where the second half begins.
        second: usize,
    }

    /// Values for a bucket, starting at its first slot.
    #[derive(Clone, Copy)]
    pub(crate) struct Values(Four);

    /// A vector of bytes: for each half and each of its bytes, the byte that it takes.
    fn order(takes: impl Fn(usize, usize) -> Option<usize>) -> [u64; 4] {
        array::from_fn(|word| {
            let byte = |at| takes(word / 2, word % 2 * 8 + at).map_or(NO_BYTE, |from| from as u8);
            u64::from_le_bytes(array::from_fn(byte))
        })
    }

    impl WrittenTails {
        fn new(tail_bits: usize) -> Self {
            let first_byte = |half: usize| 2 * half * tail_bits / 8;
            let first_bit = |slot: usize| slot * tail_bits - 8 * first_byte(slot / 2);
            let of_slot = |slot: usize| {
                order(|half, at| {
                    let byte = at.checked_sub(first_bit(2 * half + slot) / 8)? + FIRST_BITS / 8;
                    (byte < 8).then_some(8 * slot + byte)
                })
            };
            Self {
                shift: array::from_fn(|slot| first_bit(slot) as u64 % 8),
                orders: [of_slot(0), of_slot(1)],
                carry: order(|half, at| (half == 1 && at == 0).then_some(first_byte(1))),
                second: FIRST_BYTES + first_byte(1),
            }
        }
    }

    impl Avx2Bucket {
        /// The buckets with slots of `slot_bits` bits.
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
            let (top_shift, tails) = (64 - slot_bits as u32, WrittenTails::new(tail_bits));
            Self { isa, order, shift, mask, halves, step: step as u64, bytes, top_shift, tails }
        }

        /// Does work compiled for these instructions, as [`with_bit_instructions`](crate::simd::with_bit_instructions)
        /// does.
        #[inline(always)]
        pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
            fn compiled_for_them<T>(work: impl FnOnce() -> T) -> T {
                work()
            }
            let Avx2(()) = self.isa;
            // SAFETY: the processor has the instructions.
            unsafe { compiled_for_them(work) }
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

        /// Divides the values of a bucket whose lowest bit is clear by their highest bit, in order: the values for two buckets
        /// whose slots are one bit narrower, and how many each gets.
        #[inline(always)]
        pub(crate) fn divide(&self, bucket: &[u8]) -> [(Values, u8); 2] {
            let (isa, values) = (self.isa, self.slots(bucket));
            let (zero, all) = (isa.splat(0), isa.splat(u64::MAX));
            // The highest bits are the mask.
            let (moves, upper) = (values << 63, values << self.top_shift);
            [(moves | upper | values.is_zero()) ^ all, upper.and_not(moves)].map(|mask| {
                let kept = Four::select(mask, values, zero).compress(mask);
                (Values(kept), Four::bits(mask).count_ones() as u8)
            })
        }

        /// Writes the values of a bucket whose lowest bit is set to the beginning of a slice, and returns how many there are.
        /// The rest of the slice is undefined.
        #[inline(always)]
        pub(crate) fn moved(&self, bucket: &[u8], out: &mut [u64]) -> usize {
            let values = self.slots(bucket);
            let moves = values << 63;
            values.compress(moves).store(out);
            Four::bits(moves).count_ones() as usize
        }

        /// Puts a value into a free slot.
        #[inline(always)]
        pub(crate) fn put(&self, bucket: &mut [u8], slot: u8, value: u64) {
            let slot = usize::from(slot & 3);
            let bit = slot * (64 - self.top_shift as usize - FIRST_BITS);
            let first = slot * (FIRST_BITS / 8);
            bucket[first..first + 2].copy_from_slice(&(value as u16).to_le_bytes());
            let tail = &mut bucket[FIRST_BYTES + bit / 8..];
            let tail = tail.first_chunk_mut().expect("a segment ends with a word of zeros");
            let word = u64::from_le_bytes(*tail) | (value >> FIRST_BITS) << (bit & 7);
            *tail = word.to_le_bytes();
        }

        /// Writes the values of a bucket, cut to the width of its slots. Bytes after the bucket become 0, at most up to the end
        /// of the slice.
        #[inline(always)]
        pub(crate) fn store(&self, values: Values, bucket: &mut [u8]) {
            if let Some(bucket) = bucket.first_chunk_mut() {
                return self.write(values, bucket);
            }
            let mut last = [0; WRITTEN];
            self.write(values, &mut last);
            bucket.copy_from_slice(&last[..bucket.len()]);
        }

        #[inline(always)]
        fn write(&self, Values(values): Values, bucket: &mut [u8; WRITTEN]) {
            let (isa, written) = (self.isa, &self.tails);
            let load = |bytes| isa.load(bytes).0;
            let tails = (values & isa.splat(self.mask)).shl_each(isa.load(&written.shift));
            let [even, odd] = written
                .orders
                .each_ref()
                .map(|order| Four(instruction!(x86::_mm256_shuffle_epi8(tails.0, load(order)))));
            let halves = even | odd;
            // The first half in the place of the second one.
            let moved = instruction!(x86::_mm256_permute2x128_si256(halves.0, halves.0, 0x08));
            let carry = instruction!(x86::_mm256_shuffle_epi8(moved, load(&written.carry)));
            let halves = (halves | Four(carry)).0;
            let first = instruction!(x86::_mm256_shuffle_epi8(values.0, load(&FIRST_ORDER)));
            let first = instruction!(x86::_mm256_permutevar8x32_epi32(first, load(&FIRST_WORDS)));
            assert!(written.second + HALF <= WRITTEN);
            let to = bucket.as_mut_ptr();
            // SAFETY: the bytes are there: 8 at the beginning, and 16 where each half of the tails begins. The processor
            // has the instructions.
            unsafe {
                x86::_mm_storel_epi64(to.cast(), x86::_mm256_castsi256_si128(first));
                let low = x86::_mm256_castsi256_si128(halves);
                x86::_mm_storeu_si128(to.add(FIRST_BYTES).cast(), low);
                let high = x86::_mm256_extracti128_si256(halves, 1);
                x86::_mm_storeu_si128(to.add(written.second).cast(), high);
            }
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

/// For processors without AVX2.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod none {
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Avx2Bucket {}

    pub(crate) struct Values(());

    impl Avx2Bucket {
        pub(crate) fn of(_slot_bits: u32) -> Option<&'static Self> {
            None
        }

        pub(crate) fn run<T>(&self, _work: impl FnOnce() -> T) -> T {
            match *self {}
        }
    }

    /// The other methods: there is no bucket to call them on.
    macro_rules! never {
        ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)+) => {
            impl Avx2Bucket {$(
                pub(crate) fn $name(&self, $(_: $argument),*) $(-> $result)? {
                    match *self {}
                }
            )+}
        };
    }

    never!(
        first_byte(u64) -> u64;
        bytes() -> usize;
        any_match([&[u8]; 2], u64) -> bool;
        matches([&[u8]; 2], u64) -> [u8; 2];
        divide(&[u8]) -> [(Values, u8); 2];
        moved(&[u8], &mut [u64]) -> usize;
        put(&mut [u8], u8, u64);
        store(Values, &mut [u8]);
    );
}
