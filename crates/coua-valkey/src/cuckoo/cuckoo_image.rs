//! A cuckoo filter as an [image](coua_image), for dump files, append-only files, chunks of dumps, and digests.

use std::io::{self, Read, Write};

use coua::window::{AgeFrom, Generations};
use coua::{CuckooFilter, Load};
use coua_image::{self as image, Body, HEAD_BYTES, Head, ListedHashes, MAGIC};

use super::cuckoo_request::{CuckooSpec, Precision};
use super::hash_list::HashList;
use super::native_cuckoo::{Form, NativeCuckoo};
use super::notes::Notes;
use super::sorted_hashes::SortedHashes;
use super::table::Table;
use super::windowed::WindowedFilter;
use crate::error::RdbError;

impl NativeCuckoo {
    /// Writes the complete image without the first `start` bytes. Returns `InvalidInput` if it is shorter.
    pub(crate) fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let notes = self.notes.bytes();
        let mut front = self.head().encode();
        front.extend(image::encode_notes(notes));
        let rest = start.saturating_sub(front.len() as u64);
        if let Form::List(list) = &self.form {
            front.extend(list_bytes_of(list));
            let rest = usize::try_from(start).ok().and_then(|start| front.get(start..));
            return out.write_all(rest.ok_or(io::ErrorKind::InvalidInput)?);
        }
        out.write_all(front.get(start as usize..).unwrap_or_default())?;
        match &self.form {
            Form::List(_) => Ok(()),
            Form::Table(table) => table.filter.writer().write_from(rest, out),
            Form::Windowed(windowed) => windowed.filter.writer()?.write_from(rest, out),
        }
    }

    fn head(&self) -> Head {
        let body = match &self.form {
            Form::List(_) => Body::Hashes,
            Form::Table(_) => Body::Filter,
            Form::Windowed(_) => Body::Windowed,
        };
        Head {
            body,
            hasher: self.hasher(),
            hints: self.hints(),
            removed: self.deleted,
            note_bytes: self.notes.bytes().len(),
        }
    }

    /// Writes the image.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image whose magic was already read. Memory grows with the bytes that arrive.
    pub(crate) fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError> {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&magic);
        input.read_exact(&mut bytes[8..])?;
        let head = Head::decode(&bytes)?;
        let notes = head.read_notes(&mut *input)?;
        let notes = Notes::decode(notes).ok_or(RdbError::Field("notes"))?;
        Ok(Self { form: read_form(&head, input)?, deleted: head.removed, notes })
    }
}

/// Whether these bytes begin an image.
pub(crate) fn is_begun(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|head| Head::decode(head).is_ok())
}

/// Whether these bytes look like the beginning of an image, even if some are damaged.
pub(crate) fn begins_image(bytes: &[u8]) -> bool {
    let alike = bytes.iter().zip(MAGIC).filter(|&(&found, expected)| found == expected);
    alike.count() * 2 > MAGIC.len()
}

fn read_form(head: &Head, input: &mut dyn Read) -> Result<Form, RdbError> {
    let load = Load::new().key(head.secret());
    match head.body {
        Body::Hashes => Ok(Form::List(read_list(head, input)?)),
        Body::Windowed => {
            let filter: Generations = load.reader(input)?;
            if filter.window().is_none() || head.hints.expansion == 0 {
                return Err(RdbError::Field("window or expansion"));
            }
            // Repeats are not replicated, so none may change a filter.
            if filter.window().is_some_and(|window| window.age_from() == AgeFrom::LastSeen) {
                return Err(RdbError::LastSeen);
            }
            Ok(Form::Windowed(WindowedFilter::new(filter, head.hints)))
        }
        Body::Filter => {
            let filter = load.reader::<CuckooFilter>(input)?;
            Ok(Form::Table(Table::new(filter, head.hints)))
        }
    }
}

/// The bytes after the head of a filter with few items.
fn list_bytes_of(list: &HashList) -> Vec<u8> {
    let hashes = &list.hashes;
    ListedHashes::encode(list.capacity() as u64, hashes.bits(), list.len(), hashes.words())
}

fn read_list(head: &Head, input: &mut dyn Read) -> Result<HashList, RdbError> {
    let listed = ListedHashes::read(input)?;
    let spec = CuckooSpec {
        capacity: listed.capacity,
        hints: head.hints,
        precision: Precision::HashBits(listed.bits.into()),
        hash_key: head.secret().unwrap_or_default(),
        window: None,
    };
    let is_too_small = spec.capacity < 2 * u64::from(head.hints.bucket_size);
    if is_too_small || HashList::bits_for(&spec).is_none() {
        return Err(RdbError::Field("capacity or number of hash bits"));
    }
    HashList::new(&spec, SortedHashes::from(listed))
        .map_err(|_| RdbError::Io(io::ErrorKind::OutOfMemory.into()))
}

