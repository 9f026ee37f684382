//! A server that behaves well until a certain command, and then sends anything.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What follows the bytes of the answer.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    /// Waits for the next command.
    GoOn,
    /// Sends these bytes over and over.
    ForEver(&'static [u8]),
    /// Sends these bytes one by one, with pauses.
    Slowly(&'static [u8]),
    Silence,
    Close,
    /// Good answers to the first `FIRST` of these commands; then closes the connection, at each attempt.
    Gone,
}

/// The commands for a block of 256 KiB with 24 bytes per line.
const FIRST: usize = 3;

/// The bad behavior, and when it begins.
#[derive(Clone, Debug)]
pub(crate) struct Manners {
    /// The beginning of the command; any command if it is empty.
    pub(crate) at: &'static str,
    pub(crate) answer: Vec<u8>,
    pub(crate) then: Then,
    /// The mode that it reports.
    pub(crate) mode: &'static str,
}

/// Starts the server, which runs as long as the test program. Returns its port.
pub(crate) fn start(manners: Manners) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let manners = Arc::new(manners);
    thread::spawn(move || {
        for client in listener.incoming() {
            let manners = manners.clone();
            // A client may close the connection.
            thread::spawn(move || serve(&client.unwrap(), &manners).ok());
        }
    });
    port
}

fn serve(client: &TcpStream, manners: &Manners) -> std::io::Result<()> {
    let mut commands = BufReader::new(client);
    let mut replies = client;
    let (mode, port) = (manners.mode, client.local_addr()?.port());
    let mut count = 0;
    loop {
        let words = command(&mut commands)?;
        if !words.join(&b' ').starts_with(manners.at.as_bytes()) {
            replies.write_all(&good(&words, mode, port))?;
            continue;
        }
        replies.write_all(&manners.answer)?;
        match manners.then {
            Then::GoOn => {}
            Then::Close => return Ok(()),
            Then::Gone if count == FIRST => return Ok(()),
            Then::Gone => {
                count += 1;
                replies.write_all(&good(&words, mode, port))?;
            }
            Then::Silence => {
                commands.read_to_end(&mut Vec::new())?;
            }
            Then::ForEver(bytes) => {
                let bytes = bytes.repeat(10_000);
                loop {
                    replies.write_all(&bytes)?;
                }
            }
            Then::Slowly(bytes) => {
                for byte in bytes.iter().cycle() {
                    replies.write_all(&[*byte])?;
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }
}

/// Reads the next command.
pub(crate) fn command(from: &mut impl BufRead) -> std::io::Result<Vec<Vec<u8>>> {
    let count = number(from)?;
    (0..count)
        .map(|_| {
            let mut word = vec![0; number(from)? + 2];
            from.read_exact(&mut word)?;
            word.truncate(word.len() - 2);
            Ok(word)
        })
        .collect()
}

fn number(from: &mut impl BufRead) -> std::io::Result<usize> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    line.trim_start_matches(['*', '$']).trim_end().parse().map_err(std::io::Error::other)
}

/// The answer of a good server: there is a filter `s`, and it is empty.
pub(crate) fn good(words: &[Vec<u8>], mode: &str, port: u16) -> Vec<u8> {
    let text = |word: &[u8]| String::from_utf8_lossy(word).to_uppercase();
    let items = |before: usize, answer| {
        let answers = words[before..].iter().map(|_| answer).collect::<String>();
        format!("*{}\r\n{answers}", words.len() - before)
    };
    let says = match text(&words[0]).as_str() {
        "COMMAND" => "*2\r\n*-1\r\n*1\r\n$7\r\ncf.mdel\r\n".to_owned(),
        "HELLO" => format!("*2\r\n$4\r\nmode\r\n${}\r\n{mode}\r\n", mode.len()),
        "CLUSTER" => format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:{port}\r\n"),
        "CF.INFO" if words[1] == b"s" => INFO.to_owned(),
        "CF.INFO" => "-ERR not found\r\n".to_owned(),
        "CF.INSERTNX" | "CF.INSERT" => items(4, ":1\r\n"),
        "CF.MEXISTS" | "CF.MCOUNT" | "CF.MDEL" => items(2, ":0\r\n"),
        _ => "+OK\r\n".to_owned(),
    };
    says.into_bytes()
}

pub(crate) const INFO: &str = "*12\r\n+Size\r\n:1024\r\n+Number of buckets\r\n:512\r\n+Number of items \
    inserted\r\n:0\r\n+Number of items deleted\r\n:0\r\n+Bucket size\r\n:2\r\n+Expansion rate\r\n:1\r\n";
