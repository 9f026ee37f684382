//! The fixed fields of a file of generations. `docs/format.md`, section 7, is the normative text.

pub(super) use crate::snapshot::GENERATIONS_VERSION as VERSION;
use crate::snapshot::{
    LoadError, Reader, begin, checksum_of, end_of, finish, number_of, put_u32, put_u64, wrong,
};
use crate::window::{Clock, Window};

const KIND_GENERATIONS: u16 = 2;
pub(super) const HEADER_BYTES: usize = 128;
pub(super) const ROW_BYTES: u64 = 32;
pub(super) const TRAILER_BYTES: u64 = 32;
const CLOCKS: [(u32, Clock); 3] = [(1, Clock::Arrival), (2, Clock::Given), (3, Clock::Count)];
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
        let clock = number_of(self.window.clock(), &CLOCKS);
        let mut out = begin(VERSION, KIND_GENERATIONS, HEADER_BYTES);
        put_u32(&mut out, &[clock, self.window.generations()]);
        put_u64(&mut out, &[self.window.length(), self.time, self.parts]);
        finish(out, HEADER_BYTES)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, LoadError> {
        let mut fields = Reader::of_header(bytes, KIND_GENERATIONS)?;
        let clock = fields.one_of("clock", &CLOCKS)?;
        let (generations, length) = (fields.u32(), fields.u64());
        let window = Window::new(clock, length, generations);
        let Some(window) = window.ok().filter(|window| window.length() == length) else {
            return wrong("window length", length);
        };
        let header = Self { window, time: fields.u64(), parts: fields.u64() };
        if header.parts == 0 || header.parts > u64::from(generations) + 2 {
            return wrong("parts", header.parts);
        }
        if clock != Clock::Count && !header.time.is_multiple_of(window.step()) {
            return wrong("time", header.time);
        }
        fields.expect_zeros()?;
        Ok(header)
    }
}

impl Row {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        put_u64(out, &[self.number, self.offset, self.bytes, self.checksum]);
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        let mut fields = Reader(bytes);
        let (number, offset) = (fields.u64(), fields.u64());
        Self { number, offset, bytes: fields.u64(), checksum: fields.u64() }
    }
}

/// The end of the file: one checksum of everything before it.
pub(super) fn trailer(header: &[u8], table: &[u8], table_offset: u64) -> Vec<u8> {
    end_of(header, [table_offset, checksum_of(table)])
}
