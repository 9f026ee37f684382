//! Parts of a file, written from section 9 of `docs/format.md` alone; the fuzz target `log` uses them too.

use coua::KeyHasher;

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
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

/// A length of four bytes, and the bytes.
pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    [&small(&[bytes.len() as u32]), bytes].concat()
}

/// The checksum of the snapshot in its trailer, before the end mark.
pub(crate) fn whole_checksum(snapshot: &[u8]) -> u64 {
    let begin = snapshot.len() - 16;
    u64::from_le_bytes(snapshot[begin..begin + 8].try_into().unwrap())
}

/// A frame of the log that follows this snapshot.
pub(crate) fn frame(kind: u32, sequence: u64, snapshot: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = [&b"FRAM"[..], &small(&[kind])].concat();
    let length = payload.len() as u64;
    out.extend(numbers(&[sequence, whole_checksum(snapshot), length, checksum(payload)]));
    let sum = checksum(&out);
    out.extend(numbers(&[sum]));
    [&out, payload, b"FRAM-END"].concat()
}

/// The frames of a log from the number `first` on, each with a kind and a payload. A commit's payload follows from the
/// frames before it.
pub(crate) fn log(snapshot: &[u8], first: u64, frames: &[(u32, &[u8])]) -> Vec<u8> {
    let (mut out, mut heads) = (Vec::new(), Vec::new());
    for (sequence, (kind, payload)) in (first..).zip(frames) {
        let sealed = numbers(&[checksum(&heads)]);
        let payload = if *kind == 2 { &sealed } else { *payload };
        let frame = frame(*kind, sequence, snapshot, payload);
        heads.extend(&frame[40..48]);
        if *kind == 2 {
            heads.clear();
        }
        out.extend(frame);
    }
    out
}

/// A run of changes.
pub(crate) fn run(change: u32, hashes: &[u64]) -> Vec<u8> {
    [small(&[change, hashes.len() as u32]), numbers(hashes)].concat()
}

/// An entry of a frame of notes: a note that is set, or without a value, removed.
pub(crate) fn note(name: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let what = if value.is_some() { 1 } else { 2 };
    [small(&[what]), sized(name), value.map(sized).unwrap_or_default()].concat()
}
