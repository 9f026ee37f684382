//! Which filter to try, and how long: all drawn from a seed.

use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHash, KeyHasher, WhenFull};

use coua_dev::random::Random;

/// How much one case costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Up to 2,000 items.
    Small,
    /// Up to 60,000 items.
    Medium,
    /// About 10^6 items.
    Large,
}

/// A filter to build, and what to do with it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) size: Size,
    pub(crate) seed: u64,
    pub(crate) capacity: u64,
    pub(crate) exactness: Exactness,
    pub(crate) when_full: WhenFull,
    pub(crate) max_evictions: u32,
    /// Keys that the operations draw from.
    pub(crate) pool: usize,
    /// Some keys lie close together, as nobody's hash makes them.
    pub(crate) crowded: bool,
    pub(crate) steps: u64,
}

/// How exact a filter is, in the ways that a builder takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exactness {
    /// Fixed size.
    Rate(f64),
    /// Grows.
    RateUpTo(f64, u64),
    /// Grows, or is full where it may not.
    HashBits(u32),
}

impl Case {
    pub(crate) fn draw(size: Size, seed: u64) -> Self {
        let random = &mut Random::new(seed ^ (size as u64) << 60);
        let most = [2_000, 60_000, 1_000_000][size as usize];
        let capacity = match size {
            Size::Large => most / 2 + random.below(most / 2),
            _ => random.magnitude(most),
        };
        // A filter that grows starts anywhere below what it will hold.
        let start = random.magnitude(capacity);
        let rate = 10f64.powf(-0.2 - 14.8 * random.fraction());
        let (exactness, capacity, items) = match random.below(4) {
            0 => (Exactness::Rate(rate), capacity, capacity),
            1 => (Exactness::RateUpTo(rate, capacity + 1), start, capacity),
            2 => (Exactness::HashBits(8 + random.below(57) as u32), start, capacity),
            _ => (Exactness::HashBits(64), start, capacity),
        };
        Self {
            size,
            seed,
            capacity,
            exactness,
            when_full: random.pick(&[WhenFull::Grow, WhenFull::Refuse, WhenFull::ExceedRate]),
            max_evictions: random.pick(&[0, 1, 20, 500, 500, 500]),
            pool: (items + items / 4) as usize + 8,
            crowded: random.once_in(4),
            steps: [1_500, 1_500, 2_000][size as usize],
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}:{}", ["small", "medium", "large"][self.size as usize], self.seed)
    }

    fn builder(&self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder()
            .capacity(self.capacity)
            .when_full(self.when_full)
            .max_evictions(self.max_evictions)
            .hasher(KeyHasher::Xxh3 { seed: self.seed });
        match self.exactness {
            Exactness::Rate(rate) => builder.rate(rate),
            Exactness::RateUpTo(rate, most) => builder.rate(rate).max_items(most),
            Exactness::HashBits(bits) => builder.hash_bits(bits),
        }
    }

    /// The filter, or `None` where 64 bits of hash do not give the rate.
    pub(crate) fn build(&self) -> Option<CuckooFilter> {
        match self.builder().build() {
            Ok(filter) => Some(filter),
            Err(BuildError::RateTooSmall { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// The keys: uniform hashes, the two ends, and in crowded cases neighbors of each other.
    pub(crate) fn hashes(&self, random: &mut Random) -> Vec<KeyHash> {
        let mut hashes = vec![KeyHash::from_u64(0), KeyHash::from_u64(u64::MAX)];
        while hashes.len() < self.pool {
            let hash = KeyHash::from_u64(random.next());
            hashes.push(hash);
            if self.crowded && random.once_in(8) {
                let close = random.below(48);
                let near = |_| KeyHash::from_u64(hash.to_u64() ^ (random.next() >> (16 + close)));
                hashes.extend((0..6).map(near));
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        // Any order, but not that of the hashes.
        for at in (1..hashes.len()).rev() {
            hashes.swap(at, random.below(at as u64 + 1) as usize);
        }
        hashes
    }
}
