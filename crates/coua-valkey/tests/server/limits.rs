//! Memory: what a key may take, and what happens when there is none.

use std::time::{Duration, Instant};

use coua::{CuckooFilter, KeyHasher, WhenFull};
use coua_image::{Body, Head, Hints, encode_notes};

use crate::client::Client;
use crate::golden;
use crate::resp::Value;
use crate::server::{Kind, Server};
use crate::usage::used;
use crate::zoo;

on_both!(
    what_passes_its_rate_or_is_full_for_lack_of_bits_is_told,
    limit_of_memory,
    limit_of_memory_of_what_is_loaded,
    limit_of_memory_and_what_was_before,
    what_a_server_accepted_can_be_restored,
    what_may_be_created_may_be_loaded,
    many_generations_may_be_loaded,
    a_server_without_memory,
    nothing_is_created_beyond_the_servers_memory,
    nothing_grows_beyond_the_servers_memory,
    nothing_is_merged_beyond_the_servers_memory,
    a_small_filter_does_not_stall_the_server,
);

/// A key takes no more than the limit, whichever way it would grow.
fn limit_of_memory(kind: Kind) {
    const LIMIT: i64 = 100_000;
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE large 1000000");
    let dump = client.good("DUMP large");
    let chunks = crate::chunks::scan(&mut client, "large");
    zoo::insert(&mut client, "large", 0..1_000);
    client.good(&format!("CONFIG SET coua.key-memory-limit {LIMIT}"));
    let refusals = [
        client.run("CF.RESERVE f 1000000"),
        client.run("CF.INSERT f CAPACITY 1000000 ITEMS a"),
        client.run("CF.MERGE f large"),
        client.call(&[b"RESTORE".as_slice(), b"f", b"0", dump.bytes()]),
    ];
    for reply in refusals {
        assert!(reply.is_error(), "{reply}");
        assert_eq!(client.run("EXISTS f").integer(), 0);
    }
    let loaded =
        chunks.iter().all(|chunk| !crate::chunks::load(&mut client, "f", chunk).is_error());
    assert!(!loaded, "chunks were loaded beyond the limit");
    client.good("DEL f");
    // What grows stops before it, and says so; what is in stays in.
    for (key, command) in [("g", "CF.INSERT g ITEMS"), ("h", "CF.MADD h")] {
        let reply = client.good(&zoo::with_items(command, 0..200_000));
        let taken = reply.elements().iter().take_while(|reply| !reply.is_error()).count();
        assert!((1_000..200_000).contains(&taken), "{key}: {taken}");
        let usage = client.good(&format!("MEMORY USAGE {key}")).integer();
        // The server adds the key's name and its place among the keys.
        assert!((LIMIT / 3..LIMIT + 300).contains(&usage), "{key}: {usage}");
    }
    // What needs no memory goes on.
    assert_eq!(client.run("CF.ADDNX g 1").integer(), 0);
    client.good(&zoo::with_items("CF.MDEL g", 0..1_000));
    assert_eq!(client.run("CF.ADD g 1").integer(), 1);
    // What is there already may be used, though it is larger.
    assert_eq!(client.run("CF.EXISTS large 1").integer(), 1);
    assert_eq!(client.run("CF.DEL large 1").integer(), 1);
    client.good("CONFIG SET coua.key-memory-limit 0");
    assert!(!client.call(&[b"RESTORE".as_slice(), b"f", b"0", dump.bytes()]).is_error());
}

/// Nothing comes in beyond the limit, from either module.
fn limit_of_memory_of_what_is_loaded(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    let own =
        zoo::keys().into_iter().map(|key| client.good(&format!("DUMP {key}")).bytes().to_vec());
    let peers = golden::filters();
    let dumps: Vec<_> = own.chain(peers.iter().filter_map(|filter| filter.dump.clone())).collect();
    client.good("FLUSHALL");
    let restore = |client: &mut Client, dump: &[u8]| {
        let reply = client.call(&[b"RESTORE".as_slice(), b"f", b"0", dump]);
        client.good("DEL f");
        reply
    };
    client.good("CONFIG SET coua.key-memory-limit 1");
    for (number, dump) in dumps.iter().enumerate() {
        assert!(restore(&mut client, dump).is_error(), "dump {number}");
    }
    for (position, header) in peers.iter().filter_map(|filter| filter.chunks.first()) {
        let command = [b"CF.LOADCHUNK".as_slice(), b"f", position.as_bytes(), header];
        assert!(client.call(&command).is_error(), "{position}");
        assert_eq!(client.run("EXISTS f").integer(), 0);
    }
    client.good("CONFIG SET coua.key-memory-limit 0");
    for (number, dump) in dumps.iter().enumerate() {
        assert_eq!(restore(&mut client, dump).to_string(), "+OK", "dump {number}");
    }
}

