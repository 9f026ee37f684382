//! The reference: a cuckoo table with nothing that Coua adds to it.
//!
//! A power of two of 4 x 16-bit buckets, the alternate bucket by XOR, no growth, no counting of copies, no
//! bookkeeping; keys without a slot are lost. Batches work as in Coua: keys are located 64 keys early, and
//! eviction chains are interleaved. What a filter costs above this table is the price of its promises.

use std::collections::VecDeque;

use coua::KeyHash;
use memmap2::{Advice, MmapMut};

const PREFETCH_DISTANCE: usize = 64;
const PENDING: usize = 64;
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGH: u64 = ONES << 15;
const SLOT_BITS: u32 = 16;

pub(crate) struct Bare {
    words: MmapMut,
    mask: u64,
}

#[derive(Clone, Copy, Default)]
struct Place {
    bucket: u64,
    fingerprint: u64,
}

impl Bare {
    /// The power of two of buckets that comes nearest to `items` items at 95 % load.
    pub(crate) fn new(items: u64) -> Self {
        let buckets = 1u64 << (items as f64 / 3.8).log2().round() as u32;
        let words = MmapMut::map_anon(buckets as usize * 8).expect("memory for the table");
        // Advice only: Coua's table asks for the same.
        drop(words.advise(Advice::HugePage));
        Self { words, mask: buckets - 1 }
    }

    /// Items at 95 % load.
    pub(crate) fn capacity(&self) -> u64 {
        (self.mask + 1) * 38 / 10
    }

    fn word(&self, bucket: u64) -> u64 {
        let at = bucket as usize * 8;
        u64::from_le_bytes(self.words[at..at + 8].try_into().expect("eight bytes"))
    }

    fn set_word(&mut self, bucket: u64, word: u64) {
        let at = bucket as usize * 8;
        self.words[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    fn locate(&self, hash: KeyHash) -> Place {
        let hash = hash.to_u64();
        Place { bucket: (hash >> 32) & self.mask, fingerprint: (hash & 0xffff).max(1) }
    }

    fn alternate(&self, place: Place) -> Place {
        let turned = place.fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Place { bucket: (place.bucket ^ turned) & self.mask, ..place }
    }

    fn prefetch(&self, bucket: u64) {
        prefetch(&self.words[bucket as usize * 8]);
    }

    fn put(&mut self, place: Place) -> bool {
        let word = self.word(place.bucket);
        let free = zero_lanes(word);
        if free != 0 {
            let lane = free.trailing_zeros() & !(SLOT_BITS - 1);
            self.set_word(place.bucket, word | place.fingerprint << lane);
        }
        free != 0
    }

    /// Exchanges a victim for the item in hand; returns where the victim goes.
    fn displace(&mut self, place: Place, turn: u64) -> Place {
        let lane = ((place.fingerprint + turn) & 3) as u32 * SLOT_BITS;
        let word = self.word(place.bucket);
        let victim = word >> lane & 0xffff;
        self.set_word(place.bucket, word ^ (victim ^ place.fingerprint) << lane);
        let place = self.alternate(Place { fingerprint: victim, ..place });
        self.prefetch(place.bucket);
        place
    }

    pub(crate) fn insert(&mut self, hashes: &[KeyHash]) {
        let mut ring = [Place::default(); PREFETCH_DISTANCE];
        let mut pending: VecDeque<Place> = VecDeque::with_capacity(PENDING + 1);
        for at in 0..hashes.len() + PREFETCH_DISTANCE {
            if let Some(place) =
                at.checked_sub(PREFETCH_DISTANCE).map(|at| ring[at % PREFETCH_DISTANCE])
                && !self.put(place)
                && !self.put(self.alternate(place))
            {
                pending.push_back(self.displace(place, at as u64));
            }
            if let Some(&hash) = hashes.get(at) {
                let place = self.locate(hash);
                self.prefetch(place.bucket);
                self.prefetch(self.alternate(place).bucket);
                ring[at % PREFETCH_DISTANCE] = place;
            }
            self.step(&mut pending, at as u64);
            while pending.len() > PENDING {
                self.step(&mut pending, at as u64);
            }
        }
        // What has no place after many turns is lost.
        for turn in 0..500 * PENDING as u64 {
            if pending.is_empty() {
                break;
            }
            self.step(&mut pending, turn);
        }
    }

    fn step(&mut self, pending: &mut VecDeque<Place>, turn: u64) {
        if let Some(place) = pending.pop_front()
            && !self.put(place)
        {
            pending.push_back(self.displace(place, turn));
        }
    }

    /// The number of keys that are there.
    pub(crate) fn look(&self, hashes: &[KeyHash]) -> usize {
        let mut ring = [Place::default(); PREFETCH_DISTANCE];
        let mut found = 0;
        for at in 0..hashes.len() + PREFETCH_DISTANCE {
            if at >= PREFETCH_DISTANCE {
                let place = ring[at % PREFETCH_DISTANCE];
                let wanted = place.fingerprint * ONES;
                let there = self.alternate(place).bucket;
                let both = zero_lanes(self.word(place.bucket) ^ wanted)
                    | zero_lanes(self.word(there) ^ wanted);
                found += usize::from(both != 0);
            }
            if let Some(&hash) = hashes.get(at) {
                let place = self.locate(hash);
                self.prefetch(place.bucket);
                self.prefetch(self.alternate(place).bucket);
                ring[at % PREFETCH_DISTANCE] = place;
            }
        }
        found
    }
}

/// The highest bit of every lane that is zero.
fn zero_lanes(word: u64) -> u64 {
    let low = HIGH - ONES;
    !(((word & low) + low) | word) & HIGH
}

/// Asks for the cache line of this byte.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the prefetch instruction"))]
fn prefetch(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint; the address is that of a live byte.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}
