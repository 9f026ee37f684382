//! The parts of a filter that the page shows.

use crate::clock;
use crate::filter::server;
use crate::filter::{FilterSpec, Location, check_files, filter_file};
use crate::terminal::{Failure, Result, Verbosity};
use coua::inspect::{Contents, TableView};
use coua::window::Generations;
use coua::{KeyHash, LoadError};
use coua_store::Options;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// The most bytes of a filter in a page.
const MOST: u64 = 4 << 20;
/// Bytes at the end of a snapshot that readers of its log check (docs/format.md, section 6).
const SNAPSHOT_END: u64 = 16;

/// Parts of a filter's file, and answers. The field names are those of `web/page/look.js`.
#[derive(Serialize)]
pub(super) struct Excerpt {
    name: String,
    /// Bytes of the file.
    size: u64,
    /// Parts of the file, in base64, by their offsets.
    pieces: Vec<(u64, String)>,
    /// Keys, with the number of copies of each.
    answers: Vec<(String, u64)>,
}

impl Excerpt {
    /// Reads a filter, with the answers for `keys`.
    pub(super) fn of(
        filter: &Path,
        spec: &FilterSpec,
        verbosity: Verbosity,
        keys: &[String],
    ) -> Result<Self> {
        match Location::of(filter)? {
            Location::File(path) => Self::of_file(&path, spec, keys),
            Location::Server(address) => {
                let (filter, _) = server::pull(&address, verbosity)?;
                let mut snapshot = Vec::new();
                let written = filter.write_to(&mut snapshot);
                written.map_err(|error| Failure::at(&address, error))?;
                Self::new(address.to_string(), io::Cursor::new(snapshot), &filter, keys)
            }
        }
    }

    fn of_file(path: &Path, spec: &FilterSpec, keys: &[String]) -> Result<Self> {
        check_files(&spec.secret, [path], None)?;
        let mut view = filter_file::view(path, Options::new().expecting(0), &spec.secret)?;
        clock::advance(&mut view.filter);
        let file = File::open(path).map_err(|error| Failure::io(path.display(), &error))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).display().to_string();
        let excerpt = Self::new(name, file, &view.filter, keys)?;
        view.check_origin()?;
        Ok(excerpt)
    }

    fn new(
        name: String,
        mut file: impl Read + Seek,
        filter: &Generations,
        keys: &[String],
    ) -> Result<Self> {
        let hashes: Vec<_> = keys.iter().map(|key| filter.hasher().hash(key.as_bytes())).collect();
        let failed = |error: LoadError| Failure::at(&name, error);
        let contents = Contents::read(&mut file).map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(|error| failed(error.into()))?;
        let Some(parts) = parts_of(&contents, size, &hashes) else {
            let reason = "is too large for a page; run `coua explore`, and choose the file there";
            return Err(Failure::at(name, reason));
        };
        let pieces: io::Result<_> =
            parts.into_iter().map(|(begin, end)| read(&mut file, begin..end)).collect();
        let pieces = pieces.map_err(|error| failed(error.into()))?;
        let answers = keys.iter().cloned().zip(filter.count_batch(&hashes)).collect();
        Ok(Self { name, size, pieces, answers })
    }

    /// JSON that cannot end the script element that it is in.
    pub(super) fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("texts and numbers are JSON");
        json.replace('<', "\\u003c")
    }
}

/// The parts of the file that the page gets: from where to where. First comes what is beside the segments; `None` if that
/// is too much. Then come the segments of the hashes, the log, and segments at equal distances, as long as there is room.
fn parts_of(contents: &Contents, size: u64, hashes: &[KeyHash]) -> Option<BTreeMap<u64, u64>> {
    let segments = contents.tables.iter().flat_map(TableView::segments);
    let segments: BTreeMap<_, _> = segments.map(|one| (one.bytes.start, one.bytes.end)).collect();
    let begins = [0].into_iter().chain(segments.values().copied());
    let ends = segments.keys().copied().chain([contents.end]);
    let mut parts: BTreeMap<_, _> = begins.zip(ends).filter(|(begin, end)| begin < end).collect();
    let mut left = MOST.checked_sub(parts.iter().map(|(begin, end)| end - begin).sum())?;
    let mut add = |begin, end: u64| {
        let bytes = end.saturating_sub(begin);
        if bytes <= left && !parts.contains_key(&begin) {
            left -= bytes;
            parts.insert(begin, end);
        }
        left
    };
    for table in &contents.tables {
        for hash in hashes {
            let bytes = &table.segments()[table.locate(*hash).segment].bytes;
            add(bytes.start, bytes.end);
        }
    }
    let left = add(contents.end - SNAPSHOT_END, size);
    let all: u64 = segments.iter().map(|(begin, end)| end - begin).sum();
    let step = all.div_ceil(left.max(1)).max(1) as usize;
    for table in &contents.tables {
        for segment in table.segments().iter().step_by(step) {
            add(segment.bytes.start, segment.bytes.end);
        }
    }
    Some(parts)
}

