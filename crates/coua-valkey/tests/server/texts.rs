//! All texts of the module on one page, `tests/texts.txt`: what each command says of itself, an example of it, and each
//! error. They come from the module in a running server; what no example brings about, from its source.

use std::fmt::Write as _;
use std::fs;

use crate::client::Client;
use crate::resp::Value;
use crate::script::is_like;
use crate::server::{Kind, Server};
use crate::windows::now;

on_both!(the_page_of_texts_is_true);

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/texts.txt");
const ERRORS: &str = include_str!("../../src/error.rs");

/// An example of every command, which build on each other.
const EXAMPLES: &str = "
    CF.RESERVE seen 1000 ERROR 0.001 SEED 000102030405060708090a0b0c0d0e0f
    CF.ADD seen a
    CF.ADDNX seen a
    CF.MADD seen b c
    CF.INSERT seen NOCREATE ITEMS d
    CF.INSERTNX new CAPACITY 100 ITEMS a b a
    CF.EXISTS seen a
    CF.MEXISTS seen a x
    CF.COUNT seen a
    CF.MCOUNT seen a x
    CF.DEL seen a
    CF.MDEL seen b x
    CF.MERGE all seen
    CF.COMPACT seen
    CF.RESERVE week 1000 WINDOW 7d
    CF.ADVANCE week LATER
    CF.NOTE seen owner me
    CF.NOTE seen owner you NX
    CF.INFO seen FULL
    CF.INFO seen NOTES
    CF.INFO seen ITEMS
    CF.DEBUG seen
    CF.SCANDUMP seen 0
    CF.LOADCHUNK copy 1 CHUNK
";

/// Commands that are refused, each for another reason.
const REFUSED: &str = "
    CF.ADD seen
    CF.ADD text a
    CF.RESERVE seen 1000
    CF.INFO none
    CF.DEL none a
    CF.RESERVE f x
    CF.RESERVE f 1
    CF.RESERVE f 1000 BUCKETSIZE x
    CF.RESERVE f 1000 BUCKETSIZE 256
    CF.RESERVE f 1000 HASHBITS x
    CF.RESERVE f 1000 HASHBITS 65
    CF.RESERVE f 1000 ERROR 1
    CF.RESERVE f 1000 ERROR 1e-18
    CF.RESERVE f 1000 SEED 1
    CF.RESERVE f 1000 WINDOW 7
    CF.RESERVE f 1000 WINDOW 1ms
    CF.RESERVE f 1000 GENERATIONS 4
    CF.RESERVE f 1000 ERROR 0.1 HASHBITS 20
    CF.RESERVE f 1000 EXPANSION 1 EXPANSION 2
    CF.RESERVE f 1000 BUCKETS 4
    CF.RESERVE f 4 EXPANSION 0
    CF.MADD f a b c d
    CF.ADD f e
    CF.MERGE week seen
    CF.MERGE seen new
    CF.ADVANCE seen 4102444800000
    CF.ADVANCE week x
    CF.ADVANCE week 4102444800000
    CF.NOTE none owner me
    CF.NOTE seen owner me XX
    CF.NOTE seen \"\" me
    CF.NOTE seen owner LONG
    CF.SCANDUMP seen x
    CF.SCANDUMP changed POSITION
    CF.LOADCHUNK f2 1 x
    CF.LOADCHUNK f2 2 x
    CF.LOADCHUNK odd 1 HEADER
    CF.LOADCHUNK large 1 HEADER
    CF.LOADCHUNK peer 9999 x
    CF.INFO half
    CF.ADD limited a
    CONFIG SET coua.cf-max-expansions 1
    CF.ADD peer a
    CF.MERGE all peer
";

/// What the examples need, and what is not to be seen on the page.
fn prepare(client: &mut Client) {
    client.good("SET text a");
    client.good("CF.RESERVE source 10000");
    let reply = client.good("CF.SCANDUMP source 0");
    let half = &reply.elements()[1].bytes()[..1_000];
    let end = (half.len() + 1).to_string();
    client.call(&[b"CF.LOADCHUNK".as_slice(), b"half", end.as_bytes(), half]);
    client.call(&[b"CF.LOADCHUNK".as_slice(), b"peer", b"1", &header(512)]);
}

/// How RedisBloom's chunks begin, of a filter with so many buckets of two.
fn header(buckets: u64) -> [u8; 38] {
    let mut header = [0; 38];
    header[8..16].copy_from_slice(&buckets.to_le_bytes());
    header[24] = 1;
    [header[32], header[34], header[36]] = [2, 20, 1];
    header
}

