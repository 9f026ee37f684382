//! Filters that a running RedisBloom dumped, from `src/redisbloom/golden`.

use crate::client::Client;

const GOLDEN: &str = include_str!("../../src/redisbloom/tests/golden/golden.txt");

/// A filter, and what the peer said of it.
#[derive(Default)]
pub(crate) struct Filter {
    pub(crate) name: String,
    /// The values of INFO, in its order.
    pub(crate) info: Vec<String>,
    /// How many of the first items are there, how many of the next are not, and so on.
    pub(crate) answers: Vec<usize>,
    /// The position and the bytes of every chunk; empty where one is not written out.
    pub(crate) chunks: Vec<(String, Vec<u8>)>,
    pub(crate) dump: Option<Vec<u8>>,
}

/// All filters of the file.
pub(crate) fn filters() -> Vec<Filter> {
    let sections = GOLDEN.split("\n\n").filter(|section| section.starts_with("filter "));
    let filters: Vec<_> = sections.map(filter).collect();
    assert!(filters.len() > 14, "{}", filters.len());
    filters
}

fn filter(section: &str) -> Filter {
    let mut filter = Filter::default();
    let mut whole = true;
    for line in section.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<_> = rest.split(' ').collect();
        match word {
            "filter" => rest.clone_into(&mut filter.name),
            "info" => filter.info = words.iter().map(ToString::to_string).collect(),
            "answers" => filter.answers = words.iter().map(|n| n.parse().unwrap()).collect(),
            "chunk" if words[2] == "murmur" => whole = false,
            "chunk" => filter.chunks.push((words[0].to_owned(), bytes(words[2]))),
            "dump" => filter.dump = Some(bytes(rest)),
            // It answered before it was changed again.
            "add" | "addnx" | "del" | "compact" => filter.answers.clear(),
            _ => panic!("{word} is not known"),
        }
    }
    if !whole {
        filter.chunks.clear();
    }
    filter
}

/// Loads the chunks of a filter.
#[track_caller]
pub(crate) fn load(client: &mut Client, key: &str, filter: &Filter) {
    assert!(!filter.chunks.is_empty(), "{} has no chunks", filter.name);
    for (position, chunk) in &filter.chunks {
        let reply = client.call(&[b"CF.LOADCHUNK", key.as_bytes(), position.as_bytes(), chunk]);
        assert_eq!(reply.to_string(), "+OK", "{} at {position}", filter.name);
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<_> = hexadecimal.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
