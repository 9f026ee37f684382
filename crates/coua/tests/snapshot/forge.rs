//! Forging: changes a snapshot and puts all checksums right again, so that the checks after them are
//! reached.

use coua::KeyHasher;

use coua_dev::random::Random;

/// Offsets and widths of the fields of the header and of the only row of the part table (docs/format.md).
pub(crate) const FIELDS: [(&str, usize, usize); 40] = [
    ("version", 8, 2),
    ("kind", 10, 2),
    ("header length", 12, 4),
    ("features", 16, 4),
    ("hash algorithm", 20, 4),
    ("seed", 24, 8),
    ("reserved", 32, 8),
    ("layout", 40, 4),
    ("slots per bucket", 44, 4),
    ("resolution", 48, 4),
    ("when full", 52, 4),
    ("max evictions", 56, 4),
    ("parts", 60, 4),
    ("max items", 64, 8),
    ("segments", 72, 8),
    ("overflow entries", 80, 8),
    ("first segment offset", 88, 8),
    ("overflow table offset", 96, 8),
    ("length", 104, 8),
    ("clock", 112, 4),
    ("generations", 116, 4),
    ("window length", 120, 8),
    ("time", 128, 8),
    ("age from", 136, 4),
    ("reserved", 140, 4),
    ("reserved", 144, 8),
    ("reserved", 152, 8),
    ("reserved", 160, 8),
    ("reserved", 168, 8),
    ("reserved", 176, 8),
    ("number", 192, 8),
    ("buckets", 200, 8),
    ("base depth", 208, 4),
    ("low bits", 212, 4),
    ("bits", 216, 4),
    ("reserved", 220, 4),
    ("part's segments", 224, 8),
    ("part's overflow entries", 232, 8),
    ("len", 240, 8),
    ("stored", 248, 8),
];

const HEADER: usize = 192;
/// Where the segment table begins: after the header and one row of the part table.
pub(crate) const ROWS: usize = 256;
pub(crate) const ROW: usize = 32;
const TRAILER: usize = 32;
/// Nothing shorter can be sealed.
#[allow(dead_code, reason = "fuzz targets seal any bytes")]
pub(crate) const SHORTEST: usize = ROWS + TRAILER;

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

    /// Where the segment table begins, within the bytes.
    fn table(&self) -> usize {
        let parts = usize::try_from(self.get("parts")).unwrap_or(usize::MAX);
        parts.saturating_mul(ROWS - HEADER).saturating_add(HEADER).min(self.0.len() - TRAILER)
    }

    /// Number of rows, as far as they lie within the bytes.
    pub(crate) fn rows(&self) -> usize {
        let most = (self.0.len() - self.table() - TRAILER) / ROW;
        usize::try_from(self.get("segments")).map_or(most, |rows| rows.min(most))
    }

    /// Beginning and end of a segment, if its row and the next say so within the bytes.
    pub(crate) fn segment(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let table = self.table();
        let offset = |row| usize::try_from(self.read(table + row * ROW + 16, 8)).ok();
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
        let (table, rows) = (self.table(), self.rows());
        for row in 0..rows {
            if let Some(range) = self.segment(row) {
                let sum = checksum_of(&self.0[range]);
                self.write(table + row * ROW + 24, 8, sum);
            }
        }
        let sum = checksum_of(&self.0[..HEADER - 8]);
        self.write(HEADER - 8, 8, sum);
        let trailer = self.0.len() - TRAILER;
        let sum = checksum_of(&self.0[HEADER..table + rows * ROW]);
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