/// A server does not lose keys because its limit is lower than it was.
fn limit_of_memory_and_what_was_before(kind: Kind) {
    let mut server = Server::with(kind, &["--appendonly", "yes", "--appendfsync", "always"]);
    let mut client = server.client();
    zoo::fill(&mut client);
    crate::keeping::rewrite(&mut client);
    zoo::insert(&mut client, "grown", 20_000..30_000);
    let before = client.good("DEBUG DIGEST");
    client.good("CONFIG SET coua.key-memory-limit 1000");
    client.good("DEBUG RELOAD");
    assert_eq!(client.good("DEBUG DIGEST"), before);
    server.add_options(&["--coua.key-memory-limit", "1000"]);
    server.restart();
    let mut client = server.client();
    let limit = client.good("CONFIG GET coua.key-memory-limit").to_string();
    assert_eq!(limit, r#"["coua.key-memory-limit" "1000"]"#);
    assert_eq!(client.good("DEBUG DIGEST"), before);
}

/// What grew under a limit can be restored and copied under the same limit.
fn what_a_server_accepted_can_be_restored(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CONFIG SET coua.key-memory-limit 100000");
    client.good(&zoo::with_items("CF.MADD g", 0..200_000));
    client.good("CF.RESERVE copies 2000 HASHBITS 64");
    for _ in 0..20 {
        zoo::insert(&mut client, "copies", 0..2_500);
    }
    for key in ["g", "copies"] {
        let size = client.good(&format!("CF.INFO {key} Size")).integer();
        client.good(&format!("CONFIG SET coua.key-memory-limit {size}"));
        let dump = client.good(&format!("DUMP {key}"));
        let reply = client.call(&[b"RESTORE".as_slice(), b"other", b"0", dump.bytes()]);
        assert_eq!(reply.to_string(), "+OK", "{key}: {size}");
        client.good("DEL other");
        for chunk in crate::chunks::scan(&mut client, key) {
            let reply = crate::chunks::load(&mut client, "other", &chunk);
            assert_eq!(reply.to_string(), "+OK", "{key}: {size}");
        }
        client.good("DEL other");
    }
}

/// What may be created may be restored and loaded: the limit is of memory, and images are longer or
/// shorter than that.
fn what_may_be_created_may_be_loaded(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for command in [
        "CF.RESERVE f 4",
        "CF.RESERVE f 1024",
        "CF.RESERVE f 100000 EXPANSION 0",
        "CF.RESERVE f 1000000",
    ] {
        client.good("CONFIG SET coua.key-memory-limit 0");
        client.good(command);
        let size = client.good("CF.INFO f Size").integer();
        let dump = client.good("DUMP f");
        let chunks = crate::chunks::scan(&mut client, "f");
        for (limit, fits) in [(size, true), (size - 1, false)] {
            client.good(&format!("CONFIG SET coua.key-memory-limit {limit}"));
            client.good("DEL f");
            let restored = client.call(&[b"RESTORE".as_slice(), b"f", b"0", dump.bytes()]);
            assert_eq!(!restored.is_error(), fits, "{command}, {limit}: {restored}");
            client.good("DEL f");
            let load = |chunk| !crate::chunks::load(&mut client, "f", chunk).is_error();
            assert_eq!(chunks.iter().all(load), fits, "{command}, {limit}: loaded");
            client.good("DEL f");
            assert_eq!(!client.run(command).is_error(), fits, "{command}, {limit}: created");
        }
        client.good("DEL f");
    }
}

/// As much as their memory is, though each of them has pages of its own in an image.
fn many_generations_may_be_loaded(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 16 WINDOWITEMS 4000 GENERATIONS 100");
    zoo::insert(&mut client, "w", 0..5_000);
    let chunks = crate::chunks::scan(&mut client, "w");
    let dump = client.good("DUMP w");
    let restored = |client: &mut Client| {
        client.good("DEL f");
        let reply = client.call(&[b"RESTORE".as_slice(), b"f", b"0", dump.bytes()]);
        !reply.is_error()
    };
    assert!(restored(&mut client));
    let size = client.good("CF.INFO f Size").integer();
    for (limit, fits) in [(size, true), (size - 1, false)] {
        client.good(&format!("CONFIG SET coua.key-memory-limit {limit}"));
        assert_eq!(restored(&mut client), fits, "{limit}");
        client.good("DEL f");
        let load = |chunk| !crate::chunks::load(&mut client, "f", chunk).is_error();
        assert_eq!(chunks.iter().all(load), fits, "{limit}: loaded");
    }
}

/// What needs memory is refused by the server; what needs none is not.
fn a_server_without_memory(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.INSERT f ITEMS a b");
    client.good("CONFIG SET maxmemory 1");
    for command in [
        "CF.RESERVE g 1000",
        "CF.ADD f a",
        "CF.ADDNX f a",
        "CF.INSERT f ITEMS a",
        "CF.INSERTNX f ITEMS a",
        "CF.MADD f a",
        "CF.MERGE g f",
        "CF.LOADCHUNK g 1 x",
    ] {
        let reply = client.run(command).to_string();
        assert!(reply.starts_with("-OOM "), "{command}: {reply}");
    }
    for command in ["CF.EXISTS f a", "CF.COUNT f a", "CF.DEL f a", "CF.COMPACT f", "CF.INFO f"] {
        client.good(command);
    }
}

/// A few bytes do not take what the server may not have, or what the machine has not got.
fn nothing_is_created_beyond_the_servers_memory(kind: Kind) {
    let header = |buckets: u64, filters: u64| {
        let fields = [1, buckets, 0, filters].map(u64::to_le_bytes).concat();
        [fields.as_slice(), &[1, 0, 20, 0, 1, 0]].concat()
    };
    let server = Server::start(kind);
    let mut client = server.client();
    for limit in ["100mb", "0"] {
        client.good(&format!("CONFIG SET maxmemory {limit}"));
        let before = used(&mut client);
        let reply = client.call(&[b"CF.LOADCHUNK".as_slice(), b"f", b"1", &header(1 << 32, 31)]);
        assert_eq!(reply.to_string(), "-ERR Insufficient memory to create filter", "{limit}");
        assert!(used(&mut client) - before < 1 << 20);
    }
    client.good("CONFIG SET maxmemory 100mb");
    let reply = client.run("CF.RESERVE f 1000000000").to_string();
    assert_eq!(reply, "-ERR Insufficient memory to create filter");
    let reply = client.call(&[b"CF.LOADCHUNK".as_slice(), b"f", b"1", &header(1 << 20, 31)]);
    assert_eq!(reply.to_string(), "+OK");
    client.good("SET s x");
}

/// As the server refuses what its own types would take; but a replica takes what its primary took.
fn nothing_grows_beyond_the_servers_memory(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE c 1000");
    zoo::insert(&mut client, "c", 0..10_000);
    let all = used(&mut client) + (2 << 20);
    client.good(&format!("CONFIG SET maxmemory {all}"));
    let mut refused = false;
    for start in (0..20_000_000).step_by(20_000) {
        let items = start..start + 20_000;
        let reply = client.run(&zoo::with_items("CF.MADD c", items.clone())).to_string();
        assert!(used(&mut client) < all + (1 << 20), "{}", used(&mut client) - all);
        if reply.contains("OOM command not allowed when used memory > 'maxmemory'.") {
            refused = true;
            break;
        }
        let there = client.good(&zoo::with_items("CF.MEXISTS c", items)).to_string();
        assert!(!there.contains(":0"), "an accepted item is missing");
    }
    assert!(refused, "the filter takes more than there is");
    // What is there answers, and room that is left is used.
    client.good(&zoo::with_items("CF.MEXISTS c", 0..1_000));
    client.good("DEL c");
    client.good("CONFIG SET maxmemory-policy allkeys-lru");
    client.good("CF.ADD c x");
}

/// The filter that a merge makes is beside the old one for a while.
fn nothing_is_merged_beyond_the_servers_memory(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for key in ["one", "two"] {
        let seed = "SEED 000102030405060708090a0b0c0d0e0f";
        client.good(&format!("CF.RESERVE {key} 4000000 {seed}"));
        client.good(&format!("CF.ADD {key} {key}"));
    }
    let before = zoo::digest(&mut client, "one");
    let all = used(&mut client) + (8 << 20);
    client.good(&format!("CONFIG SET maxmemory {all}"));
    for command in ["CF.MERGE one two", "CF.MERGE new two"] {
        let reply = client.run(command).to_string();
        assert!(reply.starts_with("-OOM "), "{command}: {reply}");
        assert!(client.info_number("memory", "used_memory_peak") < all, "{command}");
    }
    assert_eq!(zoo::digest(&mut client, "one"), before);
    client.good("CONFIG SET maxmemory 0");
    client.good("CF.MERGE one two");
    assert_eq!(client.good("CF.MEXISTS one one two").to_string(), "[:1 :1]");
}

/// Two growing filters of the library, as images: one keeps its rate for 20,000 items, one has few hash bits.
fn images() -> [Vec<u8>; 2] {
    let hasher = KeyHasher::SipHash13 { key: [7; 16] };
    let builder = || CuckooFilter::builder().capacity(1_000).hasher(hasher);
    let sloping = builder().hash_bits(40).max_items(20_000).when_full(WhenFull::ExceedRate);
    let hints = Hints { bucket_size: 2, max_iterations: 20, expansion: 1 };
    [sloping, builder().hash_bits(20)].map(|builder| {
        let head = Head { body: Body::Filter, hasher, hints, removed: 0, note_bytes: 0 };
        let mut image = head.encode();
        image.extend(encode_notes(&[]));
        builder.build().unwrap().write_to(&mut image).unwrap();
        image
    })
}

fn what_passes_its_rate_or_is_full_for_lack_of_bits_is_told(kind: Kind) {
    const PASSED: &str =
        "key sloping in database 0 has so many items that its error rate rises: it is 1";
    let server = Server::start(kind);
    let mut client = server.client();
    for (key, image) in ["sloping", "coarse"].iter().zip(images()) {
        crate::chunks::load(&mut client, key, &((image.len() + 1).to_string(), image));
    }
    zoo::insert(&mut client, "sloping", 0..20_000);
    assert!(!server.log().contains(PASSED));
    zoo::insert(&mut client, "sloping", 20_000..40_000);
    assert_eq!(server.log().matches(PASSED).count(), 1);
    client.good("CF.MERGE merged sloping");
    assert!(server.log().contains("key merged in database 0 has so many items"));
    client.good(&zoo::with_items("CF.MADD coarse", 0..300_000));
    let items = client.good("CF.INFO coarse ITEMS").integer();
    assert!((65_536..150_000).contains(&items), "{items}");
    let reply = client.run("CF.ADD coarse another");
    assert!(
        reply.to_string().starts_with("-ERR the filter is full: it lacks hash bits"),
        "{reply}"
    );
    assert_eq!(client.good("CF.INSERT coarse ITEMS another").to_string(), "[:-1]");
}

/// Neither by refusals, whether its table is full or too large, nor by copies of one item.
fn a_small_filter_does_not_stall_the_server(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE full 4096 EXPANSION 0");
    for _ in 0..4 {
        zoo::insert(&mut client, "full", 0..1_024);
    }
    client.good("CF.RESERVE limited 100");
    zoo::insert(&mut client, "limited", 0..4_096);
    let bytes: u64 = client.good("MEMORY USAGE limited").to_string()[1..].parse().unwrap();
    client.good(&format!("CONFIG SET coua.key-memory-limit {}", bytes + 1_000));
    let copies = vec!["a"; 4_096].join(" ");
    client.good(&format!("CF.MADD copies {copies}"));
    let begun = Instant::now();
    let others: Vec<_> = (5_000..15_000).map(|number| number.to_string()).collect();
    for key in ["full", "limited"] {
        let refused = client.good(&format!("CF.MADD {key} {}", others.join(" ")));
        let is_refused = |it: &Value| it.is_error() || it.to_string() == ":-1";
        assert!(refused.elements().iter().all(is_refused), "{key}");
    }
    let asked = vec!["a"; 100_000].join(" ");
    let found = client.good(&format!("CF.MEXISTS copies {asked}")).to_string();
    assert_eq!(found.matches('1').count(), 100_000);
    // A millisecond for each refusal, and 0.1 for each lookup, would be 30 s.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // What a removal makes room for is taken.
    client.good("CF.DEL full 5");
    assert_eq!(client.good("CF.ADD full 5").to_string(), ":1");
}
