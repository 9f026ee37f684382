//! A journal's parts, written by `docs/journal.md` alone; the fuzz target `journal` writes by them too.

use coua::KeyHasher;

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

/// Fields of eight bytes.
pub(crate) fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Fields of four bytes.
pub(crate) fn small(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Section 1.
pub(crate) fn header(snapshot: &[u8]) -> Vec<u8> {
    header_of(2, snapshot)
}

pub(crate) fn header_of(version: u8, snapshot: &[u8]) -> Vec<u8> {
    let mut out = [&b"\x8aCOUJ\r\n\x1a"[..], &[version, 0, 0, 0, 64, 0, 0, 0]].concat();
    out.extend(numbers(&[whole_checksum(snapshot), snapshot.len() as u64, 0, 0, 0]));
    let sum = checksum(&out);
    out.extend(numbers(&[sum]));
    out
}

/// The last bytes of the trailer: this, and the end mark.
pub(crate) fn whole_checksum(snapshot: &[u8]) -> u64 {
    let begin = snapshot.len() - 16;
    u64::from_le_bytes(snapshot[begin..begin + 8].try_into().unwrap())
}

/// Section 2.
pub(crate) fn frame(kind: u32, sequence: u64, snapshot: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = [&b"FRAM"[..], &small(&[kind])].concat();
    let length = payload.len() as u64;
    out.extend(numbers(&[sequence, whole_checksum(snapshot), length, checksum(payload)]));
    let sum = checksum(&out);
    out.extend(numbers(&[sum]));
    [&out, payload, b"FRAM-END"].concat()
}

/// A run of changes.
pub(crate) fn run(change: u32, hashes: &[u64]) -> Vec<u8> {
    [small(&[change, hashes.len() as u32]), numbers(hashes)].concat()
}

/// The payload of a commit, without a note.
pub(crate) fn no_places(records: u64) -> Vec<u8> {
    [numbers(&[records]), small(&[0, 0])].concat()
}