/// The checksum of images.
#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    coua::KeyHasher::Xxh3 { seed: 0 }.hash(bytes).to_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua_image::MOST_NOTES;

    const NOTES_AT: usize = 44;
    const SUM: usize = 8;

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(*bytes[at..].first_chunk().unwrap())
    }

    use crate::cuckoo::cuckoo_request::CuckooRequest;
    use coua::IfPresent;

    /// Images of all kinds, with the same items, without notes and with some.
    fn images() -> Vec<Vec<u8>> {
        let windowed = image_of_words(&[b"16", b"WINDOWITEMS", b"100", b"GENERATIONS", b"2"]);
        let images = [image_of("0"), image_of("1"), windowed];
        let noted = images.iter().map(|image| {
            let mut native = read(image).unwrap();
            assert_eq!(native.set_note(b"coua/keys", b"{}"), Ok(true));
            written(&native)
        });
        noted.collect::<Vec<_>>().into_iter().chain(images).collect()
    }

    fn image() -> Vec<u8> {
        image_of("0")
    }

    fn image_of(expansion: &str) -> Vec<u8> {
        image_of_words(&[b"16", b"EXPANSION", expansion.as_bytes()])
    }

    fn image_of_words(words: &[&[u8]]) -> Vec<u8> {
        let spec = CuckooRequest::of_reserve(words).unwrap().complete([5; 16]).unwrap();
        let mut native = NativeCuckoo::of(spec).unwrap();
        native.insert(&[b"a", b"b", b"b", b"b", b"b", b"b", b"b"], IfPresent::AddCopy, None);
        native.remove(&[b"a"]);
        written(&native)
    }

    fn written(native: &NativeCuckoo) -> Vec<u8> {
        let mut bytes = Vec::new();
        native.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<NativeCuckoo, RdbError> {
        let (magic, mut rest) = bytes.split_first_chunk().ok_or(RdbError::Field("length"))?;
        NativeCuckoo::read(*magic, &mut rest)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        for bytes in images() {
            let native = read(&bytes).unwrap();
            assert_eq!((native.count_all(&[b"b"]), native.deleted), (vec![6], 1));
            assert!(written(&native) == bytes);
            assert_eq!(image::length(&bytes), Some(bytes.len() as u64));
        }
    }

    #[test]
    fn an_image_can_be_written_from_any_byte_on() {
        for bytes in images() {
            let native = read(&bytes).unwrap();
            for start in 0..=bytes.len() {
                let mut rest = Vec::new();
                native.write_from(start as u64, &mut rest).unwrap();
                assert!(rest == bytes[start..], "from {start}");
            }
            let beyond = native.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
            assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        for bytes in images() {
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x55;
                assert!(read(&damaged).is_err(), "byte {at}");
                assert!(read(&bytes[..at]).is_err(), "cut at {at}");
            }
        }
    }

    #[test]
    fn a_head_may_state_any_number_of_removals() {
        let mut forged = image();
        forged[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
        let sum = checksum(&forged[..HEAD_BYTES - 8]).to_le_bytes();
        forged[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&sum);
        let mut native = read(&forged).unwrap();
        assert_eq!((native.remove(&[b"b"]), native.deleted), (vec![true], u64::MAX));
    }

    #[test]
    fn notes_that_are_none_are_refused_though_their_checksum_fits() {
        for image in images().into_iter().take(3) {
            let length = u32_at(&image, NOTES_AT) as usize;
            for at in HEAD_BYTES..HEAD_BYTES + 4 {
                let mut forged = image.clone();
                forged[at] ^= 0x41;
                let sum = checksum(&forged[HEAD_BYTES..HEAD_BYTES + length]);
                forged[HEAD_BYTES + length..][..SUM].copy_from_slice(&sum.to_le_bytes());
                assert!(matches!(read(&forged), Err(RdbError::Field("notes"))), "byte {at}");
            }
        }
    }

    #[test]
    fn few_items_with_impossible_numbers_are_refused_though_their_checksum_fits() {
        for (at, value) in [(64, 1u32), (64, 5_000), (72, 7), (72, 65), (76, 5), (76, 65)] {
            let mut forged = image_of("1");
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let end = forged.len() - SUM;
            let sum = checksum(&forged[HEAD_BYTES..end]).to_le_bytes();
            forged[end..].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }

    #[test]
    fn a_head_with_impossible_options_is_refused_though_its_checksum_fits() {
        for (at, value) in [
            (8, 2u32),
            (12, 1),
            (32, 0),
            (32, 256),
            (36, 65_536),
            (40, 32_769),
            (44, MOST_NOTES as u32 + 1),
        ] {
            let mut forged = image();
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let sum = checksum(&forged[..HEAD_BYTES - 8]).to_le_bytes();
            forged[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }
}
