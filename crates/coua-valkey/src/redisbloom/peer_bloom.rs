//! A Bloom filter of the peer, kept in its own layout.
//!
//! A chain of Bloom filters, each larger than the one before by the growth factor, and with half its error
//! rate. Items are added to the newest, and found in any. The same inserts lead to the same bytes as in
//! the peer.

use std::ops::Range;

use super::bloom_link::{BloomOptions, LinkNumbers, PeerLink, Sizing, check};
use super::bytes::{Fields, collected, copied, reserve};
use super::errors::{InsertError, Limits, LoadError, OutOfMemory, TooLarge, number};
use super::stored::{PeerFilter, Source, read_narrow};

/// After this number of halvings no error rate is left; see `bloom_link::MAX_HASHES`.
const MAX_LINKS: u64 = 1100;

/// A Bloom filter in the layout of RedisBloom (`MBbloom--`).
#[derive(Debug)]
pub struct PeerBloom {
    options: BloomOptions,
    /// How many times more entries each filter has than the one before.
    growth: u32,
    items: u64,
    /// At least one, from the oldest to the newest.
    links: Vec<PeerLink>,
}

impl PeerBloom {
    /// Adds an item. True if it was not there.
    ///
    /// # Errors
    /// The filter is full and cannot grow; nothing has changed.
    pub fn insert(&mut self, item: &[u8], limits: &Limits) -> Result<bool, InsertError> {
        let hashes = self.options.hashes(item);
        if self.links.iter().rev().any(|link| link.contains(hashes)) {
            return Ok(false);
        }
        if self.links.last().is_none_or(PeerLink::is_full) {
            self.grow(limits)?;
        }
        if let Some(newest) = self.links.last_mut() {
            newest.insert(hashes);
        }
        // A dump may contain any number.
        self.items = self.items.saturating_add(1);
        Ok(true)
    }

    fn grow(&mut self, limits: &Limits) -> Result<(), InsertError> {
        if !self.options.scales() {
            return Err(InsertError::Full { items: self.items });
        }
        let newest = self.links.last().map(PeerLink::numbers);
        let next = newest.and_then(|newest| newest.next(self.growth, self.options.sizing()));
        let sub_filters = self.filters();
        let next = next.filter(|_| u64::from(sub_filters) < MAX_LINKS);
        let next = next.ok_or(InsertError::CannotGrow { sub_filters })?;
        limits.check(self.array_bytes().saturating_add(next.bytes))?;
        reserve(&mut self.links, 1)?;
        self.links.push(PeerLink::planned(next)?);
        Ok(())
    }
}

/// The growth of old chains, which had no choice, and of those that do not grow.
const DEFAULT_GROWTH: u32 = 2;

/// Checks the fields of a chain before its filters.
fn check_growth(options: BloomOptions, growth: u32) -> Result<(), LoadError> {
    number("growth", growth, |n| n > 0 || !options.scales(), "at least 1")
}

fn check_count(links: u64) -> Result<(), LoadError> {
    number("number of filters", links, |n| (1..=MAX_LINKS).contains(&n), "1 to 1100")
}

impl PeerBloom {
    /// Checks that the chain has as many items as its filters.
    fn checked(self) -> Result<Self, LoadError> {
        let sum = self.links.iter().map(PeerLink::items).fold(0, u64::saturating_add);
        if sum == self.items {
            return Ok(self);
        }
        let expected = "the sum of the items of its filters";
        Err(LoadError::Number { name: "number of items", found: self.items, expected })
    }
}

/// One filter of a chain of Bloom filters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomPart {
    /// Bytes of its array of bits.
    pub bytes: u64,
    /// Its bits.
    pub bits: u64,
    /// Bits that an item sets.
    pub hashes: u32,
    /// The number of items that it holds.
    pub capacity: u64,
    /// The number of items added.
    pub items: u64,
    /// Its false-positive rate when it is full.
    pub rate: f64,
}