/// The reply to an example. Numbers that differ from run to run are filled in here.
fn replied(client: &mut Client, line: &str) -> String {
    if line.ends_with("CHUNK") {
        let reply = client.good("CF.SCANDUMP seen 0");
        let [position, chunk] = reply.elements() else { panic!("{reply}") };
        let key = line.split(' ').nth(1).unwrap();
        let position = position.integer().to_string();
        let parts = [b"CF.LOADCHUNK", key.as_bytes(), position.as_bytes(), chunk.bytes()];
        return client.call(&parts).to_string();
    }
    if let Some(begin) = line.strip_suffix("HEADER") {
        let buckets = if line.contains("odd") { 513 } else { 1 << 30 };
        let header = header(buckets);
        let parts: Vec<_> =
            begin.split_whitespace().map(str::as_bytes).chain([&header[..]]).collect();
        client.good("CONFIG SET coua.key-memory-limit 0");
        client.good("CONFIG SET maxmemory 100mb");
        let reply = client.call(&parts).to_string();
        client.good("CONFIG SET maxmemory 0");
        return reply;
    }
    if let Some(begin) = line.strip_suffix("LATER") {
        return client.run(&format!("{begin}{}", now() + 86_400_000)).to_string();
    }
    if let Some(begin) = line.strip_suffix("LONG") {
        return client.run(&(begin.to_owned() + &"x".repeat(4096))).to_string();
    }
    if line.ends_with("POSITION") {
        client.good("CF.ADD changed a");
        let position = client.good("CF.SCANDUMP changed 0").elements()[0].integer();
        client.good("CF.ADD changed b");
        return client.run(&format!("CF.SCANDUMP changed {position}")).to_string();
    }
    if line.contains("limited") {
        client.good("CF.RESERVE limited 100");
        client.good("CONFIG SET coua.key-memory-limit 85");
        let reply = client.run(line).to_string();
        client.good("CONFIG SET coua.key-memory-limit 0");
        return reply;
    }
    let reply = client.run(line);
    if line.contains("SCANDUMP") && !reply.is_error() {
        return "[position chunk]".to_owned();
    }
    reply.to_string()
}

fn summary(client: &mut Client, name: &str) -> String {
    let docs = client.good(&format!("COMMAND DOCS {name}"));
    let fields = docs.elements()[1].elements();
    let found = fields.chunks(2).find(|pair| pair[0].bytes() == b"summary");
    String::from_utf8(found.unwrap()[1].bytes().to_vec()).unwrap()
}

/// Errors as the source has them, with a star for what is filled in.
fn patterns() -> Vec<String> {
    let all = ERRORS.split("#[error(").skip(1).map(|rest| {
        let text = rest.split('"').nth(1).expect("a text");
        let mut pattern = String::new();
        let mut inside = false;
        for letter in text.chars() {
            match letter {
                '{' => inside = true,
                '}' => {
                    inside = false;
                    pattern.push('*');
                }
                letter if !inside => pattern.push(letter),
                _ => {}
            }
        }
        pattern
    });
    all.collect()
}

fn the_page_of_texts_is_true(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    prepare(&mut client);
    let mut page = "All texts of the module. `tests/server/texts.rs` compares them, and rewrites this page if \
                    COUA_WRITE_TEXTS is set.\n\nCommands\n"
        .to_owned();
    let mut last = "";
    for line in EXAMPLES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let name = line.split(' ').next().unwrap();
        if name != last {
            writeln!(page, "\n{name}: {}", summary(&mut client, name)).unwrap();
            last = name;
        }
        writeln!(page, "  > {line}\n  {}", replied(&mut client, line)).unwrap();
    }
    page.push_str("\nErrors\n\n");
    let mut seen = Vec::new();
    for line in REFUSED.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let reply = replied(&mut client, line);
        writeln!(page, "> {line}\n{reply}").unwrap();
        seen.push(reply.trim_start_matches('-').to_owned());
    }
    let rest = patterns();
    let rest = rest.iter().filter(|pattern| !seen.iter().any(|text| is_like(text, pattern)));
    page.push_str("\nErrors without an example\n\n");
    rest.for_each(|pattern| writeln!(page, "{pattern}").unwrap());
    // Every command has an example.
    let all = client.good("COMMAND LIST FILTERBY MODULE coua");
    for name in all.elements() {
        let Value::Bulk(name) = name else { panic!("{name}") };
        let name = String::from_utf8(name.to_ascii_uppercase()).unwrap();
        assert!(page.contains(&format!("\n{name}: ")), "{name} has no example");
    }
    if std::env::var_os("COUA_WRITE_TEXTS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(PAGE).unwrap();
    let differing = page.lines().zip(written.lines()).find(|(now, then)| now != then);
    assert!(page == written, "{differing:?} (COUA_WRITE_TEXTS=1 writes the page anew)");
}
