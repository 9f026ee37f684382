//! Files of generations, written by `docs/format.md` alone, also with what no writer writes.

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
    pub(crate) age_from: u32,
    pub(crate) reserved: u32,
    pub(crate) kind: u16,
    pub(crate) header_bytes: u32,
    pub(crate) features: u32,
    /// Number, and the snapshot of the filter alone. The fields that all have in common come from the first.
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
    /// By how many the header says that there are more, modulo 2^32.
    pub(crate) more_parts: u32,
    /// Is written into the first byte of padding.
    pub(crate) padding: u8,
    /// Bytes by which the segments of the second part are said to lie further on.
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
        Self {
            clock,
            generations,
            length,
            time,
            age_from: 0,
            reserved: 0,
            kind: 1,
            header_bytes: 192,
            features: 0,
            parts,
            more_parts: 0,
            padding: 0,
            shift: 0,
        }
    }
}

/// A filter's snapshot taken apart, as far as it is one.
struct Plain<'a> {
    /// Its row of the part table without the number.
    row: &'a [u8],
    segment_table: &'a [u8],
    segments: &'a [u8],
    overflow_table: &'a [u8],
    first: u64,
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u64::from_le_bytes(*field))
}

fn part(bytes: &[u8], from: u64, until: u64) -> &[u8] {
    let place = usize::try_from(from).ok().zip(usize::try_from(until).ok());
    place.and_then(|(from, until)| bytes.get(from..until)).unwrap_or_default()
}

impl<'a> Plain<'a> {
    fn of(file: &'a [u8]) -> Self {
        let [segments, first, overflow] = [72, 88, 96].map(|at| number(file, at));
        let rows = part(file, 256, segments.saturating_mul(32).saturating_add(256));
        Self {
            row: part(file, 200, 256),
            segment_table: &rows[..rows.len() / 32 * 32],
            segments: part(file, first, overflow),
            overflow_table: part(file, overflow, (file.len() as u64).saturating_sub(32)),
            first,
        }
    }
}

/// Sections 1, 2 and 7 of `docs/format.md`.
pub(crate) fn write(what: &Forgery) -> Vec<u8> {
    let parts: Vec<_> = what.parts.iter().map(|(_, file)| Plain::of(file)).collect();
    let bytes = |of: &dyn Fn(&Plain<'_>) -> usize| parts.iter().map(of).sum::<usize>() as u64;
    let rows = bytes(&|part| part.segment_table.len());
    let first = (192 + 64 * parts.len() as u64 + rows).next_multiple_of(64);
    let overflow = first + bytes(&|part| part.segments.len());
    let entries = bytes(&|part| part.overflow_table.len()) / 24;
    let common = what.parts.first().map_or(&[][..], |(_, file)| file);

    let mut head = b"\x89COUA\r\n\x1a".to_vec();
    head.extend([1, what.kind].map(u16::to_le_bytes).concat());
    head.extend(small(&[what.header_bytes, what.features]));
    // Hash, layout, slots per bucket, resolution, when full, max evictions.
    head.extend(part(common, 20, 60));
    head.resize(60, 0);
    head.extend(small(&[what.more_parts.wrapping_add(parts.len() as u32)]));
    head.extend(numbers(&[number(common, 64), rows / 32, entries]));
    head.extend(numbers(&[first, overflow, overflow + 24 * entries + 32]));
    head.extend(small(&[what.clock, what.generations]));
    head.extend(numbers(&[what.length, what.time]));
    head.extend(small(&[what.age_from, what.reserved]));
    head.extend(numbers(&[0; 5]));
    assert_eq!(head.len(), 184);
    head.extend(numbers(&[checksum(&head)]));

    let mut tables = Vec::new();
    for ((number, _), part) in what.parts.iter().zip(&parts) {
        tables.extend(numbers(&[*number]));
        tables.extend(part.row);
    }
    let mut at = first;
    for (index, part) in parts.iter().enumerate() {
        let shift = if index == 1 { what.shift } else { 0 };
        for row in part.segment_table.chunks_exact(32) {
            let offset = number(row, 16).wrapping_sub(part.first).wrapping_add(at);
            tables.extend(&row[..16]);
            tables.extend(numbers(&[offset.wrapping_add(shift), number(row, 24)]));
        }
        at += part.segments.len() as u64;
    }
    let mut out = [&head[..], &tables].concat();
    if (out.len() as u64) < first {
        out.push(what.padding);
    }
    out.resize(first as usize, 0);
    out.extend(parts.iter().flat_map(|part| part.segments));
    let overflow_table = parts.iter().flat_map(|part| part.overflow_table).copied();
    let overflow_table: Vec<u8> = overflow_table.collect();
    let sums = numbers(&[checksum(&tables), checksum(&overflow_table)]);
    out.extend(overflow_table);
    out.extend(&sums);
    out.extend(numbers(&[checksum(&[head, sums].concat())]));
    out.extend(b"COUA-END");
    out
}
