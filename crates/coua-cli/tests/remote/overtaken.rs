//! Commands that are refused, and executed after later ones.

use crate::fake::{command, good};
use crate::server::{Kind, Server};
use crate::support::{Folder, run};
use coua_dev::cases::sample;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufReader, Read, Write};
use std::mem;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

on_both!(a_server_that_is_a_replica_now_and_then_gives_the_first_of_equal_records);

/// The fate of a command about records.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Done,
    Refused,
    /// Refused, unless ASKING precedes it.
    Moving,
    /// Executed, but the connection ends before the answer.
    Lost,
}

/// A server with a filter `s`.
#[derive(Debug)]
struct Filter {
    mode: &'static str,
    /// By the number of the command.
    fate: fn(usize) -> Fate,
    /// The refusal, in which `PORT` is replaced by the server's own.
    refusal: &'static str,
    commands: usize,
    items: HashSet<Vec<u8>>,
}

/// Starts the server, which runs as long as the test program. Returns its port.
fn start(mode: &'static str, refusal: &'static str, fate: fn(usize) -> Fate) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let filter = Filter { mode, fate, refusal, commands: 0, items: HashSet::new() };
    let filter = Arc::new(Mutex::new(filter));
    thread::spawn(move || {
        for client in listener.incoming() {
            let filter = filter.clone();
            // A client may close the connection.
            thread::spawn(move || serve(&client.unwrap(), &filter).ok());
        }
    });
    port
}

fn serve(client: &TcpStream, filter: &Mutex<Filter>) -> std::io::Result<()> {
    let (mut commands, mut replies) = (BufReader::new(client), client);
    let port = client.local_addr()?.port();
    let mut is_asking = false;
    loop {
        let words = command(&mut commands)?;
        let was_asking = mem::replace(&mut is_asking, words[0] == b"ASKING");
        let mut filter = filter.lock().unwrap();
        if words[0] != b"CF.INSERTNX" && words[0] != b"CF.MDEL" {
            replies.write_all(&good(&words, filter.mode, port))?;
            continue;
        }
        filter.commands += 1;
        let fate = (filter.fate)(filter.commands);
        if matches!(fate, Fate::Refused) || (matches!(fate, Fate::Moving) && !was_asking) {
            write!(replies, "-{}\r\n", filter.refusal.replace("PORT", &port.to_string()))?;
            continue;
        }
        let answer = answer(&mut filter.items, &words);
        if let Fate::Lost = fate {
            drop(filter);
            client.shutdown(Shutdown::Write)?;
            commands.read_to_end(&mut Vec::new())?;
            return Ok(());
        }
        replies.write_all(answer.as_bytes())?;
    }
}

fn answer(items: &mut HashSet<Vec<u8>>, words: &[Vec<u8>]) -> String {
    let inserts = words[0] == b"CF.INSERTNX";
    let asked = if inserts { &words[4..] } else { &words[2..] };
    let mut answer = format!("*{}\r\n", asked.len());
    for item in asked {
        let is_one = if inserts { items.insert(item.clone()) } else { items.remove(item) };
        write!(answer, ":{}\r\n", u8::from(is_one)).unwrap();
    }
    answer
}

/// 100,000 lines of 24 bytes, several blocks, with near and far repeats of keys.
fn records() -> String {
    let mut text = String::new();
    for line in 0..100_000_u64 {
        let key = line % 700 + line / 10_000 * 350;
        writeln!(text, "{key:08},{line:014}").unwrap();
    }
    text
}

/// The first line of every key.
fn firsts(text: &str) -> String {
    let mut seen = HashSet::new();
    text.split_inclusive('\n').filter(|line| seen.insert(&line[..8])).collect()
}

const KEY: [&str; 4] = ["-k", "1", "-t", ","];

