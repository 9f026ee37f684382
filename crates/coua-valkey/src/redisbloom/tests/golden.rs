//! Filters of a running RedisBloom, made again and read: see `golden/make.py`.

use super::super::murmur::murmur64;
use super::super::{Chunk, Limits, PeerBloom, PeerCuckoo, PeerFilter};
use super::dump::{Reader, Writer};

const GOLDEN: &str = include_str!("../golden/golden.txt");

/// The filter of a case, made from its commands.
#[derive(Debug)]
enum Filter {
    Cuckoo(PeerCuckoo),
    Bloom(PeerBloom),
}

/// Calls the same method, whichever filter it is.
macro_rules! either {
    ($filter:expr, $name:ident => $does:expr) => {
        match $filter {
            Filter::Cuckoo($name) => $does,
            Filter::Bloom($name) => $does,
        }
    };
}

impl Filter {
    /// `kind name with blanks, then the arguments of RESERVE`.
    fn reserve(line: &str) -> Self {
        let mut words = line.split_whitespace().rev();
        let limits = &Limits::default();
        if line.starts_with("bloom") {
            let expansion = words.next().unwrap().parse().ok();
            let (rate, capacity) = (number(words.next()), number(words.next()));
            return Self::Bloom(
                PeerBloom::with_capacity(capacity, rate, expansion, limits).unwrap(),
            );
        }
        let (expansion, iterations) = (number(words.next()), number(words.next()));
        let (bucket_size, capacity) = (number(words.next()), number(words.next()));
        Self::Cuckoo(
            PeerCuckoo::with_capacity(capacity, bucket_size, iterations, expansion).unwrap(),
        )
    }

    fn like(&self, header: &[u8]) -> Self {
        let limits = &Limits::default();
        match self {
            Self::Cuckoo(_) => Self::Cuckoo(PeerCuckoo::from_header(header, limits).unwrap()),
            Self::Bloom(_) => Self::Bloom(PeerBloom::from_header(header, limits).unwrap()),
        }
    }

    fn read(&self, dump: &[u8]) -> Self {
        let (mut reader, encoding) = Reader::of_dump(dump);
        let limits = &Limits::default();
        let filter = match self {
            Self::Cuckoo(_) => {
                Self::Cuckoo(PeerCuckoo::read(&mut reader, encoding, limits).unwrap())
            }
            Self::Bloom(_) => Self::Bloom(PeerBloom::read(&mut reader, encoding, limits).unwrap()),
        };
        assert!(reader.is_at_end());
        assert_eq!(either!(&filter, filter => filter.encoding()), encoding);
        filter
    }

    fn run(&mut self, command: &str, item: &[u8]) {
        let limits = &Limits::default();
        match (self, command) {
            (Self::Cuckoo(filter), "add") => filter.insert(item, limits).unwrap(),
            (Self::Cuckoo(filter), "addnx") => {
                filter.insert_unique(item, limits).unwrap();
            }
            (Self::Cuckoo(filter), "del") => {
                filter.remove(item);
            }
            (Self::Bloom(filter), "add") => {
                filter.insert(item, limits).unwrap();
            }
            (_, command) => panic!("{command} is no command"),
        }
    }

    fn contains(&self, item: &[u8]) -> bool {
        either!(self, filter => filter.contains(item))
    }

    fn header(&self) -> Vec<u8> {
        either!(self, filter => filter.header())
    }

    fn chunk(&self, position: i64) -> Option<Chunk<'_>> {
        either!(self, filter => filter.chunk(position).unwrap())
    }

    fn value(&self) -> Vec<u8> {
        Writer::value_of(|writer| either!(self, filter => filter.write(writer)))
    }

    /// What `INFO` says.
    fn info(&self) -> String {
        match self {
            Self::Cuckoo(filter) => format!(
                "{} {} {} {} {} {} {} {}",
                filter.peer_size(),
                filter.buckets(),
                filter.sub_filters(),
                filter.items(),
                filter.deletes(),
                filter.bucket_size(),
                filter.expansion(),
                filter.max_iterations()
            ),
            Self::Bloom(filter) => {
                let expansion = filter.expansion().map_or("none".into(), |n| n.to_string());
                let (capacity, size) = (filter.capacity(), filter.peer_size());
                format!("{capacity} {size} {} {} {expansion}", filter.filters(), filter.items())
            }
        }
    }
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
fn answers(filter: &Filter, runs: &str) {
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
fn made(reserve: &str, lines: &[(&str, &str)]) -> Filter {
    let mut filter = Filter::reserve(reserve);
    for (command, arguments) in lines {
        match *command {
            "add" | "addnx" | "del" => {
                let (first, end) = arguments.split_once(' ').unwrap();
                for added in number(Some(first))..number(Some(end)) {
                    filter.run(command, &item(added));
                }
            }
            "compact" => {
                let Filter::Cuckoo(filter) = &mut filter else { panic!("only cuckoo filters do") };
                filter.compact();
            }
            "answers" => answers(&filter, arguments),
            "info" => assert_eq!(filter.info(), *arguments),
            "chunk" | "dump" => {}
            command => panic!("{command} is no command"),
        }
    }
    filter
}

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
                let found = filter.chunk(position).unwrap();
                assert_eq!(found.next, next, "{reserve}");
                found.bytes.to_vec()
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
        assert_eq!(filter.chunk(position), None, "{reserve}");
    }
    assert!(seen > 150, "the file has more chunks than {seen}");
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
        let mut read = made(reserve, &lines).like(&bytes(&hex(&chunks[0])));
        for chunk in &chunks[1..] {
            let position = number(chunk.clone().next());
            let piece = bytes(&hex(chunk));
            either!(&mut read, filter => filter.load_chunk(position, &piece).unwrap());
        }
        assert_eq!(read.value(), made(reserve, &lines).value(), "{reserve}");
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
        let read = made(reserve, &lines).read(&dump);
        let value = read.value();
        assert!(dump.windows(value.len()).any(|window| window == value), "{reserve}");
        assert_eq!(value, made(reserve, &lines).value(), "{reserve}");
        seen += 1;
    }
    assert!(seen > 12, "the file has more dumps than {seen}");
}

#[test]
fn a_filter_that_was_read_goes_on_as_one_that_was_made() {
    for (reserve, lines) in cases() {
        let mut filter = made(reserve, &lines);
        let mut read = filter.like(&filter.header());
        let mut position = 1;
        while let Some(chunk) = filter.chunk(position) {
            either!(&mut read, read => read.load_chunk(chunk.next, chunk.bytes).unwrap());
            position = chunk.next;
        }
        let limits = Limits { sub_filters: 50, ..Limits::default() };
        for added in (0..100).map(item) {
            let (one, other) =
                (insert(&mut filter, &added, limits), insert(&mut read, &added, limits));
            assert_eq!(one, other, "{reserve}");
        }
        assert_eq!(filter.value(), read.value(), "{reserve}");
    }
}

fn insert(filter: &mut Filter, item: &[u8], limits: Limits) -> String {
    match filter {
        Filter::Cuckoo(filter) => format!("{:?}", filter.insert(item, &limits)),
        Filter::Bloom(filter) => format!("{:?}", filter.insert(item, &limits)),
    }
}
