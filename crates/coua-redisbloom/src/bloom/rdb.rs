//! The dump of a value of type `MBbloom--`.

use super::super::error::{LoadError, TooLarge};
use super::super::limits::Limits;
use super::super::memory::{copied, reserve};
use super::super::rdb::{Sink, Source, read_narrow};
use super::link::{Link, check};
use super::options::{Options, Sizing};
use super::sizing::Numbers;
use super::{DEFAULT_GROWTH, PeerBloom, check_count, check_growth};

/// The oldest encoding. The one before computed places in a way that later versions of the peer do
/// not, so that they do not find all items of its filters again.
const OLDEST: u32 = 1;
/// The first encodings with what their names say; the last is the newest.
const WITH_OPTIONS: u32 = 2;
const WITH_GROWTH: u32 = 4;
const WITH_SEED: u32 = 5;

impl PeerBloom {
    /// [`PeerFilter::read`](crate::PeerFilter::read).
    pub(super) fn of_dump(
        source: &mut impl Source,
        encoding: u32,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        if !(OLDEST..=WITH_SEED).contains(&encoding) {
            let (oldest, newest) = (OLDEST, WITH_SEED);
            return Err(LoadError::Encoding { found: encoding, oldest, newest });
        }
        let (items, count) = (source.read_u64()?, source.read_u64()?);
        check_count(count)?;
        let mut options =
            Options::new(if encoding < WITH_OPTIONS { 0 } else { source.read_u64()? })?;
        let mut growth = DEFAULT_GROWTH;
        if encoding >= WITH_GROWTH {
            growth = read_narrow(source, "growth", "at most 2^32 - 1")?;
        }
        check_growth(options, growth)?;
        let mut links = Vec::new();
        let mut total = 0;
        for _ in 0..count {
            let check_bytes = |bytes| limits.check(u64::saturating_add(total, bytes));
            let link = read_link(source, options.sizing(), check_bytes)?;
            total += link.array().len() as u64;
            reserve(&mut links, 1)?;
            links.push(link);
        }
        if encoding >= WITH_SEED {
            options = options.with_seed(source.read_u64()?)?;
        }
        Self { options, growth, items, links }.checked()
    }

    /// The encoding that `write` uses: 4, or 5 for a filter with a seed.
    pub fn encoding(&self) -> u32 {
        if self.options.seed().is_some() { WITH_SEED } else { WITH_GROWTH }
    }

    /// Dumps the filter in its encoding.
    pub fn write(&self, sink: &mut impl Sink) {
        let (bits, growth) = (u64::from(self.options.bits()), u64::from(self.growth));
        for field in [self.items, u64::from(self.filters()), bits, growth] {
            sink.write_u64(field);
        }
        for link in &self.links {
            let numbers = link.numbers();
            sink.write_u64(numbers.entries);
            sink.write_f64(numbers.error);
            sink.write_u64(u64::from(numbers.hashes));
            sink.write_f64(numbers.bits_per_entry);
            sink.write_u64(numbers.bits);
            sink.write_u64(u64::from(numbers.log2_bits));
            sink.write_bytes(link.array());
            sink.write_u64(link.items());
        }
        if let Some(seed) = self.options.seed() {
            sink.write_u64(seed);
        }
    }
}

fn read_link(
    source: &mut impl Source,
    sizing: Sizing,
    check_bytes: impl FnOnce(u64) -> Result<(), TooLarge>,
) -> Result<Link, LoadError> {
    let (entries, error) = (source.read_u64()?, source.read_f64()?);
    let hashes = read_narrow(source, "number of hashes", "at most 1100")?;
    let bits_per_entry = source.read_f64()?;
    let bits = source.read_u64()?;
    let log2_bits = read_narrow(source, "logarithm of the bits", "at most 63")?;
    let array = source.read_bytes()?;
    let bytes = array.as_ref().len() as u64;
    check_bytes(bytes)?;
    let items = source.read_u64()?;
    let numbers = Numbers { entries, error, bits_per_entry, hashes, bits, log2_bits, bytes };
    check(&numbers, items, sizing)?;
    Ok(Link::over(numbers, items, copied(array.as_ref())?))
}
