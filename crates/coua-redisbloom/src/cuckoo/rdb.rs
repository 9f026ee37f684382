//! The dump of a value of type `MBbloomCF`.

use super::super::error::{LoadError, number};
use super::super::limits::Limits;
use super::super::memory::copied;
use super::super::rdb::{Sink, Source, read_narrow};
use super::PeerCuckoo;
use super::shape::{DEFAULT_SEED, Shape, Size};

/// The first encoding with parameters; before, all filters had the same ones.
const WITH_PARAMETERS: u32 = 4;
/// The first encoding with a seed, and the newest.
const WITH_SEED: u32 = 5;
/// Parameters of filters from before they could be chosen.
const OLD_BUCKET_SIZE: u16 = 2;
const OLD_MAX_ITERATIONS: u16 = 20;
const OLD_EXPANSION: u16 = 1;
/// What a parameter may be.
const U16: &str = "at most 65535";

impl PeerCuckoo {
    /// [`PeerFilter::read`](crate::PeerFilter::read).
    pub(super) fn of_dump(
        source: &mut impl Source,
        encoding: u32,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        if encoding > WITH_SEED {
            return Err(LoadError::Encoding { found: encoding, oldest: 0, newest: WITH_SEED });
        }
        let has_parameters = encoding >= WITH_PARAMETERS;
        let (sub_filters, buckets) = (source.read_u64()?, source.read_u64()?);
        let items = source.read_u64()?;
        let deletes = if has_parameters { source.read_u64()? } else { 0 };
        let mut shape = Shape {
            buckets,
            bucket_size: OLD_BUCKET_SIZE,
            max_iterations: OLD_MAX_ITERATIONS,
            expansion: OLD_EXPANSION,
            seed: DEFAULT_SEED,
        };
        if has_parameters {
            shape.bucket_size = read_narrow(source, "bucket size", U16)?;
            shape.max_iterations = read_narrow(source, "max iterations", U16)?;
            shape.expansion = read_narrow(source, "expansion", U16)?;
        }
        let mut filter = Self::build(shape, sub_filters, limits, |size| {
            if has_parameters {
                check_buckets(source.read_u64()?, size)?;
            }
            read_slots(source, size)
        })?;
        if encoding >= WITH_SEED {
            filter.shape.seed = source.read_u64()?;
        }
        filter.with_counts(items, deletes)
    }

    /// The encoding that `write` uses: 4, or 5 for a filter with a seed.
    pub fn encoding(&self) -> u32 {
        if self.shape.seed == DEFAULT_SEED { WITH_PARAMETERS } else { WITH_SEED }
    }

    /// Dumps the filter in its encoding.
    pub fn write(&self, sink: &mut impl Sink) {
        let shape = &self.shape;
        for field in [u64::from(self.sub_filters()), shape.buckets, self.items(), self.deletes] {
            sink.write_u64(field);
        }
        for field in [shape.bucket_size, shape.max_iterations, shape.expansion] {
            sink.write_u64(u64::from(field));
        }
        for sub_filter in &self.sub_filters {
            sink.write_u64(sub_filter.buckets());
            sink.write_bytes(sub_filter.slots());
        }
        if self.encoding() >= WITH_SEED {
            sink.write_u64(shape.seed);
        }
    }
}

/// Sub-filters state their buckets; a dump of chunks could not say that they differ from the rule.
fn check_buckets(found: u64, size: Size) -> Result<(), LoadError> {
    let name = "number of buckets of a sub-filter";
    number(name, found, |n| n == size.buckets, "that of the one before, times the expansion")
}

fn read_slots(source: &mut impl Source, size: Size) -> Result<Vec<u8>, LoadError> {
    let slots = source.read_bytes()?;
    let found = slots.as_ref().len() as u64;
    if found != size.bytes {
        return Err(LoadError::Length { what: "a sub-filter", found, expected: size.bytes });
    }
    Ok(copied(slots.as_ref())?)
}
