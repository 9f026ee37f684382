//! Generations used where they lie: the same answers and the same bytes as read ones, the file stays as it
//! was, and opening looks at no segment.

use std::fs::{self, File};
use std::io::Write;

use coua::inspect::Contents;
use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, KeyHash, Load, LoadError};

use super::file::made;
use super::plain::{bytes_of, hash};

const STEP: u64 = 100;

fn saved(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn mapped(file: &tempfile::NamedTempFile) -> Result<Generations, LoadError> {
    Load::new().map_file::<Generations>(&File::open(file.path()).unwrap())
}

fn hashes(from: u64, count: u64) -> Vec<KeyHash> {
    (from..from + count).map(hash).collect()
}

/// Six generations of `each` items, with copies beyond the slots of a bucket.
fn filled(each: u64) -> Generations {
    let window = Window::new(Clock::Arrival, 6 * STEP, 6).unwrap();
    let template = CuckooFilter::builder().capacity(each / 2).hash_bits(50).build().unwrap();
    let mut filled = Generations::from_template(window, template);
    for number in 0..6 {
        filled.advance(STEP * number);
        filled.insert_batch(&hashes(number * each, each)).unwrap();
        filled.insert_batch(&[hash(number * each); 30]).unwrap();
    }
    filled
}

/// The number of a file that lies at this place.
fn number(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize
}

/// Where the segments lie, by `docs/format.md` alone.
fn segments(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let parts = u32::from_le_bytes(*bytes[60..].first_chunk().unwrap()) as usize;
    let rows = bytes[192 + 64 * parts..].chunks_exact(32).take(number(bytes, 72));
    let mut bounds: Vec<_> = rows.map(|row| number(row, 16)).collect();
    bounds.push(number(bytes, 96));
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

#[test]
fn segments_of_all_parts_begin_with_a_cache_line() {
    for file in [bytes_of(&made()), bytes_of(&filled(20_000))] {
        let all = segments(&file);
        assert!(all.len() > 2 && all.iter().all(|part| part.start.is_multiple_of(64)));
        assert!(all.iter().all(|part| part.len().is_multiple_of(64)));
    }
}

#[test]
fn mapped_generations_are_the_read_ones() {
    for each in [30, 5_000, 40_000] {
        let mut read = filled(each);
        let bytes = bytes_of(&read);
        let file = saved(&bytes);
        let mut mapped = mapped(&file).unwrap();
        assert!(bytes_of(&mapped) == bytes, "{each}");
        // Rotation drops mapped generations, new ones begin as copies of the mapped template, and all grow.
        for round in 0..9 {
            let (old, new) =
                (hashes(round * each, each / 3), hashes(100 * each, 40 * round + each));
            let outcomes = [&mut read, &mut mapped].map(|seen| {
                let counts = seen.count_batch(&[&old[..], &new[..]].concat());
                seen.advance(STEP * (round + 5));
                let outcomes = seen.insert_unique_batch(&new).unwrap();
                let removed = seen.remove_batch(&old);
                (removed, outcomes, counts)
            });
            assert!(outcomes[0] == outcomes[1], "{each}: round {round}");
            assert!(bytes_of(&read) == bytes_of(&mapped), "{each}: round {round}");
        }
        assert!(read.forgotten() > 0 && read.forgotten() == mapped.forgotten());
        assert!(fs::read(file.path()).unwrap() == bytes, "{each}: the file was written");
    }
}

#[test]
fn copies_and_unions_of_mapped_generations_are_whole() {
    let (first, second) = (filled(5_000), filled(300));
    let (one, two) = (saved(&bytes_of(&first)), saved(&bytes_of(&second)));
    let copy = mapped(&one).unwrap().try_clone().unwrap();
    assert!(bytes_of(&copy) == bytes_of(&first));
    let (mut read, mut used) = (first, mapped(&one).unwrap());
    // The second was planned for fewer; what counts is what it remembers.
    read.merge(&second).unwrap();
    used.merge(&mapped(&two).unwrap()).unwrap();
    assert!(bytes_of(&read) == bytes_of(&used));
}

/// Damage in a segment is what mapping leaves to `read_file` and `Contents::check`; elsewhere it is found.
#[test]
fn damage_beside_the_segments_is_found_at_once() {
    let mut bytes = bytes_of(&made());
    let slots = segments(&bytes);
    for at in 0..bytes.len() {
        bytes[at] ^= 4;
        let file = saved(&bytes);
        let is_in_segment = slots.iter().any(|part| part.contains(&at));
        assert_eq!(mapped(&file).is_ok(), is_in_segment, "byte {at}");
        if is_in_segment {
            let mut file = file.reopen().unwrap();
            let contents = Contents::read(&mut file).unwrap();
            assert!(contents.check(&mut file).is_err(), "byte {at}");
        }
        bytes[at] ^= 4;
    }
    for length in [0, 9, 10, 191, 192, 400, bytes.len() - 1] {
        assert!(mapped(&saved(&bytes[..length])).is_err(), "{length} bytes");
    }
    assert!(mapped(&saved(&[&bytes[..], b"\0"].concat())).is_err());
}

/// What opens is put to use: wrong answers are all that wrong segments may lead to.
#[test]
fn segments_of_other_bytes() {
    let honest = bytes_of(&filled(60));
    for round in 0..60 {
        let mut bytes = honest.clone();
        for (at, byte) in segments(&honest).into_iter().flatten().enumerate() {
            let noise = hash(round << 32 | at as u64).to_u64() as u8;
            bytes[byte] ^= if round % 2 == 0 { noise } else { noise & (noise >> 4) & 1 };
        }
        let mut seen = mapped(&saved(&bytes)).unwrap();
        let all = hashes(0, 1_000);
        for time in 5..20 {
            seen.advance(STEP * time);
            seen.count_batch(&all);
            let _full = seen.insert_batch(&hashes(5_000 * time, 40));
            seen.remove_batch(&all);
            assert!(bytes_of(&seen).len() > 288);
        }
        // The wrong generations are forgotten as right ones are; and a new one was never wrong.
        seen.advance(STEP * 100);
        assert!(seen.is_empty());
        seen.insert_unique("a").unwrap();
        assert_eq!(seen.len(), 1);
        let fresh = seen.generations().next().unwrap().filter.clone();
        let mut removing = fresh.clone();
        assert!(removing.remove("a") && removing.load_factor() == 0.0);
    }
}

/// Bytes of the mapped file that are in this process's memory, and of these the ones that were changed.
#[cfg(target_os = "linux")]
fn resident(file: &tempfile::NamedTempFile) -> (u64, u64) {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let name = file.path().to_str().unwrap();
    let mut is_its = false;
    let (mut all, mut changed) = (0, 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap(), words.next().unwrap_or("0"));
        match first {
            "Rss:" if is_its => all += 1024 * second.parse::<u64>().unwrap(),
            "Anonymous:" if is_its => changed += 1024 * second.parse::<u64>().unwrap(),
            _ if !first.ends_with(':') => is_its = line.ends_with(name),
            _ => {}
        }
    }
    (all, changed)
}

#[cfg(target_os = "linux")]
#[test]
fn opening_touches_no_segment_and_a_change_a_few_pages() {
    /// Of the machines with the largest ones.
    const PAGE: u64 = 65_536;
    let file = saved(&bytes_of(&filled(400_000)));
    let mut seen = mapped(&file).unwrap();
    assert_eq!(resident(&file), (0, 0));
    seen.insert_batch(&hashes(1 << 40, 4)).unwrap();
    // A key changes one bucket, and may push others on. (How much the system maps of what is only read is
    // up to the system.)
    let (all, changed) = resident(&file);
    assert!(changed > 0 && changed <= 4 * 2 * PAGE, "{changed} bytes");
    // A new generation is a copy of the template, and neither reads nor changes the file.
    seen.advance(STEP * 6);
    let left = resident(&file);
    assert!(left.0 <= all && left.1 == changed);
    seen.insert_unique("a").unwrap();
    assert_eq!(seen.generations().count(), 7);
    assert_eq!(resident(&file).1, changed);
}