impl PeerBloom {
    /// The filters of the chain, the first one first.
    pub fn parts(&self) -> Vec<BloomPart> {
        let part = |link: &PeerLink| {
            let numbers = link.numbers();
            BloomPart {
                bytes: numbers.bytes,
                bits: numbers.bytes * 8,
                hashes: numbers.hashes,
                capacity: numbers.entries,
                items: link.items(),
                rate: numbers.error,
            }
        };
        self.links.iter().map(part).collect()
    }

    /// The number of items until it grows again.
    pub fn capacity(&self) -> u64 {
        let entries = self.links.iter().map(|link| link.numbers().entries);
        entries.fold(0, u64::saturating_add)
    }

    /// The number of filters.
    pub fn filters(&self) -> u32 {
        self.links.len() as u32
    }

    /// The ratio of each filter's capacity to the one before; `None` if it does not grow.
    pub fn expansion(&self) -> Option<u32> {
        self.options.scales().then_some(self.growth)
    }

    /// Bytes of the arrays of bits.
    pub fn array_bytes(&self) -> u64 {
        self.links.iter().map(|link| link.array().len() as u64).sum()
    }

    /// The `Size` that the peer reports for such a filter.
    pub fn peer_size(&self) -> u64 {
        const CHAIN_BYTES: u64 = 32;
        const LINK_BYTES: u64 = 64;
        CHAIN_BYTES + LINK_BYTES * u64::from(self.filters()) + self.array_bytes()
    }
}

const HEADER_BYTES: u64 = 20;
/// Bytes of a filter's description, and of the old one with 32-bit entries.
const LINK_BYTES: u64 = 53;
const NARROW_LINK_BYTES: u64 = 49;
const SEED_BYTES: u64 = 8;
/// Set in the options if a seed follows the filters.
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
        let mut options = BloomOptions::new(u64::from(flags & !HAS_SEED))?;
        check_growth(options, growth)?;
        let list = read_list(&mut fields, count as usize, width, options.sizing(), limits)?;
        if has_seed {
            options = options.with_seed(fields.u64())?;
        }
        let link = |(numbers, items): (LinkNumbers, u64)| {
            array(numbers.bytes).map(|array| PeerLink::over(numbers, items, array))
        };
        let links = collected(list.into_iter().map(link))?;
        Self { options, growth, items, links }.checked()
    }

    fn contains(&self, item: &[u8]) -> bool {
        let hashes = self.options.hashes(item);
        self.links.iter().rev().any(|link| link.contains(hashes))
    }

    fn items(&self) -> u64 {
        self.items
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
        self.links.iter().map(PeerLink::array)
    }

    fn put(&mut self, array: usize, range: Range<usize>, bytes: &[u8]) {
        self.links[array].array_mut()[range].copy_from_slice(bytes);
    }

    fn memory_bytes(&self) -> u64 {
        let list = self.links.capacity() * size_of::<PeerLink>();
        self.array_bytes() + (size_of::<Self>() + list) as u64
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let links = collected(self.links.iter().map(PeerLink::try_clone))?;
        Ok(Self { links, ..*self })
    }
}

/// The width of a filter's entries in a header; RedisBloom 2.0 had narrow ones.
#[derive(Clone, Copy)]
enum Entries {
    Wide,
    Narrow,
}

/// Checks the length of a header for `count` filters, which gives the width of their entries.
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
) -> Result<Vec<(LinkNumbers, u64)>, LoadError> {
    let mut total = 0_u64;
    collected((0..count).map(|_| {
        let (numbers, items) = read_link(fields, width);
        total = total.saturating_add(numbers.bytes);
        limits.check(total)?;
        check(&numbers, items, sizing)?;
        Ok((numbers, items))
    }))
}

fn read_link(fields: &mut Fields<'_>, width: Entries) -> (LinkNumbers, u64) {
    let (bytes, bits, items) = (fields.u64(), fields.u64(), fields.u64());
    let (error, bits_per_entry, hashes) = (fields.f64(), fields.f64(), fields.u32());
    let entries = match width {
        Entries::Wide => fields.u64(),
        Entries::Narrow => u64::from(fields.u32()),
    };
    let log2_bits = fields.u8();
    (LinkNumbers { entries, error, bits_per_entry, hashes, bits, log2_bits, bytes }, items)
}

