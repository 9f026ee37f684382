//! Dumps and headers of the peer that claim what is not so: they have no checksum of their own.

use crate::chunks::scan;
use crate::client::Client;
use crate::golden;
use crate::hostile::{changed, restore_all};
use crate::payload::{Parts, body, sealed};
use crate::resp::Value;
use crate::server::{Kind, Server};

on_both!(
    unknown_encodings,
    dumps_of_the_peer_that_lie,
    changed_dumps_of_the_peer,
    headers_of_the_peer_that_lie,
    beginnings_of_filters_that_are_none,
);

/// Guessing would be worse than refusing.
fn unknown_encodings(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for encoding in [5, 6, 99, 999, 1001, 1023] {
        let payload = Parts::of_type("MBbloomCF", encoding).unsigned(1).string(&[0; 64]).sealed();
        let reply = client.call(&[b"RESTORE".as_slice(), b"f", b"0", &payload]);
        assert!(reply.is_error(), "{encoding}");
    }
    assert_eq!(client.run("PING").to_string(), "+PONG");
}

const LARGE: [u64; 7] = [0, 1, 255, 65_536, 1 << 32, 1 << 63, u64::MAX];

/// A cuckoo filter of the peer as it would be, with one number after the other another.
fn dumps_of_the_peer_that_lie(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    // Sub-filters, buckets, items, deletions, bucket size, iterations, expansion, buckets again.
    let sound = [1, 32, 3, 0, 2, 20, 1, 32];
    let slots = [0u8; 64];
    let make = |numbers: [u64; 8], length: u64| {
        let parts = Parts::of_type("MBbloomCF", 4);
        let parts = numbers.iter().fold(parts, |parts, &number| parts.unsigned(number));
        parts.string_said_to_be(length, &slots).sealed()
    };
    let mut payloads = vec![make(sound, 64)];
    for at in 0..sound.len() {
        for number in LARGE {
            let mut numbers = sound;
            numbers[at] = number;
            payloads.push(make(numbers, 64));
        }
    }
    payloads.extend(LARGE.map(|length| make(sound, length)));
    // Numbers that agree with each other, and with nothing else.
    for buckets in LARGE {
        payloads.push(make([1, buckets, 3, 0, 2, 20, 1, buckets], buckets.wrapping_mul(2)));
        payloads.push(make([buckets, 32, 3, 0, 2, 20, 2, 32], 64));
    }
    let replies = restore_all(&mut client, &payloads);
    assert_eq!(replies[0].to_string(), "+OK");
    let refused = replies.iter().filter(|reply| reply.is_error()).count();
    assert!(refused > replies.len() / 2, "{refused} of {}", replies.len());
}

/// Real dumps of the peer, every byte changed: they have no checksum of their own.
fn changed_dumps_of_the_peer(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for filter in golden::filters() {
        let Some(dump) = filter.dump.filter(|dump| dump.len() < 600) else { continue };
        let dump = body(&dump);
        restore_all(&mut client, &changed(dump));
        // A dump that lacks less than the ten bytes behind it is read on in those.
        let cut: Vec<_> = (0..dump.len() - 10).map(|end| sealed(&dump[..end])).collect();
        let replies = restore_all(&mut client, &cut);
        assert!(replies.iter().all(Value::is_error), "{}", filter.name);
    }
}

/// CVE-2024-25116, CVE-2024-53993 and their like: headers that claim what nobody has memory for.
fn headers_of_the_peer_that_lie(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let header = |numbers: [u64; 4], sizes: [u16; 3]| {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
        bytes
    };
    let load = |client: &mut Client, bytes: &[u8]| {
        let reply = client.call(&[b"CF.LOADCHUNK".as_slice(), b"f", b"1", bytes]);
        for command in ["CF.ADD f a", "CF.EXISTS f a", "CF.DEL f a", "CF.SCANDUMP f 1", "DUMP f"] {
            client.run(command);
        }
        for position in ["2", "65", "9223372036854775807"] {
            client.call(&[b"CF.LOADCHUNK".as_slice(), b"f", position.as_bytes(), &[1; 64]]);
        }
        client.good("DEL f");
        reply
    };
    let (numbers, sizes) = ([3, 32, 0, 1], [2, 20, 1]);
    assert_eq!(load(&mut client, &header(numbers, sizes)).to_string(), "+OK");
    for length in 0..38 {
        assert!(load(&mut client, &header(numbers, sizes)[..length]).is_error());
    }
    for at in 0..4 {
        for number in LARGE {
            let mut numbers = numbers;
            numbers[at] = number;
            load(&mut client, &header(numbers, sizes));
            load(&mut client, &header(numbers, [65_535; 3]));
        }
    }
    for number in [0, 1, 255, 256, 65_535] {
        for at in 0..3 {
            let mut sizes = sizes;
            sizes[at] = number;
            load(&mut client, &header(numbers, sizes));
        }
    }
    assert_eq!(client.run("PING").to_string(), "+PONG");
}

/// A rewritten append-only file could not load them again.
fn beginnings_of_filters_that_are_none(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD whole a");
    let (_, whole) = &scan(&mut client, "whole")[0];
    let cut = &whole[..whole.len() - 1];
    client.call(&[b"CF.LOADCHUNK", &b"cut"[..], whole.len().to_string().as_bytes(), cut]);
    let dump = client.run("DUMP cut");
    let magic = b"CouaPart";
    let start = dump.bytes().windows(magic.len()).position(|it| it == magic).unwrap() + magic.len();
    for (flipped, is_good) in [(0, true), (1, false), (255, false)] {
        let mut payload = body(dump.bytes()).to_vec();
        payload[start] ^= flipped;
        let payload = sealed(&payload);
        let reply = client.call(&[b"RESTORE".as_slice(), b"f", b"0", &payload, b"REPLACE"]);
        assert_eq!(!reply.is_error(), is_good, "{reply}");
    }
}
