//! Forging: changes a snapshot and puts all checksums right again, so that the checks after them are
//! reached.

use coua::KeyHasher;

use coua_dev::random::Random;

/// Offsets and widths of the header's fields (docs/format.md).
pub(crate) const FIELDS: [(&str, usize, usize); 29] = [
    ("version", 8, 2),
    ("kind", 10, 2),
    ("header length", 12, 4),
    ("hash algorithm", 16, 4),
    ("reserved", 20, 4),
    ("seed", 24, 8),
    ("reserved", 32, 8),
    ("layout", 40, 4),
    ("slots per bucket", 44, 4),
    ("buckets", 48, 8),
    ("base depth", 56, 4),
    ("low bits", 60, 4),
    ("resolution", 64, 4),
    ("bits", 68, 4),
    ("when full", 72, 4),
    ("max evictions", 76, 4),
    ("max items", 80, 8),
    ("len", 88, 8),
    ("stored", 96, 8),
    ("overflowed", 104, 8),
    ("segments", 112, 8),
    ("side entries", 120, 8),
    ("end", 128, 8),
    ("segment table offset", 136, 8),
    ("first segment", 144, 8),
    ("overflow table offset", 152, 8),
    ("reserved", 160, 8),
    ("reserved", 168, 8),
    ("reserved", 176, 8),
];

pub(crate) const HEADER: usize = 192;
pub(crate) const ROW: usize = 32;
const TRAILER: usize = 32;

fn checksum_of(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

/// A snapshot to be changed.
#[derive(Clone)]
pub(crate) struct Forgery(pub(crate) Vec<u8>);

impl Forgery {
    pub(crate) fn read(&self, at: usize, width: usize) -> u64 {
        let mut value = [0; 8];
        value[..width].copy_from_slice(&self.0[at..at + width]);
        u64::from_le_bytes(value)
    }

    pub(crate) fn write(&mut self, at: usize, width: usize, value: u64) {
        self.0[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    pub(crate) fn field(name: &str) -> (usize, usize) {
        let field = FIELDS.iter().find(|(known, ..)| *known == name);
        field.map(|&(_, at, width)| (at, width)).expect("a field of the header")
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        let (at, width) = Self::field(name);
        self.read(at, width)
    }

    pub(crate) fn set(&mut self, name: &str, value: u64) -> &mut Self {
        let (at, width) = Self::field(name);
        self.write(at, width, value);
        self
    }

    /// Number of rows, as far as they lie within the bytes.
    pub(crate) fn rows(&self) -> usize {
        let most = (self.0.len() - HEADER - TRAILER) / ROW;
        usize::try_from(self.get("segments")).map_or(most, |rows| rows.min(most))
    }

    /// Beginning and end of a segment, if its row and the next say so within the bytes.
    pub(crate) fn segment(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let offset = |row| usize::try_from(self.read(HEADER + row * ROW + 16, 8)).ok();
        let begin = offset(row)?;
        let end = if row + 1 < self.rows() {
            offset(row + 1)?
        } else {
            usize::try_from(self.get("overflow table offset")).ok()?
        };
        (begin < end && end <= self.0.len()).then_some(begin..end)
    }

    /// Recomputes every checksum, from the inside out.
    pub(crate) fn seal(&mut self) -> &[u8] {
        let rows = self.rows();
        for row in 0..rows {
            if let Some(range) = self.segment(row) {
                let sum = checksum_of(&self.0[range]);
                self.write(HEADER + row * ROW + 24, 8, sum);
            }
        }
        let sum = checksum_of(&self.0[..HEADER - 8]);
        self.write(HEADER - 8, 8, sum);
        let trailer = self.0.len() - TRAILER;
        let sum = checksum_of(&self.0[HEADER..HEADER + rows * ROW]);
        self.write(trailer, 8, sum);
        let side =
            usize::try_from(self.get("overflow table offset")).unwrap_or(trailer).min(trailer);
        let sum = checksum_of(&self.0[side..trailer]);
        self.write(trailer + 8, 8, sum);
        let covered = [&self.0[..HEADER], &self.0[trailer..trailer + 16]].concat();
        self.write(trailer + 16, 8, checksum_of(&covered));
        &self.0
    }

    /// Changes a few bytes somewhere.
    pub(crate) fn scramble(&mut self, random: &mut Random, range: std::ops::Range<usize>) {
        for _ in 0..random.magnitude(64) {
            let at = range.start + random.below(range.len() as u64) as usize;
            let any = random.next() as u8;
            self.0[at] = random.pick(&[0, 1, 2, 0xff, 0x80, any]);
        }
    }
}
