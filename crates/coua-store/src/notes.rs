//! Notes: small named values of a program, which are committed with the changes of the filter.

use std::collections::BTreeMap;

use crate::error::Reason;
use crate::log::{MOST_PAYLOAD, put_u32, take_u32};

// Kinds of entries in a frame of notes (docs/format.md, section 9).
const SET: u32 = 1;
const REMOVE: u32 = 2;
/// Bytes of an entry beside its name and note: a kind, and two lengths.
const ENTRY_BYTES: u64 = 12;

/// A program's notes in a filter file: named values of any bytes. [`Store::set_note`](crate::Store::set_note)
/// changes them.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Options;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let mut store = Options::new().create(&path, CuckooFilter::new)?;
/// store.set_note("app/position", &7_u64.to_le_bytes())?;
/// store.set_note("app/source", b"events.log")?;
/// store.commit()?;
/// let notes = Options::new().read(&path)?.notes;
/// assert_eq!(notes.get("app/source"), Some(&b"events.log"[..]));
/// let names: Vec<&str> = notes.iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["app/position", "app/source"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    notes: BTreeMap<String, Vec<u8>>,
    /// The size of all notes in the file.
    bytes: u64,
}

impl Notes {
    /// The most bytes of a note and its name.
    pub const MOST_BYTES: u64 = MOST_PAYLOAD - ENTRY_BYTES;
    /// The most notes of a file.
    pub const MOST: usize = 1 << 20;

    /// The note with this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.notes.get(name).map(Vec::as_slice)
    }

    /// All notes with their names, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.notes.iter().map(|(name, note)| (name.as_str(), note.as_slice()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// The number of notes.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Sets a note, for a new file.
    ///
    /// # Errors
    ///
    /// [`Reason::NoteTooLarge`], [`Reason::TooManyNotes`]: nothing has changed then.
    pub fn set(&mut self, name: &str, note: &[u8]) -> Result<(), Reason> {
        let (found, most) = ((name.len() + note.len()) as u64, Self::MOST_BYTES);
        if found > most {
            return Err(Reason::NoteTooLarge { found, most });
        }
        self.put(name, note).ok_or(Reason::TooManyNotes { most: Self::MOST })
    }

    /// None if there is no room for one more.
    fn put(&mut self, name: &str, note: &[u8]) -> Option<()> {
        if self.remove(name).is_none() && self.len() == Self::MOST {
            return None;
        }
        self.bytes += bytes_of(name, note);
        self.notes.insert(name.to_owned(), note.to_vec());
        Some(())
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        let note = self.notes.remove(name)?;
        self.bytes -= bytes_of(name, &note);
        Some(note)
    }

    /// Bytes that they take in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All notes, as payloads of frames.
    pub(crate) fn encode_all(&self) -> Vec<Vec<u8>> {
        self.encode(self.notes.keys())
    }

    /// The present state of the notes with these names, as payloads of frames. Removals come first, so that there is
    /// always room for what is set.
    pub(crate) fn encode<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<Vec<u8>> {
        let mut payloads: Vec<Vec<u8>> = Vec::new();
        let (set, removed): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| self.notes.contains_key(*name));
        for name in removed.into_iter().chain(set) {
            let note = self.get(name);
            let bytes = bytes_of(name, note.unwrap_or_default());
            match payloads.last() {
                Some(last) if last.len() as u64 + bytes <= MOST_PAYLOAD => {}
                _ => payloads.push(Vec::new()),
            }
            let Some(out) = payloads.last_mut() else { continue };
            put_u32(out, if note.is_some() { SET } else { REMOVE });
            for part in [Some(name.as_bytes()), note].into_iter().flatten() {
                put_u32(out, part.len() as u32);
                out.extend_from_slice(part);
            }
        }
        payloads
    }

    /// Replays the changes of a frame. None if [`encode`](Self::encode) did not write the bytes.
    pub(crate) fn replay(&mut self, mut payload: &[u8]) -> Option<()> {
        while !payload.is_empty() {
            let what = take_u32(&mut payload)?;
            let name = str::from_utf8(take_sized(&mut payload)?).ok()?;
            match what {
                SET => self.put(name, take_sized(&mut payload)?)?,
                REMOVE => drop(self.remove(name)),
                _ => return None,
            }
        }
        Some(())
    }
}

