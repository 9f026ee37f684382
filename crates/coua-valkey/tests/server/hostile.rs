//! What an enemy sends: the server answers, and lives.

use xxhash_rust::xxh3::xxh3_64;

use crate::client::Client;
use crate::golden;
use crate::payload::{Parts, body, sealed};
use crate::resp::Value;
use crate::server::{Kind, Server};
use crate::zoo;

on_both!(
    truncated_dumps,
    changed_dumps,
    changed_windows_with_right_checksums,
    changed_lists_with_right_checksums,
    a_list_that_is_not_sorted,
    damaged_dump_files,
    a_damaged_filter_in_a_dump_file,
    a_merge_of_a_damaged_filter,
    positions_out_of_range,
    a_million_items_at_once,
    large_items,
    #[ignore = "takes gigabytes of memory"]
    the_largest_item,
);

/// Restores all of them at once, uses what was restored, and sees that the server lives.
pub(crate) fn restore_all(client: &mut Client, payloads: &[Vec<u8>]) -> Vec<Value> {
    let mut restored = Vec::new();
    for some in payloads.chunks(500) {
        let commands: Vec<_> = some
            .iter()
            .flat_map(|payload| {
                [
                    vec![b"RESTORE".as_slice(), b"f", b"0", payload],
                    vec![b"CF.INFO", b"f"],
                    vec![b"CF.MEXISTS", b"f", b"a", b"b"],
                    vec![b"CF.ADD", b"f", b"c"],
                    vec![b"CF.DEL", b"f", b"a"],
                    vec![b"CF.SCANDUMP", b"f", b"0"],
                    vec![b"DUMP", b"f"],
                    vec![b"DEL", b"f"],
                ]
            })
            .collect();
        let replies = client.pipeline(&commands);
        restored.extend(replies.into_iter().step_by(8));
    }
    assert_eq!(client.run("PING").to_string(), "+PONG");
    restored
}

/// Dumps of filters in all conditions, small enough to change every byte.
pub(crate) fn small_dumps(client: &mut Client) -> Vec<Vec<u8>> {
    for command in [
        "CF.INSERT few ITEMS a b b c",
        "CF.NOTE few name value",
        "CF.RESERVE fixed 64 EXPANSION 0",
        "CF.MADD fixed 1 2 3 4 5 6",
        "CF.RESERVE copies 64",
        "CF.MADD copies a a a a a a a a a a a a a a b",
        "CF.RESERVE empty 64",
    ] {
        client.good(command);
    }
    let keys = ["few", "fixed", "copies", "empty"];
    let dumps = keys.map(|key| body(client.good(&format!("DUMP {key}")).bytes()).to_vec());
    client.good("FLUSHALL");
    dumps.into()
}

fn truncated_dumps(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for dump in small_dumps(&mut client) {
        let cut: Vec<_> = (0..dump.len()).map(|end| sealed(&dump[..end])).collect();
        for (end, reply) in restore_all(&mut client, &cut).iter().enumerate() {
            assert!(reply.is_error(), "the first {end} of {} bytes", dump.len());
        }
        let whole = [sealed(&dump)];
        assert_eq!(restore_all(&mut client, &whole)[0].to_string(), "+OK");
    }
}

/// Every byte, changed in several ways. Whether a filter comes out of it is not the point: that the
/// server lives is.
fn changed_dumps(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for dump in small_dumps(&mut client) {
        restore_all(&mut client, &changed(&dump));
    }
}

/// Filters that forget, every number of whose header and tables is changed: all that a checksum says of them is
/// right. No memory is taken that the bytes do not justify.
fn changed_windows_with_right_checksums(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 16 WINDOWITEMS 90 GENERATIONS 3");
    zoo::insert(&mut client, "w", 0..100);
    let mut image = Vec::new();
    for chunk in crate::chunks::scan(&mut client, "w") {
        image.extend_from_slice(&chunk.1);
    }
    assert_eq!(restore_all(&mut client, &[payload_of(&image)])[0].to_string(), "+OK");
    let [first, overflow] = [88, 96].map(|at| u64_at(&image, SNAPSHOT + at) as usize + SNAPSHOT);
    let numbers = (0..first).chain(overflow..image.len());
    let change = |at: usize, by: u8| {
        let mut changed = image.clone();
        changed[at] ^= by;
        seal(&mut changed);
        payload_of(&changed)
    };
    let before = client.info_number("memory", "used_memory_peak");
    let all: Vec<_> = numbers.flat_map(|at| [0x01, 0x80, 0xff].map(|by| change(at, by))).collect();
    let replies = restore_all(&mut client, &all);
    let restored = replies.iter().filter(|reply| !reply.is_error()).count();
    assert!((1..all.len() / 2).contains(&restored), "{restored} of {}", all.len());
    let taken = client.info_number("memory", "used_memory_peak") - before;
    assert!(taken < 32 << 20, "{taken} bytes");
}