/// It is unknown which of these refusals will recur, or how often.
const REFUSALS: [(&str, &str); 7] = [
    ("standalone", "READONLY You can't write against a read only replica."),
    ("standalone", "LOADING server is loading the dataset in memory"),
    ("standalone", "BUSY a script is running"),
    ("cluster", "CLUSTERDOWN The cluster is down"),
    ("cluster", "TRYAGAIN Multiple keys request during rehashing of slot"),
    ("cluster", "MOVED 1 127.0.0.1:PORT"),
    ("cluster", "ASK 1 127.0.0.1:PORT"),
];

#[test]
fn of_equal_records_the_first_is_printed_whatever_is_refused() {
    let (folder, text) = (Folder::new(), records());
    let file = folder.file("in", &text);
    let one_in_five = |number| if number % 5 == 1 { Fate::Refused } else { Fate::Done };
    let the_first = |number| if number < 3 { Fate::Refused } else { Fate::Done };
    for (mode, refusal) in sample(REFUSALS, [3, 1]) {
        for fate in [one_in_five, the_first] {
            let at = format!("valkey://127.0.0.1:{}/s", start(mode, refusal, fate));
            let done =
                run([&["dedup", "-q", "-j", "3", "--filter", &at, &file], &KEY[..]].concat());
            assert!(done.good() == firsts(&text).as_bytes(), "{refusal}");
        }
    }
}

/// A request that overtook the refused one may have inserted its key.
#[test]
fn no_first_record_is_lost_if_those_that_overtook_are_in_doubt() {
    let (folder, text) = (Folder::new(), records());
    let file = folder.file("in", &text);
    let fate = |number| match number {
        1 | 2 | 30 => Fate::Refused,
        4 | 31 => Fate::Lost,
        _ => Fate::Done,
    };
    let (mode, refusal) = REFUSALS[0];
    let at = format!("valkey://127.0.0.1:{}/s", start(mode, refusal, fate));
    let done = run([&["dedup", "-q", "-j", "3", "--filter", &at, &file], &KEY[..]].concat());
    let printed = done.text();
    let printed: HashSet<&str> = printed.split_inclusive('\n').collect();
    let (all, firsts) = (text.split_inclusive('\n').collect(), firsts(&text));
    assert!(printed.is_subset(&all));
    let missing = firsts.split_inclusive('\n').filter(|line| !printed.contains(line)).count();
    assert_eq!(missing, 0, "first records of a key");
}

/// Nodes may report only a port, without a host.
#[test]
fn a_node_without_a_name_is_where_the_one_is_that_names_it() {
    let (folder, text) = (Folder::new(), records());
    let file = folder.file("in", &text);
    let fate = |number| if number < 50 { Fate::Moving } else { Fate::Done };
    for refusal in ["ASK 1 :PORT", "ASK 1 ?:PORT"] {
        let at = format!("valkey://127.0.0.1:{}/s?retry=0", start("cluster", refusal, fate));
        let done = run([&["dedup", "--filter", &at, &file], &KEY[..]].concat());
        assert!(done.good() == firsts(&text).as_bytes(), "{refusal}");
    }
}

fn a_server_that_is_a_replica_now_and_then_gives_the_first_of_equal_records(kind: Kind) {
    let server = Server::start(kind);
    let at = format!("valkey://127.0.0.1:{}/seen?shards=2", server.port());
    let (folder, text) = (Folder::new(), records().repeat(4));
    let file = folder.file("in", &text);
    let is_done = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            while !is_done.load(Ordering::Relaxed) {
                client.good("REPLICAOF 127.0.0.1 1");
                thread::sleep(Duration::from_micros(500));
                client.good("REPLICAOF NO ONE");
                thread::sleep(Duration::from_millis(5));
            }
        });
        let done = run([&["dedup", "-q", "--filter", &at, &file], &KEY[..]].concat());
        is_done.store(true, Ordering::Relaxed);
        done
    });
    assert!(done.good() == firsts(&text).as_bytes());
}
