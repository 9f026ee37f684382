//! What the commands refuse, in the words of the peer.

use crate::script::{Table, check};
use crate::server::{Kind, Server};

on_both!(
    argument_counts,
    capacities,
    options,
    unknown_words,
    wrong_types,
    positions,
    long_and_binary_words,
);

/// Each command refuses what may follow it, and makes nothing of it.
fn argument_counts(kind: Kind) {
    const COMMANDS: &[(&str, &[&str])] = &[
        ("cf.reserve", &["", "f", "f 1000 bucketsize", "f 1000 expansion 2 maxiterations"]),
        ("cf.add", &["", "f", "f a b"]),
        ("cf.addnx", &["", "f", "f a b"]),
        ("cf.madd", &["", "f"]),
        (
            "cf.insert",
            &["", "f", "f items", "f nocreate", "f capacity", "f capacity 100", "f nocreate items"],
        ),
        (
            "cf.insertnx",
            &["", "f", "f items", "f nocreate", "f capacity", "f capacity 100", "f nocreate items"],
        ),
        ("cf.exists", &["", "f", "f a b"]),
        ("cf.mexists", &["", "f"]),
        ("cf.count", &["", "f", "f a b"]),
        ("cf.mcount", &["", "f"]),
        ("cf.del", &["", "f", "f a b"]),
        ("cf.mdel", &["", "f"]),
        ("cf.compact", &["", "f a"]),
        ("cf.info", &["", "f a b"]),
        ("cf.scandump", &["", "f", "f 0 0"]),
        ("cf.loadchunk", &["", "f", "f 1", "f 1 data more"]),
        ("cf.merge", &["", "f"]),
    ];
    let mut table = Table::default();
    for (command, rests) in COMMANDS {
        let refusal = format!("-ERR wrong number of arguments for '{command}' command");
        for rest in *rests {
            table.row(format_args!("{command} {rest}"), &refusal);
        }
    }
    table.row("DBSIZE", ":0");
    check(kind, table.rows());
}

fn capacities(kind: Kind) {
    const RANGE: &str = "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
    let mut table = Table::default();
    for word in [
        "x",
        "\"\"",
        "1.5",
        "1e3",
        "0x10",
        "+5",
        "05",
        "1_000",
        "99999999999999999999",
        "9223372036854775808",
    ] {
        table.row(format_args!("CF.RESERVE f {word}"), "-Bad capacity");
        table.row(format_args!("CF.INSERT f CAPACITY {word} ITEMS a"), "-Bad capacity");
        table.row(format_args!("CF.INSERTNX f CAPACITY {word} ITEMS a"), "-Bad capacity");
    }
    for number in ["-9223372036854775808", "-1", "0", "3", "1073741825", "9223372036854775807"] {
        table.row(format_args!("CF.RESERVE f {number}"), RANGE);
        table.row(format_args!("CF.INSERT f CAPACITY {number} ITEMS a"), RANGE);
        table.row(format_args!("CF.INSERTNX f CAPACITY {number} ITEMS a"), RANGE);
    }
    table.row("CF.RESERVE f 9 BUCKETSIZE 5", RANGE);
    table.row("CF.RESERVE f 509 BUCKETSIZE 255", RANGE);
    table.row("EXISTS f", ":0");
    check(kind, table.rows());
}

fn options(kind: Kind) {
    let mut table = Table::default();
    for (option, range, outside) in [
        ("BUCKETSIZE", "[1, 255]", ["0", "256", "-1"]),
        ("MAXITERATIONS", "[1, 65535]", ["0", "65536", "-9223372036854775808"]),
        ("EXPANSION", "[0, 32768]", ["-1", "32769", "9223372036854775807"]),
    ] {
        for word in ["x", "\"\"", "2.0", "1e1", "+2", "99999999999999999999"] {
            table.row(
                format_args!("CF.RESERVE f 1000 {option} {word}"),
                format_args!("-Couldn't parse {option}"),
            );
        }
        for number in outside {
            table.row(
                format_args!("CF.RESERVE f 1000 {option} {number}"),
                format_args!("-{option}: value must be in the range {range}"),
            );
        }
        table.row(
            format_args!("CF.RESERVE f 1000 {option} 2 {option} 2"),
            format_args!("-*{option}*"),
        );
    }
    for rate in ["0", "1", "-0.5", "2", "x", "nan", "inf", "1e999", "\"\""] {
        table.row(format_args!("CF.RESERVE f 1000 ERROR {rate}"), "-ERR *ERROR*");
        table.row(format_args!("CF.INSERT f ERROR {rate} ITEMS a"), "-ERR *ERROR*");
    }
    for bits in ["0", "65", "x"] {
        table.row(format_args!("CF.RESERVE f 1000 HASHBITS {bits}"), "-ERR *HASHBITS*");
    }
    for seed in ["1", "x", "000102030405060708090a0b0c0d0e0g"] {
        table.row(format_args!("CF.RESERVE f 1000 SEED {seed}"), "-*SEED*");
    }
    table.row("CF.RESERVE f 1000 ERROR 0.1 HASHBITS 20", "-*ERROR*HASHBITS*");
    table.row("EXISTS f", ":0");
    check(kind, table.rows());
}