/// The size of a note in the file.
pub(crate) fn bytes_of(name: &str, note: &[u8]) -> u64 {
    ENTRY_BYTES + (name.len() + note.len()) as u64
}

/// Takes bytes that follow their length.
fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_u32(bytes)?;
    bytes.split_off(..length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Notes {
        let mut notes = Notes::default();
        for number in 0..9_u8 {
            notes.set(&format!("note {number}"), &vec![number; usize::from(number)]).unwrap();
        }
        notes
    }

    #[test]
    fn changes_give_the_same_notes_again() {
        let (old, mut new) = (sample(), sample());
        new.remove("note 3");
        new.set("note 4", b"").unwrap();
        new.set("another", b"value").unwrap();
        let changed = ["note 3", "note 4", "another", "never there"].map(str::to_owned);
        let mut notes = old.clone();
        for payload in new.encode(&changed) {
            notes.replay(&payload).unwrap();
        }
        assert_eq!(notes, new);
        let mut read = Notes::default();
        let all = new.encode_all();
        all.iter().try_for_each(|payload| read.replay(payload)).unwrap();
        assert_eq!(read, new);
        assert_eq!(new.bytes(), all.concat().len() as u64);
        assert!(Notes::default().encode_all().is_empty() && old.encode(&[]).is_empty());
    }

    #[test]
    fn large_notes_have_frames_of_their_own() {
        let mut notes = Notes::default();
        for name in ["a", "b", "c"] {
            notes.set(name, &vec![7; MOST_PAYLOAD as usize / 2 - 13]).unwrap();
        }
        let payloads = notes.encode_all();
        assert_eq!(payloads.len(), 2);
        assert!(payloads.iter().all(|payload| payload.len() as u64 <= MOST_PAYLOAD));
    }

    /// Also while a log is replayed, whose changes are in the order of the names.
    #[test]
    fn no_more_notes_are_taken_than_are_read_again() {
        let mut full = Notes::default();
        for number in 0..Notes::MOST {
            full.set(&format!("note {number:07}"), b"").unwrap();
        }
        assert!(matches!(full.set("one more", b""), Err(Reason::TooManyNotes { .. })));
        assert_eq!(full.len(), Notes::MOST);
        let (mut new, mut read) = (full.clone(), full.clone());
        new.set("note 0000007", b"longer").unwrap();
        new.remove("note 0000008");
        new.set("another", b"value").unwrap();
        let changed = ["another", "note 0000007", "note 0000008"].map(str::to_owned);
        new.encode(&changed).iter().try_for_each(|payload| read.replay(payload)).unwrap();
        assert_eq!(read, new);
        let too_many = Notes { notes: [("one more".to_owned(), Vec::new())].into(), bytes: 20 };
        assert!(too_many.encode_all().iter().try_for_each(|it| full.replay(it)).is_none());
    }

    #[test]
    fn every_part_of_the_bytes_is_refused_or_less() {
        let notes = sample();
        let bytes = notes.encode_all().concat();
        for length in 1..bytes.len() {
            let mut read = Notes::default();
            let is_whole = read.replay(&bytes[..length]).is_some();
            assert!(!is_whole || read.len() < notes.len());
        }
        let odd = [&2_u32.to_le_bytes()[..], &1_u32.to_le_bytes(), b"\xff"].concat();
        for wrong in [&[0; 12][..], &odd] {
            assert!(Notes::default().replay(wrong).is_none());
        }
    }
}
