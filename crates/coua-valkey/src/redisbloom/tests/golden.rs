//! Filters of a running RedisBloom, made again and read: see `golden/make.py`.

use coua::IfPresent::{AddCopy, Skip};

use super::super::murmur::murmur64;
use super::super::{Limits, PeerCuckoo};
use super::dump::{Reader, encoding_of, value_of};

const GOLDEN: &str = include_str!("golden/golden.txt");

/// `name with blanks, then the arguments of RESERVE`.
fn reserved(line: &str) -> PeerCuckoo {
    let mut words = line.split_whitespace().rev();
    let (expansion, iterations) = (number(words.next()), number(words.next()));
    let (bucket_size, capacity) = (number(words.next()), number(words.next()));
    PeerCuckoo::with_capacity(capacity, bucket_size, iterations, expansion).unwrap()
}

fn of_header(header: &[u8]) -> PeerCuckoo {
    PeerCuckoo::from_header(header, &Limits::default()).unwrap()
}

fn of_dump(dump: &[u8]) -> PeerCuckoo {
    let (mut reader, encoding) = Reader::of_dump(dump);
    let filter = PeerCuckoo::read(&mut reader, encoding, &Limits::default()).unwrap();
    assert!(reader.is_at_end());
    assert_eq!(encoding_of(&filter), encoding);
    filter
}

fn run(filter: &mut PeerCuckoo, command: &str, item: &[u8]) {
    let limits = &Limits::default();
    match command {
        "add" => drop(filter.insert(item, AddCopy, limits).unwrap()),
        "addnx" => drop(filter.insert(item, Skip, limits).unwrap()),
        "del" => drop(filter.remove(item)),
        command => panic!("{command} is no command"),
    }
}

/// What `INFO` says.
fn info(filter: &PeerCuckoo) -> String {
    filter.info().map(|number| number.to_string()).join(" ")
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: Option<&str>) -> T {
    word.unwrap().parse().unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn item(number: u32) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Runs of answers, the first of which are yes.
fn answers(filter: &PeerCuckoo, runs: &str) {
    let (mut next, mut is_in) = (0, true);
    for run in runs.split_whitespace().map(|run| number::<u32>(Some(run))) {
        for asked in next..next + run {
            assert_eq!(filter.contains(&item(asked)), is_in, "item {asked}");
        }
        (next, is_in) = (next + run, !is_in);
    }
}

/// Every case of the file: its name, and its lines as command and arguments.
fn cases() -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
    GOLDEN.split("\n\n").filter_map(|case| {
        let mut lines = case.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        let (_, reserve) = lines.next().filter(|(command, _)| *command == "filter")?;
        Some((reserve, lines.collect()))
    })
}

/// Makes the filter of a case again; what it says on the way is held to the peer.
fn made(reserve: &str, lines: &[(&str, &str)]) -> PeerCuckoo {
    let mut filter = reserved(reserve);
    for (command, arguments) in lines {
        match *command {
            "add" | "addnx" | "del" => {
                let (first, end) = arguments.split_once(' ').unwrap();
                for added in number(Some(first))..number(Some(end)) {
                    run(&mut filter, command, &item(added));
                }
            }
            "compact" => filter.compact(),
            "answers" => answers(&filter, arguments),
            "info" => assert_eq!(info(&filter), *arguments),
            "chunk" | "dump" => {}
            command => panic!("{command} is no command"),
        }
    }
    filter
}

/// The most bytes of the peer's chunks.
const PEER_CHUNK: usize = 16 << 20;

#[test]
fn the_same_commands_make_the_peers_bytes() {
    let mut seen = 0;
    for (reserve, lines) in cases() {
        let filter = made(reserve, &lines);
        let mut position = 0;
        for (_, chunk) in lines.iter().filter(|(command, _)| *command == "chunk") {
            let mut words = chunk.split_whitespace();
            let (next, len) = (number::<i64>(words.next()), number::<usize>(words.next()));
            let found = if position == 0 {
                filter.header()
            } else {
                let rest = filter.slots_from(position).unwrap();
                let found = &rest[..rest.len().min(PEER_CHUNK)];
                assert_eq!(position + i64::try_from(found.len()).unwrap(), next, "{reserve}");
                found.to_vec()
            };
            assert_eq!(found.len(), len, "{reserve}");
            match words.next().unwrap() {
                "murmur" => {
                    let hash = format!("{:016x}", murmur64(&found, 0));
                    assert_eq!(hash, words.next().unwrap(), "{reserve}");
                }
                hex => assert_eq!(found, bytes(hex), "{reserve}"),
            }
            position = next;
            seen += 1;
        }
        assert_eq!(filter.slots_from(position), None, "{reserve}");
    }
    assert!(seen > 120, "the file has more chunks than {seen}");
}

#[test]
fn the_peers_chunks_are_read_as_they_were_written() {
    for (reserve, lines) in cases() {
        let chunks = lines.iter().filter(|(command, _)| *command == "chunk");
        let chunks: Vec<_> = chunks.map(|(_, chunk)| chunk.splitn(3, ' ')).collect();
        let hex = |chunk: &std::str::SplitN<'_, char>| chunk.clone().nth(2).unwrap().to_owned();
        if chunks.iter().any(|chunk| hex(chunk).starts_with("murmur")) {
            continue;
        }
        let mut read = of_header(&bytes(&hex(&chunks[0])));
        for chunk in &chunks[1..] {
            let position = number(chunk.clone().next());
            let piece = bytes(&hex(chunk));
            read.load_chunk(position, &piece).unwrap();
        }
        assert_eq!(value_of(&read), value_of(&made(reserve, &lines)), "{reserve}");
    }
}

#[test]
fn the_peers_dumps_are_read_and_written_as_they_were() {
    let mut seen = 0;
    for (reserve, lines) in cases() {
        let Some((_, dump)) = lines.iter().find(|(command, _)| *command == "dump") else {
            continue;
        };
        let dump = bytes(dump);
        let read = of_dump(&dump);
        let value = value_of(&read);
        assert!(dump.windows(value.len()).any(|window| window == value), "{reserve}");
        assert_eq!(value, value_of(&made(reserve, &lines)), "{reserve}");
        seen += 1;
    }
    assert!(seen > 8, "the file has more dumps than {seen}");
}

#[test]
fn a_filter_that_was_read_goes_on_as_one_that_was_made() {
    for (reserve, lines) in cases() {
        let mut filter = made(reserve, &lines);
        let mut read = of_header(&filter.header());
        let mut position = 1;
        while let Some(chunk) = filter.slots_from(position) {
            position += i64::try_from(chunk.len()).unwrap();
            read.load_chunk(position, chunk).unwrap();
        }
        let limits = Limits { sub_filters: 50, ..Limits::default() };
        for added in (0..100).map(item) {
            let (one, other) =
                (filter.insert(&added, AddCopy, &limits), read.insert(&added, AddCopy, &limits));
            assert_eq!(one, other, "{reserve}");
        }
        assert_eq!(value_of(&filter), value_of(&read), "{reserve}");
    }
}
