//! The fixed fields of a file of generations. `docs/format.md`, section 7, is the normative text.

use xxhash_rust::xxh3::xxh3_64;

pub(super) use crate::snapshot::GENERATIONS_VERSION as VERSION;
use crate::snapshot::{LoadError, Part};
use crate::window::{Clock, Window};

pub(super) const MAGIC: [u8; 8] = *b"\x89COUA\r\n\x1a";
pub(super) const END_MAGIC: [u8; 8] = *b"COUA-END";
const KIND_GENERATIONS: u16 = 2;
pub(super) const HEADER_BYTES: usize = 128;
pub(super) const ROW_BYTES: u64 = 32;
pub(super) const TRAILER_BYTES: u64 = 32;
/// Parts begin at a multiple of this.
pub(super) const PAGE: u64 = 4096;
/// The number of the template.
pub(crate) const TEMPLATE: u64 = u64::MAX;

/// The fields before the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) window: Window,
    pub(crate) time: u64,
    /// The template and the generations.
    pub(crate) parts: u64,
}

/// One part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

impl Header {
    pub(super) fn encode(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&KIND_GENERATIONS.to_le_bytes());
        let clock = match self.window.clock() {
            Clock::Arrival => 1,
            Clock::Given => 2,
            Clock::Count => 3,
        };
        for number in [HEADER_BYTES as u32, clock, self.window.generations()] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.window.length(), self.time, self.parts] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.resize(HEADER_BYTES - 8, 0);
        let sum = xxh3_64(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, LoadError> {
        let (covered, sum) = bytes.split_at(HEADER_BYTES - 8);
        if u64_at(sum, 0) != xxh3_64(covered) {
            return Err(LoadError::Checksum { part: Part::Header });
        }
        let field = |name, found| Err(LoadError::Field { name, found });
        let kind = u32_at(bytes, 8) >> 16;
        if kind != u32::from(KIND_GENERATIONS) {
            return field("kind", u64::from(kind));
        }
        if u32_at(bytes, 12) as usize != HEADER_BYTES {
            return field("header length", u64::from(u32_at(bytes, 12)));
        }
        let clock = match u32_at(bytes, 16) {
            1 => Clock::Arrival,
            2 => Clock::Given,
            3 => Clock::Count,
            found => return field("clock", u64::from(found)),
        };
        let (generations, length) = (u32_at(bytes, 20), u64_at(bytes, 24));
        let window = Window::new(clock, length, generations);
        let Some(window) = window.ok().filter(|window| window.length() == length) else {
            return field("window length", length);
        };
        let header = Self { window, time: u64_at(bytes, 32), parts: u64_at(bytes, 40) };
        if header.parts == 0 || header.parts > u64::from(generations) + 2 {
            return field("parts", header.parts);
        }
        if clock != Clock::Count && !header.time.is_multiple_of(window.step()) {
            return field("time", header.time);
        }
        match covered[48..].iter().find(|&&byte| byte != 0) {
            Some(&found) => field("reserved", u64::from(found)),
            None => Ok(header),
        }
    }
}

impl Row {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        for number in [self.number, self.offset, self.bytes, self.checksum] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        let [number, offset, bytes, checksum] = [0, 8, 16, 24].map(|at| u64_at(bytes, at));
        Self { number, offset, bytes, checksum }
    }
}

/// The end of the file: one checksum of everything before it.
pub(super) fn trailer(header: &[u8], table: &[u8], table_offset: u64) -> Vec<u8> {
    let sums = [table_offset, xxh3_64(table)].map(u64::to_le_bytes).concat();
    let whole = xxh3_64(&[header, &sums].concat());
    [&sums[..], &whole.to_le_bytes(), &END_MAGIC].concat()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
