//! `BF.SCANDUMP` and `BF.LOADCHUNK`: a header, then the arrays of bits in pieces.

use std::ops::Range;

use super::super::error::LoadError;
use super::super::fields::Fields;
use super::super::limits::Limits;
use super::super::memory::{OutOfMemory, collected};
use super::super::rdb::Source;
use super::super::stored::PeerFilter;
use super::link::{Link, check};
use super::options::{Options, Sizing};
use super::sizing::Numbers;
use super::{PeerBloom, check_count, check_growth};

const HEADER_BYTES: u64 = 20;
/// Bytes that a filter is described with, and were when its entries had 32 bits.
const LINK_BYTES: u64 = 53;
const NARROW_LINK_BYTES: u64 = 49;
const SEED_BYTES: u64 = 8;
/// Set in the options where a seed follows the filters.
const HAS_SEED: u32 = 1 << 31;

impl PeerFilter for PeerBloom {
    fn read(source: &mut impl Source, encoding: u32, limits: &Limits) -> Result<Self, LoadError> {
        Self::of_dump(source, encoding, limits)
    }

    fn over(
        header: &[u8],
        limits: &Limits,
        mut array: impl FnMut(u64) -> Result<Vec<u8>, LoadError>,
    ) -> Result<Self, LoadError> {
        let mut fields = Fields(header);
        let (items, count) = (fields.u64(), u64::from(fields.u32()));
        let (flags, growth) = (fields.u32(), fields.u32());
        let has_seed = flags & HAS_SEED != 0;
        let width = check_length(header.len() as u64, count, flags)?;
        let mut options = Options::new(u64::from(flags & !HAS_SEED))?;
        check_growth(options, growth)?;
        let list = read_list(&mut fields, count as usize, width, options.sizing(), limits)?;
        if has_seed {
            options = options.with_seed(fields.u64())?;
        }
        let link = |(numbers, items): (Numbers, u64)| {
            array(numbers.bytes).map(|array| Link::over(numbers, items, array))
        };
        let links = collected(list.into_iter().map(link))?;
        Self { options, growth, items, links }.checked()
    }

    fn header(&self) -> Vec<u8> {
        let seed = self.options.seed();
        let flags = self.options.bits() | if seed.is_some() { HAS_SEED } else { 0 };
        let mut header = self.items.to_le_bytes().to_vec();
        for field in [self.filters(), flags, self.growth] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        for link in &self.links {
            write_link(&mut header, link);
        }
        if let Some(seed) = seed {
            header.extend_from_slice(&seed.to_le_bytes());
        }
        header
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.links.iter().map(Link::array)
    }

    fn put(&mut self, array: usize, range: Range<usize>, bytes: &[u8]) {
        self.links[array].array_mut()[range].copy_from_slice(bytes);
    }

    fn memory_bytes(&self) -> u64 {
        let list = self.links.capacity() * size_of::<Link>();
        self.array_bytes() + (size_of::<Self>() + list) as u64
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let links = collected(self.links.iter().map(Link::try_clone))?;
        Ok(Self { links, ..*self })
    }
}

/// How wide the entries of a filter are in a header; the narrow ones are those of RedisBloom 2.0.
#[derive(Clone, Copy)]
enum Entries {
    Wide,
    Narrow,
}

/// Checks the length of a header for so many filters; it tells how wide their entries are.
fn check_length(found: u64, count: u64, flags: u32) -> Result<Entries, LoadError> {
    let seed_bytes = if flags & HAS_SEED == 0 { 0 } else { SEED_BYTES };
    let expected = HEADER_BYTES + count * LINK_BYTES + seed_bytes;
    let narrow = HEADER_BYTES + count * NARROW_LINK_BYTES;
    if found >= HEADER_BYTES {
        check_count(count)?;
    }
    if found == expected {
        Ok(Entries::Wide)
    } else if found == narrow && seed_bytes == 0 {
        Ok(Entries::Narrow)
    } else {
        Err(LoadError::Length { what: "the header", found, expected })
    }
}

/// The numbers and items of all filters, checked.
fn read_list(
    fields: &mut Fields<'_>,
    count: usize,
    width: Entries,
    sizing: Sizing,
    limits: &Limits,
) -> Result<Vec<(Numbers, u64)>, LoadError> {
    let mut total = 0_u64;
    collected((0..count).map(|_| {
        let (numbers, items) = read_link(fields, width);
        total = total.saturating_add(numbers.bytes);
        limits.check(total)?;
        check(&numbers, items, sizing)?;
        Ok((numbers, items))
    }))
}

fn read_link(fields: &mut Fields<'_>, width: Entries) -> (Numbers, u64) {
    let (bytes, bits, items) = (fields.u64(), fields.u64(), fields.u64());
    let (error, bits_per_entry, hashes) = (fields.f64(), fields.f64(), fields.u32());
    let entries = match width {
        Entries::Wide => fields.u64(),
        Entries::Narrow => u64::from(fields.u32()),
    };
    let log2_bits = fields.u8();
    (Numbers { entries, error, bits_per_entry, hashes, bits, log2_bits, bytes }, items)
}

fn write_link(header: &mut Vec<u8>, link: &Link) {
    let numbers = link.numbers();
    for field in [numbers.bytes, numbers.bits, link.items()] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    for field in [numbers.error, numbers.bits_per_entry] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    header.extend_from_slice(&numbers.hashes.to_le_bytes());
    header.extend_from_slice(&numbers.entries.to_le_bytes());
    header.push(numbers.log2_bits);
}