/// Every byte of a list of few items with a note, likewise.
fn changed_lists_with_right_checksums(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.INSERT few ITEMS a b b c");
    client.good("CF.NOTE few name value");
    let before = client.info_number("memory", "used_memory_peak");
    let image = client.good("CF.SCANDUMP few 0").elements()[1].bytes().to_vec();
    assert_eq!(restore_all(&mut client, &[payload_of(&image)])[0].to_string(), "+OK");
    let change = |at: usize, by: u8| {
        let mut changed = image.clone();
        changed[at] ^= by;
        seal_list(&mut changed);
        payload_of(&changed)
    };
    let all: Vec<_> =
        (0..image.len()).flat_map(|at| [0x01, 0x80, 0xff].map(|by| change(at, by))).collect();
    let replies = restore_all(&mut client, &all);
    let restored = replies.iter().filter(|reply| !reply.is_error()).count();
    assert!((1..all.len()).contains(&restored), "{restored} of {}", all.len());
    let taken = client.info_number("memory", "used_memory_peak") - before;
    assert!(taken < 32 << 20, "{taken} bytes");
}

/// A server could write such a list after one more item, but not read it.
fn a_list_that_is_not_sorted(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE two 1000 HASHBITS 24");
    client.good("CF.MADD two a b");
    let chunk = crate::chunks::scan(&mut client, "two").remove(0);
    let mut image = chunk.1;
    // Two hashes of 23 low bits, and their ranges: 1, 0, 1, 0 if each has one, 1, 1, 0, 0 if the first has both.
    let [first, second] = [0x70_0000_u64, 0x10_0000];
    let words = first | second << 23 | 0b11 << 46;
    image[80..88].copy_from_slice(&words.to_le_bytes());
    seal_list(&mut image);
    client.good("CONFIG SET loglevel notice");
    let reply = crate::chunks::load(&mut client, "forged", &(chunk.0, image.clone())).to_string();
    assert_eq!(reply, "-Couldn't load chunk!");
    assert!(restore_all(&mut client, &[payload_of(&image)])[0].is_error());
    assert!(!server.log().contains("cannot be loaded"), "clients could fill the log");
    client.good("CONFIG SET loglevel verbose");
    restore_all(&mut client, &[payload_of(&image)]);
    assert!(server.log().contains("key f in database 0 cannot be loaded"), "{}", server.log());
    // The other way round it is a list.
    let words = second | first << 23 | 0b11 << 46;
    image[80..88].copy_from_slice(&words.to_le_bytes());
    seal_list(&mut image);
    assert_eq!(restore_all(&mut client, &[payload_of(&image)])[0].to_string(), "+OK");
}

/// Puts the checksums of a list right: `image` of the library.
fn seal_list(image: &mut [u8]) {
    let notes = u64_at(image, 40) >> 32;
    let notes_end = usize::try_from(notes).map_or(usize::MAX, |notes| notes.saturating_add(64));
    put_sum(image, 0..56, 56);
    let end = image.len() - 8;
    if notes > 0 && notes_end < end - 8 {
        put_sum(image, 64..notes_end, notes_end);
        put_sum(image, notes_end + 8..end, end);
    } else {
        put_sum(image, 64..end, end);
    }
}

/// Where the snapshot begins in an image.
const SNAPSHOT: usize = 64;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

fn payload_of(image: &[u8]) -> Vec<u8> {
    Parts::of_type("MBbloomCF", 1000).string(image).string(b"").sealed()
}

fn put_sum(image: &mut [u8], covered: std::ops::Range<usize>, at: usize) {
    if let Some(bytes) = image.get(covered) {
        let sum = xxh3_64(bytes).to_le_bytes();
        image[at..at + 8].copy_from_slice(&sum);
    }
}

/// Puts the checksums right of all but the segments: docs/format.md, sections 1 and 6.
fn seal(image: &mut [u8]) {
    put_sum(image, 0..56, 56);
    put_sum(image, SNAPSHOT..SNAPSHOT + 184, SNAPSHOT + 184);
    let end = image.len() - 32;
    let offset = |at| usize::try_from(u64_at(image, SNAPSHOT + at)).ok();
    let within = |at| offset(at).map_or(end, |offset| offset.saturating_add(SNAPSHOT)).min(end);
    let parts = u64_at(image, SNAPSHOT + 60) as u32 as usize;
    let tables = offset(72).unwrap_or(end).saturating_mul(32).saturating_add(64 * parts);
    let (header, overflow) = (SNAPSHOT + 192, within(96));
    put_sum(image, header..header.saturating_add(tables), end);
    put_sum(image, overflow..end, end + 8);
    let whole = [&image[SNAPSHOT..header], &image[end..end + 16]].concat();
    image[end + 16..end + 24].copy_from_slice(&xxh3_64(&whole).to_le_bytes());
}

