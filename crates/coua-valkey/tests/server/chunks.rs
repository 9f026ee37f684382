//! CF.SCANDUMP and CF.LOADCHUNK.

use crate::client::{Client, Protocol};
use crate::resp::Value;
use crate::server::{Kind, Server};
use crate::zoo::{self, digest};

on_both!(
    round_trip,
    large,
    both_protocols,
    changed_while_dumped,
    another_filter_while_dumped,
    not_changed_while_dumped,
    wrong_chunks,
    a_damaged_first_chunk,
    servers_with_narrow_limits,
    chunks_of_two_filters,
    loading_is_all_or_nothing
);

/// No chunk is larger: servers may be set to refuse commands above 1 MiB, and to drop clients that have more to
/// read.
const MOST: usize = (1 << 20) - 1024;

/// The position behind a chunk, and its bytes.
pub(crate) type Chunk = (String, Vec<u8>);

/// All chunks of a key with their positions.
#[track_caller]
pub(crate) fn scan(client: &mut Client, key: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut position = "0".to_owned();
    loop {
        let reply = client.good(&format!("CF.SCANDUMP {key} {position}"));
        let [next, chunk] = reply.elements() else { panic!("{reply}") };
        if next.integer() == 0 {
            assert_eq!(*chunk, Value::NoBulk);
            return chunks;
        }
        position = next.integer().to_string();
        assert!(chunk.bytes().len() <= MOST);
        chunks.push((position.clone(), chunk.bytes().to_vec()));
    }
}

pub(crate) fn load(client: &mut Client, key: &str, (position, chunk): &Chunk) -> Value {
    client.call(&[b"CF.LOADCHUNK", key.as_bytes(), position.as_bytes(), chunk])
}

fn round_trip(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::cuckoo(&mut client);
    for key in zoo::CUCKOO {
        for chunk in scan(&mut client, key) {
            assert_eq!(load(&mut client, "loaded", &chunk).to_string(), "+OK", "{key}");
        }
        assert_eq!(digest(&mut client, "loaded"), digest(&mut client, key), "{key}");
        client.good("DEL loaded");
    }
}

fn large(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE large 20000000 EXPANSION 0");
    zoo::insert(&mut client, "large", 0..50_000);
    let chunks = scan(&mut client, "large");
    assert!(chunks.len() > 1, "larger than a chunk");
    for chunk in &chunks {
        assert_eq!(load(&mut client, "loaded", chunk).to_string(), "+OK");
    }
    assert_eq!(digest(&mut client, "loaded"), digest(&mut client, "large"));
}

fn both_protocols(kind: Kind) {
    let server = Server::start(kind);
    server.client().good("CF.INSERT f ITEMS a b c");
    let ends = [(Protocol::Resp2, "[:0 $-1]"), (Protocol::Resp3, "[:0 _]")];
    for (protocol, end) in ends {
        let mut client = server.connect(protocol);
        let first = client.good("CF.SCANDUMP f 0");
        let [position, chunk] = first.elements() else { panic!("{first}") };
        assert!(position.integer() > 0 && !chunk.bytes().is_empty(), "{first}");
        let next = client.good(&format!("CF.SCANDUMP f {}", position.integer()));
        assert_eq!(next.to_string(), end);
    }
}

/// A dump is of one moment: when the filter has changed, it is refused to go on.
fn changed_while_dumped(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE large 20000000 EXPANSION 0");
    for change in ["CF.ADD large a", "CF.DEL large a", "CF.MADD large a b"] {
        let first = client.good("CF.SCANDUMP large 0");
        let position = first.elements()[0].integer();
        client.good(change);
        let reply = client.run(&format!("CF.SCANDUMP large {position}"));
        assert!(reply.is_error(), "{change}");
    }
}

/// Nor does it go on in a filter that was read anew, or made anew, and has changed as often.
fn another_filter_while_dumped(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let anew = |client: &mut Client, item: usize| {
        client.good("DEL large");
        client.good("CF.RESERVE large 20000000 EXPANSION 0");
        client.good(&format!("CF.ADD large {item}"));
    };
    anew(&mut client, 0);
    let mut refused = [0, 0];
    // Once in 4096 times the numbers are the same by chance.
    for round in 1..=3 {
        let position = client.good("CF.SCANDUMP large 0").elements()[0].integer();
        anew(&mut client, round);
        let reply = client.run(&format!("CF.SCANDUMP large {position}"));
        refused[0] += u32::from(reply.is_error());
        client.good("DEBUG RELOAD");
        let position = client.good("CF.SCANDUMP large 0").elements()[0].integer();
        client.good("CF.ADD large more");
        client.good("DEBUG RELOAD");
        let reply = client.run(&format!("CF.SCANDUMP large {position}"));
        refused[1] += u32::from(reply.is_error());
        anew(&mut client, round);
    }
    assert!(refused.iter().all(|&refused| refused > 1), "{refused:?}");
}

/// What changes nothing does not disturb.
fn not_changed_while_dumped(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE large 20000000 EXPANSION 0");
    client.good("CF.ADD large a");
    let position = client.good("CF.SCANDUMP large 0").elements()[0].integer();
    client.good("CF.ADDNX large a");
    client.good("CF.DEL large nothing");
    client.good(&format!("CF.SCANDUMP large {position}"));
}