/// Reads a part of the file: its offset, and its bytes in base64.
fn read(file: &mut (impl Read + Seek), part: Range<u64>) -> io::Result<(u64, String)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(part.start))?;
    file.take(part.end - part.start).read_to_end(&mut bytes)?;
    Ok((part.start, base64(&bytes)))
}

/// Base64 without padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|three| {
        let number =
            three.iter().zip([16, 8, 0]).fold(0, |sum, (byte, by)| sum | u32::from(*byte) << by);
        let digit = move |by: u32| char::from(DIGITS[(number >> by & 63) as usize]);
        [18, 12, 6, 0].into_iter().take(three.len() + 1).map(digit)
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::CuckooFilter;
    use coua_store::Store;

    /// An excerpt of a file with these keys, 1,000 of them in its log, and the file's bytes.
    fn excerpt(items: u64, copies: u64, asked: &[&str]) -> (Result<Excerpt>, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("<script>.coua");
        let mut store = Store::create(&path, CuckooFilter::new).unwrap();
        let key = |n: u64| (n % (items / copies)).to_string();
        for n in 0..items {
            store.insert(key(n)).unwrap();
        }
        store.commit().unwrap();
        for n in 0..1000 {
            store.insert(key(n)).unwrap();
        }
        store.finish().unwrap();
        let asked: Vec<String> = asked.iter().map(|key| (*key).to_owned()).collect();
        let excerpt = Excerpt::of(&path, &FilterSpec::default(), Verbosity::Normal, &asked);
        (excerpt, std::fs::read(path).unwrap())
    }

    /// The number of bytes of the file that the excerpt has, each as in the file.
    fn check(excerpt: &Excerpt, file: &[u8]) -> u64 {
        let mut there = vec![false; file.len()];
        for (at, text) in &excerpt.pieces {
            let part = *at as usize..*at as usize + text.len() * 3 / 4;
            assert_eq!(*text, base64(&file[part.clone()]));
            there[part].fill(true);
        }
        there.iter().filter(|there| **there).count() as u64
    }

    #[test]
    fn a_small_file_is_there_as_a_whole() {
        let key = "</script><b>";
        let (excerpt, bytes) = excerpt(5000, 1, &["7", "4999", key]);
        let excerpt = excerpt.unwrap();
        assert_eq!(check(&excerpt, &bytes), bytes.len() as u64, "no part is missing");
        assert_eq!((excerpt.size, excerpt.answers[0].1), (bytes.len() as u64, 2));
        assert_eq!(excerpt.answers[1..], [("4999".to_owned(), 1), (key.to_owned(), 0)]);
        let json = excerpt.to_json();
        assert!(!json.contains('<'), "it would end the element, or begin another");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&read["name"], &read["answers"][2][0]), (&"<script>.coua".into(), &key.into()));
    }

    #[test]
    fn of_a_large_file_the_pieces_are_true_and_few() {
        let (excerpt, bytes) = excerpt(2_000_000, 1, &["7", "1999999"]);
        let excerpt = excerpt.unwrap();
        assert_eq!(excerpt.size, bytes.len() as u64);
        assert_eq!(excerpt.answers.iter().map(|answer| answer.1).collect::<Vec<_>>(), [2, 1]);
        let all = check(&excerpt, &bytes);
        assert!((MOST / 2..=MOST).contains(&all), "{all} of {} bytes", bytes.len());
        let end = excerpt.pieces.iter().map(|(at, text)| at + text.len() as u64 * 3 / 4).max();
        assert_eq!(end, Some(excerpt.size), "the log is there");
    }

    #[test]
    fn too_much_beside_the_segments_is_refused() {
        let failure = excerpt(2_000_000, 6, &[]).0.err().unwrap();
        assert!(failure.reason().starts_with("is too large for a page"), "{failure:?}");
    }

    #[test]
    fn base64_is_as_in_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}