fn write_link(header: &mut Vec<u8>, link: &PeerLink) {
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

/// The oldest supported encoding. Before it, places were computed differently, so not even later versions of
/// the peer find all items of such filters.
const OLDEST: u32 = 1;
/// The first encodings with these features; the last is the newest.
const WITH_OPTIONS: u32 = 2;
const WITH_GROWTH: u32 = 4;
const WITH_SEED: u32 = 5;

impl PeerBloom {
    /// [`PeerFilter::read`].
    fn of_dump(
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
            BloomOptions::new(if encoding < WITH_OPTIONS { 0 } else { source.read_u64()? })?;
        let mut growth = DEFAULT_GROWTH;
        if encoding >= WITH_GROWTH {
            growth = read_narrow(source, "growth", "at most 2^32 - 1")?;
        }
        check_growth(options, growth)?;
        let mut links = Vec::new();
        let mut total = 0;
        for _ in 0..count {
            let check_bytes = |bytes| limits.check(u64::saturating_add(total, bytes));
            let link = read_dumped_link(source, options.sizing(), check_bytes)?;
            total += link.array().len() as u64;
            reserve(&mut links, 1)?;
            links.push(link);
        }
        if encoding >= WITH_SEED {
            options = options.with_seed(source.read_u64()?)?;
        }
        Self { options, growth, items, links }.checked()
    }
}

fn read_dumped_link(
    source: &mut impl Source,
    sizing: Sizing,
    check_bytes: impl FnOnce(u64) -> Result<(), TooLarge>,
) -> Result<PeerLink, LoadError> {
    let (entries, error) = (source.read_u64()?, source.read_f64()?);
    let hashes = read_narrow(source, "number of hashes", "at most 1100")?;
    let bits_per_entry = source.read_f64()?;
    let bits = source.read_u64()?;
    let log2_bits = read_narrow(source, "logarithm of the bits", "at most 63")?;
    let array = source.read_bytes()?;
    let bytes = array.as_ref().len() as u64;
    check_bytes(bytes)?;
    let items = source.read_u64()?;
    let numbers = LinkNumbers { entries, error, bits_per_entry, hashes, bits, log2_bits, bytes };
    check(&numbers, items, sizing)?;
    Ok(PeerLink::over(numbers, items, copied(array.as_ref())?))
}

/// Only for tests and fuzz targets.
#[cfg(any(test, feature = "fuzz"))]
impl PeerBloom {
    /// An empty filter as the peer reserves it. Without an expansion it does not grow.
    ///
    /// # Errors
    /// Parameters that the peer refuses, or a filter that is too large.
    pub fn with_capacity(
        capacity: u64,
        error: f64,
        expansion: Option<u32>,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let options = BloomOptions::of_today(expansion);
        // A chain that grows ends up with the sum of 1/2, 1/4, 1/8 of the rate and so on.
        let first = if options.scales() { error * 0.5 } else { error };
        let expected = "more than 0 and less than 1, and not too large for the capacity";
        let numbers = LinkNumbers::plan(capacity, first, Sizing::Exact);
        let refused = LoadError::Fraction { name: "error rate", found: error, expected };
        let numbers = numbers.ok_or(refused)?;
        check_growth(options, expansion.unwrap_or(DEFAULT_GROWTH))?;
        limits.check(numbers.bytes)?;
        let links = vec![PeerLink::planned(numbers)?];
        Ok(Self { options, growth: expansion.unwrap_or(DEFAULT_GROWTH), items: 0, links })
    }

    /// The encoding that `write` uses: 4, or 5 for a filter with a seed.
    pub fn encoding(&self) -> u32 {
        if self.options.seed().is_some() { WITH_SEED } else { WITH_GROWTH }
    }

    /// Dumps the filter in its encoding.
    pub fn write(&self, sink: &mut impl super::Sink) {
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