/// A server with two large filters, and the chunks of each.
fn two_filters(kind: Kind) -> (Server, [Vec<Chunk>; 2]) {
    let server = Server::start(kind);
    let mut client = server.client();
    let chunks = ["one", "two"].map(|key| {
        client.good(&format!("CF.RESERVE {key} 20000000 EXPANSION 0"));
        zoo::insert(&mut client, key, 0..1_000);
        scan(&mut client, key)
    });
    (server, chunks)
}

#[track_caller]
fn refused(client: &mut Client, position: &str, chunk: &[u8]) {
    let reply = load(client, "loaded", &(position.to_owned(), chunk.to_vec()));
    assert!(reply.is_error(), "{reply}");
    assert_eq!(client.run("PING").to_string(), "+PONG");
}

/// Chunks in another order, cut, twice, and at other positions.
fn wrong_chunks(kind: Kind) {
    let (server, [chunks, _]) = two_filters(kind);
    let mut client = server.client();
    let (second, bytes) = &chunks[1];
    refused(&mut client, second, bytes);
    assert_eq!(client.run("EXISTS loaded").integer(), 0);
    assert_eq!(load(&mut client, "loaded", &chunks[0]).to_string(), "+OK");
    refused(&mut client, &chunks[0].0, &chunks[0].1);
    refused(&mut client, second, &bytes[1..]);
    refused(&mut client, second, &bytes[..bytes.len() - 1]);
    refused(&mut client, second, &[bytes.as_slice(), b"more"].concat());
    if let Some((third, bytes)) = chunks.get(2) {
        refused(&mut client, third, bytes);
    }
    for position in ["-1", "9223372036854775807", "-9223372036854775808", "1", "2", "16777217"] {
        refused(&mut client, position, bytes);
        refused(&mut client, position, b"");
    }
    // After all that, the right ones still fit.
    for chunk in &chunks[1..] {
        assert_eq!(load(&mut client, "loaded", chunk).to_string(), "+OK");
    }
    assert_eq!(digest(&mut client, "loaded"), digest(&mut client, "one"));
    let (last, bytes) = chunks.last().unwrap();
    refused(&mut client, last, bytes);
}

/// It is no chunk of a filter that is missing.
fn a_damaged_first_chunk(kind: Kind) {
    let (server, [chunks, _]) = two_filters(kind);
    let mut client = server.client();
    let (position, chunk) = &chunks[0];
    for at in [0, 7, 20, 60] {
        let mut damaged = chunk.clone();
        damaged[at] ^= 0x55;
        let reply = load(&mut client, "loaded", &(position.clone(), damaged));
        assert_eq!(reply.to_string(), "-Invalid header", "byte {at}");
    }
    assert_eq!(load(&mut client, "loaded", &chunks[1]).to_string(), "-ERR not found");
}

/// A server may drop clients with more than 1 MiB to read, and commands of more.
fn servers_with_narrow_limits(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE f 4000000");
    zoo::insert(&mut client, "f", 0..1_000);
    client.good("CONFIG SET proto-max-bulk-len 1mb");
    client.call(&["CONFIG", "SET", "client-output-buffer-limit", "normal 1mb 1mb 1"]);
    let mut client = server.client();
    for chunk in scan(&mut client, "f") {
        assert_eq!(load(&mut client, "loaded", &chunk).to_string(), "+OK");
    }
    assert_eq!(digest(&mut client, "loaded"), digest(&mut client, "f"));
}

fn chunks_of_two_filters(kind: Kind) {
    let (server, [one, two]) = two_filters(kind);
    let mut client = server.client();
    let mixed = one[..1].iter().chain(&two[1..]);
    let replies: Vec<_> = mixed.map(|chunk| load(&mut client, "loaded", chunk)).collect();
    assert!(replies.iter().any(Value::is_error), "a filter was made of two halves");
    assert!(client.run("CF.EXISTS loaded 1").is_error(), "a filter was made of two halves");
}

/// A filter of which not all chunks have arrived answers nothing: absent would be a wrong answer.
fn loading_is_all_or_nothing(kind: Kind) {
    let mut server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE large 20000000 EXPANSION 0");
    client.good("CF.ADD large a");
    let chunks = scan(&mut client, "large");
    assert_eq!(load(&mut client, "loaded", &chunks[0]).to_string(), "+OK");
    let begun = digest(&mut client, "loaded");
    for command in ["CF.EXISTS loaded a", "CF.ADD loaded a", "CF.DEL loaded a", "CF.COUNT loaded a"]
    {
        assert!(client.run(command).is_error(), "{command}");
    }
    // It is kept as any other key, and goes on after a restart.
    client.good("SAVE");
    server.restart();
    let mut client = server.client();
    assert_eq!(digest(&mut client, "loaded"), begun);
    for chunk in &chunks[1..] {
        assert_eq!(load(&mut client, "loaded", chunk).to_string(), "+OK");
    }
    assert_eq!(digest(&mut client, "loaded"), digest(&mut client, "large"));
    assert_eq!(client.good("CF.EXISTS loaded a").integer(), 1);
}