/// Every command, with `*` for its key.
pub(crate) const CUCKOO_COMMANDS: &[&str] = &[
    "CF.RESERVE * 1000",
    "CF.ADD * a",
    "CF.ADDNX * a",
    "CF.MADD * a",
    "CF.INSERT * ITEMS a",
    "CF.INSERT * NOCREATE ITEMS a",
    "CF.INSERTNX * ITEMS a",
    "CF.EXISTS * a",
    "CF.MEXISTS * a",
    "CF.COUNT * a",
    "CF.MCOUNT * a",
    "CF.DEL * a",
    "CF.MDEL * a",
    "CF.COMPACT *",
    "CF.INFO *",
    "CF.SCANDUMP * 0",
    "CF.LOADCHUNK * 1 data",
    "CF.MERGE * f",
    "CF.MERGE f *",
];

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// The peer takes first letters, and words it does not know; here a typing error is an error.
fn unknown_words(kind: Kind) {
    check(
        kind,
        "
        CF.RESERVE f 1000 BUCKET 4 -> -*BUCKET*
        CF.RESERVE f 1000 4 -> -*4*
        CF.RESERVE f 1000 B 4 -> -*'B'*
        CF.RESERVE f 1000 NONSCALING -> -*NONSCALING*
        CF.RESERVE f 1000 EXPANSION 2 nonsense -> -*nonsense*
        CF.INSERT f C 1000 ITEMS a -> -*'C'*
        CF.INSERT f I a -> -*'I'*
        CF.INSERT f NO ITEMS a -> -*'NO'*
        CF.INSERT f a ITEMS b -> -*'a'*
        CF.INSERTNX f nonsense ITEMS b -> -*nonsense*
        EXISTS f -> :0
        ",
    );
}

fn wrong_types(kind: Kind) {
    let mut table = Table::default();
    table.row("SET s text", "+OK");
    table.row("CF.ADD f a", ":1 | #t");
    for command in CUCKOO_COMMANDS {
        let command = command.replace('*', "s");
        table.row(&command, WRONG_TYPE);
    }
    table.row("GET s", "\"text\"");
    check(kind, table.rows());
}
/// Positions of dumps that no filter has. Forged dumps have a file of their own.
fn positions(kind: Kind) {
    check(
        kind,
        "
        CF.ADD f a -> :1 | #t
        CF.SCANDUMP none 0 -> -ERR not found
        CF.SCANDUMP f x -> -Invalid position
        CF.SCANDUMP f \"\" -> -Invalid position
        CF.SCANDUMP f 1.5 -> -Invalid position
        CF.SCANDUMP f -1 -> -Invalid position
        CF.SCANDUMP f 9223372036854775808 -> -Invalid position
        CF.LOADCHUNK g x data -> -Invalid position
        CF.LOADCHUNK g 0 data -> -Invalid position
        CF.LOADCHUNK g -1 data -> -Invalid position
        CF.LOADCHUNK g 9223372036854775808 data -> -Invalid position
        CF.LOADCHUNK g 1 data -> -Invalid header
        CF.LOADCHUNK g 1 \"\" -> -Invalid header
        CF.LOADCHUNK f 1 data -> -ERR item exists
        EXISTS g -> :0
        ",
    );
}

/// An error repeats a foreign word: it must stay one line of the protocol, and a short one.
fn long_and_binary_words(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for word in [b"\r\n+OK\r\n".as_slice(), b"\0\0", b"\xff\xfe", &b"x".repeat(100_000)] {
        for command in [
            [b"CF.RESERVE".as_slice(), b"f", b"1000", word, b"1"],
            [b"CF.INSERT", b"f", word, b"ITEMS", b"a"],
            [b"CF.INSERTNX", b"f", word, b"ITEMS", b"a"],
        ] {
            let reply = client.call(&command);
            assert!(reply.is_error() && reply.to_string().len() < 500, "{reply}");
            assert_eq!(client.run("PING").to_string(), "+PONG");
        }
        assert!(client.call(&[b"CF.RESERVE".as_slice(), b"f", word]).is_error());
        assert!(client.call(&[b"CF.SCANDUMP".as_slice(), b"f", word]).is_error());
    }
    assert_eq!(client.run("EXISTS f").integer(), 0);
}
