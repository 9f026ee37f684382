//! Little-endian fields in bytes that may end anywhere.

/// Takes a field from the beginning of the bytes; `None` if they end before.
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_le_bytes)
}

/// [`take_u32`] for eight bytes.
pub(crate) fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_le_bytes)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (field, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*field)
}

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}