pub(crate) fn changed(dump: &[u8]) -> Vec<Vec<u8>> {
    let change = |at: usize, by: u8| {
        let mut changed = dump.to_vec();
        changed[at] ^= by;
        sealed(&changed)
    };
    (0..dump.len()).flat_map(|at| [0xff, 0x01, 0x80].map(|by| change(at, by))).collect()
}

/// A server on a damaged file gives up, or starts; it does not crash.
fn damaged_dump_files(kind: Kind) {
    const SAMPLES: usize = 12;
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    client.good("DEL grown exact wide emptied compacted");
    client.good("SAVE");
    let sound = std::fs::read(server.path("dump.rdb")).unwrap();
    assert!(Server::takes_dump_file(kind, &sound));
    let mut refused = 0;
    for at in (0..sound.len()).step_by(sound.len() / SAMPLES) {
        let mut changed = sound.clone();
        changed[at] ^= 0x81;
        for file in [&sound[..at], &changed] {
            refused += usize::from(!Server::takes_dump_file(kind, file));
        }
    }
    assert!(refused >= SAMPLES, "{refused}");
}

/// Stops the start, or not, as the operator wants; the log names the key, a long one by its beginning.
fn a_damaged_filter_in_a_dump_file(kind: Kind) {
    let server = Server::with(kind, &["--rdbcompression", "no"]);
    let mut client = server.client();
    client.good("SELECT 3");
    let few = &"few".repeat(400);
    for key in ["sound", few, "many"] {
        client.good(&zoo::with_items(&format!("CF.MADD {key}"), 0..100));
    }
    client.good(&zoo::with_items("CF.MADD many", 0..300_000));
    client.good(&format!("PEXPIRE {few} 100000000"));
    client.good("SAVE");
    let mut file = std::fs::read(server.path("dump.rdb")).unwrap();
    for key in [few.as_bytes(), b"\x04many"] {
        let at = file.windows(key.len()).position(|bytes| bytes == key).unwrap();
        let image = file[at..].windows(8).position(|bytes| bytes == b"CouaKey1").unwrap();
        file[at + image + 100] ^= 1;
    }
    let options = ["--rdbchecksum", "no"];
    let log = Server::refused_with_dump(kind, &options, &file);
    assert!(log.contains("in database 3 cannot be loaded: "), "{log}");
    let options = ["on-damaged", "EMPTY", "--rdbchecksum", "no"];
    let server = Server::with_dump(kind, &options, &file);
    let mut client = server.client();
    client.good("SELECT 3");
    let named = format!("{}...", &few[..100]);
    for (key, named, items) in [("sound", "sound", 100), (few, &named, 0), ("many", "many", 0)] {
        assert_eq!(client.call(&["CF.INFO", key, "ITEMS"]).integer(), items, "{key}");
        let line = format!("key {named} in database 3 cannot be loaded: ");
        let log = server.log();
        let said = log.lines().find(|it| it.contains(&line));
        assert_eq!(said.is_some_and(|it| it.ends_with("empty filter now")), items == 0, "{log}");
    }
    assert!(client.good(&format!("PTTL {few}")).integer() > 0);
    zoo::insert(&mut client, few, 0..10);
    assert_eq!(zoo::present(&mut client, few, 0..10), 10);
}

