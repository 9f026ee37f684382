//! Files of generations, written by section 7 of `docs/format.md` alone, also with what no writer writes.

use coua::KeyHasher;

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn small(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// What a test changes before the checksums are made.
pub(crate) struct Forgery {
    pub(crate) clock: u32,
    pub(crate) generations: u32,
    pub(crate) length: u64,
    pub(crate) time: u64,
    pub(crate) reserved: u64,
    pub(crate) kind: u16,
    pub(crate) header_bytes: u32,
    /// Number and filter.
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
    /// Is written into the first byte of padding.
    pub(crate) padding: u8,
    /// Bytes by which the second part is said to lie further on.
    pub(crate) shift: u64,
}

impl Forgery {
    /// A file whose other fields are as they should be.
    pub(crate) fn of(
        clock: u32,
        generations: u32,
        length: u64,
        time: u64,
        parts: Vec<(u64, Vec<u8>)>,
    ) -> Self {
        let (kind, header_bytes, reserved, padding, shift) = (2, 128, 0, 0, 0);
        Self {
            clock,
            generations,
            length,
            time,
            reserved,
            kind,
            header_bytes,
            parts,
            padding,
            shift,
        }
    }
}

/// Section 7 of `docs/format.md`.
pub(crate) fn write(what: &Forgery) -> Vec<u8> {
    let mut head = b"\x89COUA\r\n\x1a".to_vec();
    head.extend([2_u16, what.kind].map(u16::to_le_bytes).concat());
    head.extend(small(&[what.header_bytes, what.clock, what.generations]));
    let parts = what.parts.len() as u64;
    head.extend(numbers(&[what.length, what.time, parts, what.reserved, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(head.len(), 120);
    head.extend(numbers(&[checksum(&head)]));
    let (mut out, mut table) = (head.clone(), Vec::new());
    out.push(what.padding);
    for (at, (number, filter)) in what.parts.iter().enumerate() {
        out.resize(out.len().next_multiple_of(4096), 0);
        let shift = if at == 1 { what.shift } else { 0 };
        let offset = (out.len() as u64).wrapping_add(shift);
        table.extend(numbers(&[*number, offset, filter.len() as u64, checksum(filter)]));
        out.extend(filter);
    }
    out.resize(out.len().next_multiple_of(4096), 0);
    let sums = numbers(&[out.len() as u64, checksum(&table)]);
    out.extend(table);
    out.extend(&sums);
    out.extend(numbers(&[checksum(&[head, sums].concat())]));
    out.extend(b"COUA-END");
    out
}
