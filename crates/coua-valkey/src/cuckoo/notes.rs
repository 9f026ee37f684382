//! Named values that a filter stores for programs without interpreting them.

use coua_image::{MOST_NOTES, NOTE_LENGTHS, encode_note, split_note};

use crate::error::CommandError;
use crate::server::block_bytes;

/// The notes as in an image, in the order in which they were set. Few filters have any, so this is one pointer.
#[derive(Clone, Default)]
#[expect(clippy::box_collection, reason = "a vector has three words")]
pub(crate) struct Notes(Option<Box<Vec<u8>>>);

impl Notes {
    /// Decodes notes; `None` if the bytes are not valid.
    pub(super) fn decode(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            rest = split_note(rest)
                .filter(|(name, value, _)| !name.is_empty() && !value.is_empty())?
                .2;
        }
        Some(Self::of(bytes))
    }

    fn of(bytes: Vec<u8>) -> Self {
        Self((!bytes.is_empty()).then(|| Box::new(bytes)))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |bytes| bytes)
    }

    /// Allocated bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        match self.bytes().len() as u64 {
            0 => 0,
            bytes => block_bytes(size_of::<Vec<u8>>() as u64) + block_bytes(bytes),
        }
    }

    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || {
            let (name, value, behind) = split_note(rest)?;
            rest = behind;
            Some((name, value))
        })
    }

    /// The value of this name.
    pub(crate) fn get(&self, wanted: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    /// These notes with another value of this name; without the name if the value is empty.
    pub(super) fn with(&self, name: &[u8], value: &[u8]) -> Result<Self, CommandError> {
        if name.is_empty() {
            return Err(CommandError::NoteName);
        }
        let new = Some((name, value)).filter(|_| !value.is_empty());
        let mut bytes = Vec::new();
        for (name, value) in self.iter().filter(|(other, _)| *other != name).chain(new) {
            if bytes.len() + NOTE_LENGTHS + name.len() + value.len() > MOST_NOTES {
                return Err(CommandError::NotesTooLarge);
            }
            bytes.extend(encode_note(name, value));
        }
        bytes.shrink_to_fit();
        Ok(Self::of(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(all: &[(&str, &str)]) -> Notes {
        let set = |notes: Notes, (name, value): &(&str, &str)| {
            notes.with(name.as_bytes(), value.as_bytes()).unwrap()
        };
        all.iter().fold(Notes::default(), set)
    }

    #[test]
    fn a_note_is_set_replaced_and_removed() {
        let both = notes(&[("a", "1"), ("b", "2"), ("a", "3")]);
        assert_eq!(both.get(b"a"), Some(&b"3"[..]));
        assert_eq!(both.iter().count(), 2);
        assert_eq!(both.with(b"b", b"").unwrap().bytes(), notes(&[("a", "3")]).bytes());
        assert!(notes(&[("a", "1"), ("a", ""), ("b", "")]).bytes().is_empty());
        assert_eq!(both.with(b"", b"x").err(), Some(CommandError::NoteName));
    }

    #[test]
    fn there_is_room_for_so_many_bytes() {
        let full =
            notes(&[("a", &"x".repeat(4000)), ("b", &"y".repeat(MOST_NOTES - 4000 - 2 * 5))]);
        assert_eq!(full.bytes().len(), MOST_NOTES);
        assert_eq!(full.with(b"c", b"1").err(), Some(CommandError::NotesTooLarge));
        assert!(full.with(b"a", b"1").unwrap().with(b"c", b"1").is_ok());
        // Lengths of two bytes do not wrap.
        assert_eq!(full.with(b"a", &vec![0; 70_000]).err(), Some(CommandError::NotesTooLarge));
    }

    #[test]
    fn bytes_that_are_no_notes_are_refused() {
        let both = notes(&[("name", "value"), ("b", "2")]);
        assert_eq!(Notes::decode(both.bytes().to_vec()).unwrap().bytes(), both.bytes());
        let whole = [0, notes(&[("name", "value")]).bytes().len(), both.bytes().len()];
        for end in 0..=both.bytes().len() {
            let cut = Notes::decode(both.bytes()[..end].to_vec());
            assert_eq!(cut.is_some(), whole.contains(&end), "{end}");
        }
        for wrong in [&[0, 0, 1, 0, 7][..], &[1, 0, 0, 0, 7], &[0xff; 9]] {
            assert!(Notes::decode(wrong.to_vec()).is_none());
        }
    }
}
