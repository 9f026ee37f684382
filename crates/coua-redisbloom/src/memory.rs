//! Memory that is asked for, never taken for granted.

use std::hint::black_box;

use thiserror::Error;

/// There is no memory for an array of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no memory for {bytes} bytes of a filter; free some, or load a smaller one")]
pub struct OutOfMemory {
    /// How much was asked for.
    pub bytes: u64,
}

/// `bytes` zeros.
///
/// The room is tried first and given back, because there is no fallible way to get memory that is zero
/// already, and writing zeros into half a gigabyte would hold up every client of the server.
pub(super) fn zeroed(bytes: u64) -> Result<Vec<u8>, OutOfMemory> {
    // Seen by nobody, the room would be optimized away together with the question.
    drop(black_box(room(bytes)?));
    Ok(vec![0; bytes as usize])
}

/// A copy of `bytes`.
pub(super) fn copied(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = room(bytes.len() as u64)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// A list of these elements, if there is memory for it and all of them can be made.
pub(super) fn collected<T, E: From<OutOfMemory>>(
    elements: impl ExactSizeIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut list = Vec::new();
    reserve(&mut list, elements.len())?;
    for element in elements {
        list.push(element?);
    }
    Ok(list)
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
