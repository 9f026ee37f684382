//! A whole filter as an image in memory.

use std::io::{self, Read};

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{CuckooFilter, Load, LoadError, WhenFull};

use super::{
    Body, HEAD_BYTES, Head, Hints, ListedHashes, MAGIC, MOST_LISTED, MOST_NOTES, bad_field,
    encode_notes,
};

/// Encodes a filter with these notes. Options that no snapshot has are a server's defaults.
///
/// # Errors
///
/// The notes have more than [`MOST_NOTES`] bytes, servers have no such windows, or the filter cannot be written.
pub fn encode(filter: &Generations, notes: &[u8]) -> io::Result<Vec<u8>> {
    if notes.len() > MOST_NOTES {
        let reason =
            "its notes, such as the options that select its keys, are too long for a server";
        return Err(io::Error::other(reason));
    }
    let is_windowed = filter.window().is_some();
    let is_fixed = match filter.template().when_full() {
        WhenFull::Refuse => true,
        WhenFull::Grow => filter.template().max_items() != u64::MAX,
        // It grows, beyond the limit of its rate too.
        _ => false,
    };
    let has_other_age =
        |window: Window| window.age_from() == AgeFrom::LastSeen || window.clock() == Clock::Given;
    if filter.window().is_some_and(|window| is_fixed || has_other_age(window)) {
        let reason = "cannot hold a window with --time-field, --window-by last or --when-full stop: on a server a record's \
                      age counts from when it first arrived, and the filter grows";
        return Err(io::Error::other(reason));
    }
    // Generations grow.
    let grows = is_windowed || !is_fixed;
    let head = Head {
        body: if is_windowed { Body::Windowed } else { Body::Filter },
        hasher: filter.hasher(),
        hints: Hints { bucket_size: 2, max_iterations: 20, expansion: u16::from(grows) },
        removed: 0,
        note_bytes: notes.len(),
    };
    let mut bytes = head.encode();
    bytes.extend(encode_notes(notes));
    filter.write_to(&mut bytes)?;
    Ok(bytes)
}

/// Decodes the filter of an image; its notes and options are left out.
///
/// # Errors
///
/// [`LoadError::NotAFilter`]: the bytes are of no image. Others: the image is damaged, or of a later version.
pub fn decode(mut bytes: &[u8]) -> Result<Generations, LoadError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(LoadError::NotAFilter);
    }
    let mut head = [0; HEAD_BYTES];
    bytes.read_exact(&mut head)?;
    let head = Head::decode(&head)?;
    head.read_notes(&mut bytes)?;
    if head.body == Body::Hashes {
        let list = ListedHashes::read(&mut bytes)?;
        let capacity = u32::try_from(list.capacity).unwrap_or(u32::MAX);
        let is_whole = capacity as usize <= MOST_LISTED && bytes.is_empty();
        return if is_whole { filter_of(&list, &head) } else { bad_field("capacity", capacity) };
    }
    Load::new().key(head.secret()).bytes(bytes)
}

/// The filter of a list of hashes. A list has room for any copies; a filter that may not grow needs more slots for them.
fn filter_of(list: &ListedHashes, head: &Head) -> Result<Generations, LoadError> {
    let hashes: Vec<_> = list.hashes().collect();
    let with_room = |capacity| -> Result<Generations, LoadError> {
        let builder = CuckooFilter::builder().hasher(head.hasher).capacity(capacity);
        let builder = match head.hints.expansion {
            0 => builder.when_full(WhenFull::Refuse).max_items(capacity),
            _ => builder.when_full(WhenFull::Grow),
        };
        let filter = builder.hash_bits(list.bits.into()).build();
        let mut filter = filter.map_err(io::Error::other)?;
        filter.insert_batch(&hashes).map_err(io::Error::other)?;
        Ok(filter.into())
    };
    let capacity = list.capacity.max(list.len as u64);
    with_room(capacity).or_else(|_| with_room(2 * capacity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_note;
    use coua::KeyHasher;
    use coua::window::{Clock, Window};

    fn hashes() -> Vec<coua::KeyHash> {
        (0..1000_u32).map(|it| KeyHasher::default().hash(it.to_le_bytes())).collect()
    }

    #[test]
    fn a_filter_is_decoded_as_it_was_encoded() {
        let mut plain = CuckooFilter::new();
        plain.insert_batch(&hashes()).unwrap();
        let window = Window::new(Clock::Count, 4000, 8).unwrap();
        let mut windowed = Generations::new(window);
        windowed.insert_batch(&hashes()).unwrap();
        for filter in [Generations::from(plain), windowed] {
            let notes = encode_note(b"name", b"value");
            let bytes = encode(&filter, &notes).unwrap();
            let decoded = decode(&bytes).unwrap();
            assert_eq!((decoded.len(), decoded.window()), (1000, filter.window()));
            assert!(decoded.contains_batch(&hashes()).iter().all(|found| *found));
            for end in 0..bytes.len().min(2000) {
                assert!(decode(&bytes[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_list_of_a_large_filter_is_refused() {
        let list = |capacity| {
            let hints = Hints { bucket_size: 2, max_iterations: 20, expansion: 1 };
            let hasher = KeyHasher::SipHash13 { key: [7; 16] };
            let head = Head { body: Body::Hashes, hasher, hints, removed: 0, note_bytes: 0 };
            let words = vec![0; crate::HashLayout::of(64, 0).words()];
            [head.encode(), ListedHashes::encode(capacity, 64, 0, &words)].concat()
        };
        assert_eq!(decode(&list(4096)).unwrap().len(), 0);
        assert!(decode(&[list(4096), vec![0]].concat()).is_err());
        assert!([4097, u64::MAX].iter().all(|capacity| decode(&list(*capacity)).is_err()));
    }

    #[test]
    fn other_bytes_and_long_notes_are_refused() {
        assert!(matches!(decode(b"CouaKey2"), Err(LoadError::NotAFilter)));
        let filter = Generations::from(CuckooFilter::new());
        assert!(encode(&filter, &vec![0; MOST_NOTES + 1]).is_err());
    }
}