/// Commands of the append-only file merge what is damaged in its beginning: the sound filters keep and get their items.
fn a_merge_of_a_damaged_filter(kind: Kind) {
    let options = ["on-damaged", "empty", "--rdbchecksum", "no", "--rdbcompression", "no"];
    let mut server = Server::with(kind, &options);
    server.add_options(&["--appendonly", "yes", "--appendfsync", "always"]);
    server.restart();
    let mut client = server.client();
    for (key, items) in [("damaged", 0..50), ("sound", 50..100), ("into", 100..150)] {
        client.good(&format!("CF.RESERVE {key} 100 SEED {}", "07".repeat(16)));
        zoo::insert(&mut client, key, items);
    }
    crate::keeping::rewrite(&mut client);
    client.good("CF.MERGE into damaged sound");
    client.good("CF.MERGE new sound damaged");
    client.good("CF.ADD new x");
    server.stop();
    let files = std::fs::read_dir(server.path("appendonlydir")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let mut paths = paths.filter(|path| path.extension().is_some_and(|it| it == "rdb"));
    let base = paths.next().unwrap();
    let mut file = std::fs::read(&base).unwrap();
    let at = file.windows(8).position(|bytes| bytes == b"\x07damaged").unwrap();
    let image = file[at..].windows(8).position(|bytes| bytes == b"CouaKey1").unwrap();
    file[at + image + 100] ^= 1;
    std::fs::write(base, file).unwrap();
    server.restart();
    let mut client = server.client();
    for (key, items) in [("damaged", 0), ("sound", 50), ("into", 100), ("new", 51)] {
        assert_eq!(client.good(&format!("CF.INFO {key} ITEMS")).integer(), items, "{key}");
        let told = format!("key {key} in database 0 lacks the items of a source (ERR cannot merge");
        assert_eq!(server.log().contains(&told), ["into", "new"].contains(&key), "{key}");
    }
    assert_eq!(zoo::present(&mut client, "into", 50..150), 100);
    assert_eq!(zoo::present(&mut client, "new", 50..100), 50);
}

fn positions_out_of_range(kind: Kind) {
    const POSITIONS: &[&str] = &[
        "0",
        "1",
        "2",
        "-1",
        "-2",
        "38",
        "16777217",
        "4294967296",
        "9223372036854775806",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
    ];
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::cuckoo(&mut client);
    for chunk in &golden::filters()[0].chunks {
        client.call(&[b"CF.LOADCHUNK".as_slice(), b"peer", chunk.0.as_bytes(), &chunk.1]);
    }
    for position in POSITIONS {
        for key in [&["peer", "new"], zoo::CUCKOO].concat() {
            client.run(&format!("CF.SCANDUMP {key} {position}"));
            for data in [b"".as_slice(), b"x", &[0; 38], &[0xff; 64], &[0xff; 5_000]] {
                let command = [b"CF.LOADCHUNK", key.as_bytes(), position.as_bytes(), data];
                let reply = client.call(&command);
                // Only what it is asked to overwrite with its own length could be taken.
                assert!(
                    reply.is_error() || key == "peer" || key == "new",
                    "{key} {position}: {reply}"
                );
            }
            if key == "new" {
                client.good("DEL new");
            }
        }
    }
    assert_eq!(client.run("PING").to_string(), "+PONG");
}

fn a_million_items_at_once(kind: Kind) {
    const ITEMS: u32 = 1_000_000;
    let server = Server::start(kind);
    let mut client = server.client();
    let all = |client: &mut Client, command: &str, expected: i64| {
        let reply = client.good(&zoo::with_items(command, 0..ITEMS));
        let wrong = reply.elements().iter().filter(|&reply| reply.integer() != expected).count();
        // As many as the rate of a filter for which none was asked.
        assert!(wrong <= ITEMS as usize / 100, "{command}: {wrong}");
    };
    all(&mut client, "CF.INSERT f ITEMS", 1);
    all(&mut client, "CF.MEXISTS f", 1);
    all(&mut client, "CF.INSERTNX f ITEMS", 0);
    all(&mut client, "CF.MCOUNT f", 1);
    all(&mut client, "CF.MDEL f", 1);
    all(&mut client, "CF.MADD f", 1);
}

fn large_items(kind: Kind) {
    item_of(kind, 32 << 20);
}

fn the_largest_item(kind: Kind) {
    item_of(kind, 512 << 20);
}

fn item_of(kind: Kind, bytes: usize) {
    let server = Server::start(kind);
    let mut client = server.client();
    let item = vec![b'x'; bytes];
    let shorter = &item[1..];
    for command in ["CF.ADD", "CF.EXISTS", "CF.COUNT"] {
        let reply = client.call(&[command.as_bytes(), b"large", &item]);
        assert_eq!(reply.integer(), 1, "{command}");
    }
    assert_eq!(client.call(&[b"CF.EXISTS".as_slice(), b"large", shorter]).integer(), 0);
    assert_eq!(client.call(&[b"CF.DEL".as_slice(), b"large", &item]).integer(), 1);
    // As a key, an option, and a chunk, too.
    client.call(&[b"CF.ADD".as_slice(), &item, b"a"]);
    assert!(client.call(&[b"CF.RESERVE".as_slice(), b"f", &item]).is_error());
    assert!(client.call(&[b"CF.LOADCHUNK".as_slice(), b"f", b"1", &item]).is_error());
    assert_eq!(client.run("PING").to_string(), "+PONG");
}
