//! Fallible allocation for the bytes of a filter.

use std::hint::black_box;

use super::errors::OutOfMemory;

/// `bytes` zeros.
///
/// A trial allocation comes first, because there is no fallible way to get zeroed memory, and writing zeros
/// into half a gigabyte would stall every client of the server.
pub(super) fn zeroed(bytes: u64) -> Result<Vec<u8>, OutOfMemory> {
    // Without `black_box` the trial would be optimized away.
    drop(black_box(room(bytes)?));
    Ok(vec![0; bytes as usize])
}

/// A copy of `bytes`.
pub(super) fn copied(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = room(bytes.len() as u64)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Room for `count` more elements in `list`.
pub(super) fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<(), OutOfMemory> {
    let bytes = count.saturating_mul(size_of::<T>()) as u64;
    list.try_reserve(count).map_err(|_| OutOfMemory { bytes })
}

fn room(bytes: u64) -> Result<Vec<u8>, OutOfMemory> {
    let refused = OutOfMemory { bytes };
    let mut room = Vec::new();
    let size = usize::try_from(bytes).map_err(|_| refused)?;
    room.try_reserve_exact(size).map_err(|_| refused)?;
    Ok(room)
}
