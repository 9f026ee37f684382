//! Seeded random numbers: every test run draws the same ones, on every machine.

/// The odd number closest to 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The n-th number that `SplitMix64` draws with seed 0: uniform, and all distinct.
pub fn nth(n: u64) -> u64 {
    Random(n.wrapping_mul(STEP)).next()
}

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in all 64 bits.
    #[expect(clippy::should_implement_trait, reason = "there is always a next one")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in 0..1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability 1 / `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of the choices, with equal probability.
    ///
    /// # Panics
    ///
    /// If `choices` is empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// From 1 to `most`, with equal probability for each order of magnitude.
    pub fn magnitude(&mut self, most: u64) -> u64 {
        ((most as f64).powf(self.fraction()) as u64).clamp(1, most)
    }

    /// The results of `make` for `count` numbers.
    pub fn many<T>(&mut self, count: usize, make: impl Fn(u64) -> T) -> Vec<T> {
        (0..count).map(|_| make(self.next())).collect()
    }
}
