//! A connection to one server, in the protocol RESP 2, with limits: the server may send anything, or nothing.
//!
//! A server that sends without end would take all memory, and one that sends a byte now and then would block the program
//! forever. So each reply has limits of bytes and of time.

use super::address::Address;
use crate::terminal::message::reason;
use crate::terminal::{caught_signal, printable};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::iter::{once, zip};
use std::net::{TcpStream, ToSocketAddrs};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server that does not accept a connection within this time is unreachable.
const CONNECTING: Duration = Duration::from_secs(10);
/// A server that does not reply within this time is unreachable: no command here takes a second.
const ANSWERING: Duration = Duration::from_secs(20);
/// A reply may always take this long, even with a shorter `retry` or after a signal.
const HICCUP: Duration = Duration::from_secs(5);
/// The longest single wait; after each the program checks for signals.
const TURN: Duration = Duration::from_millis(500);
/// The time that a server gets for each byte, however slow the line.
const PER_BYTE: Duration = Duration::from_micros(30);
/// The time that a server gets to prepare a long reply, for each byte that it may have.
const BEFORE_BYTE: Duration = Duration::from_nanos(10);
/// The most bytes of a reply: that to CLUSTER SLOTS, with each slot a separate range with a replica. Replies about keys
/// and filters have a few kB.
pub(super) const MOST_BYTES: u64 = 4 << 20;
/// The most characters of a server's text in a message.
const MOST_WORDS: usize = 300;

const NO_MODULE: &str = "the server lacks the module coua (its commands CF.*): start it with \
                         --loadmodule coua-valkey.so";

/// The time left. It counts while the program waits, not while it is stopped: replies that arrived meanwhile must not be
/// lost.
type TimeLeft = Rc<Cell<Duration>>;

/// A socket with a limit on the time to wait.
#[derive(Debug)]
struct BoundedSocket {
    socket: TcpStream,
    left: TimeLeft,
}

impl BoundedSocket {
    /// Reads or writes in short waits. The socket's own timeout lets the system end a wait at any signal, also one that
    /// only asks for the progress.
    fn in_turns(
        &mut self,
        mut act: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            // Once the program is to stop, it does not wait long for a silent server.
            let most = if caught_signal().is_some() { HICCUP } else { Duration::MAX };
            let left = self.left.get().min(most);
            if left.is_zero() {
                return Err(TimedOut.into());
            }
            let begin = Instant::now();
            let result = act(&self.socket);
            let more = PER_BYTE.mul_f64(*result.as_ref().unwrap_or(&0) as f64);
            self.left.set((left + more).saturating_sub(begin.elapsed().min(TURN)));
            match result {
                Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {}
                result => return result,
            }
        }
    }
}

impl Read for BoundedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.in_turns(|mut socket| socket.read(buffer))
    }
}

impl Write for BoundedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_turns(|mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A socket, encrypted or not.
trait Transport: Read + Write + fmt::Debug {}

impl<T: Read + Write + fmt::Debug> Transport for T {}

/// Connects to a node, with TLS if the address says so. Tries all addresses of a host name.
fn connect(address: &Address, node: &str, left: TimeLeft) -> io::Result<Box<dyn Transport>> {
    let mut socket = Err(io::ErrorKind::AddrNotAvailable.into());
    for place in node.to_socket_addrs()? {
        socket = socket.or_else(|_: io::Error| TcpStream::connect_timeout(&place, CONNECTING));
    }
    let socket = socket?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TURN))?;
    socket.set_write_timeout(Some(TURN))?;
    let socket = BoundedSocket { socket, left };
    if matches!(address.scheme.as_str(), "valkeys" | "rediss") {
        return Ok(Box::new(StreamOwned::new(tls(node)?, socket)));
    }
    Ok(Box::new(socket))
}

/// A TLS session that trusts the system's certificates.
fn tls(node: &str) -> io::Result<ClientConnection> {
    let host = node.rsplit_once(':').map_or(node, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be read or parsed are not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(io::Error::other(
            "the system has no trusted certificates; set SSL_CERT_FILE to a file of them",
        ));
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}

/// Why a command has no reply.
#[derive(Debug)]
pub(super) enum LinkError {
    /// The connection is lost: the command may have been executed or not.
    Lost(String),
    /// The command was not executed, but may be soon.
    NotNow(String),
    /// The command was not executed: another node has the key. If the key's slot is just moving, this is the node.
    Moved(Option<String>),
    /// The command was not executed, and never will be.
    Refused(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(text) | Self::NotNow(text) | Self::Refused(text) => f.write_str(text),
            Self::Moved(_) => f.write_str("the cluster is moving keys"),
        }
    }
}

/// A lost connection, in common words.
impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        Self::Lost(match error.kind() {
            io::ErrorKind::TimedOut => "no answer".to_owned(),
            io::ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
            _ => reason(&error),
        })
    }
}

impl LinkError {
    /// A server's error.
    fn of(text: &str) -> Self {
        // The beginning, without characters that control a terminal.
        let said = text.strip_prefix("ERR ").unwrap_or(text).chars().take(MOST_WORDS);
        let said = printable(&said.collect::<String>());
        let words: Vec<_> = text.splitn(3, ' ').collect();
        match words[..] {
            ["ASK", _, node] => Self::Moved(Some(node.to_owned())),
            ["MOVED" | "ASK", ..] => Self::Moved(None),
            ["BUSY" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "TRYAGAIN", ..] => {
                Self::NotNow(said)
            }
            // Sent with or without "+ cluster connections". The server then closes the connection.
            _ if said.starts_with("max number of clients") => Self::NotNow(said),
            _ => Self::Refused(said),
        }
    }
}

/// A connection that sends commands in pipelines.
#[derive(Debug)]
pub(super) struct Connection {
    stream: BufReader<Box<dyn Transport>>,
    /// How long a reply may take.
    answering: Duration,
    /// The time left for the current reply.
    left: TimeLeft,
    /// When a command was sent last.
    used: Instant,
    /// How the names of the module's commands begin.
    pub(super) prefix: &'static str,
    /// The places of the requests that wait for a reply.
    pub(super) waiting: VecDeque<usize>,
}

impl Connection {
    /// Connects to this node as the address says; the node must have the module.
    pub(super) fn open(address: &Address, node: &str) -> Result<Self, LinkError> {
        let answering = ANSWERING.min(address.patience.max(HICCUP));
        let left = Rc::new(Cell::new(answering));
        let stream = BufReader::new(connect(address, node, left.clone())?);
        let (prefix, waiting, used) = ("", VecDeque::new(), Instant::now());
        let mut connection = Self { stream, answering, left, used, prefix, waiting };
        if !address.login.is_empty() {
            let login = once("AUTH").chain(address.login.iter().map(String::as_str));
            connection.call(&login.collect::<Vec<_>>())?;
        }
        // A server with too many clients answers the first command only: this one, which may be lost. Other servers and
        // modules lack MDEL. Beside another module with CF.*, the commands are COUA.*.
        let known = connection.call(&["COMMAND", "INFO", "COUA.MDEL", "CF.MDEL"])?;
        let mut known = zip(known.elements().unwrap_or_default(), ["COUA.", "CF."]);
        let own = known.find(|(info, _)| info.elements().is_some());
        connection.prefix = own.ok_or_else(|| LinkError::Refused(NO_MODULE.to_owned()))?.1;
        Ok(connection)
    }

    /// Whether the server has closed this idle connection: a command sent there would get no reply.
    pub(super) fn is_closed(&mut self) -> bool {
        let is_idle = self.used.elapsed() > TURN && self.waiting.is_empty();
        is_idle && matches!(self.call(&["PING"]), Err(LinkError::Lost(_)))
    }

    /// Sends encoded commands.
    pub(super) fn send(&mut self, commands: &[u8]) -> Result<(), LinkError> {
        self.left.set(self.answering);
        self.used = Instant::now();
        self.stream.get_mut().write_all(commands)?;
        Ok(self.stream.get_mut().flush()?)
    }

    /// The reply, of at most `most_bytes`, to the oldest command without one.
    pub(super) fn receive(&mut self, most_bytes: u64) -> Result<Value, LinkError> {
        // A reply that may be longer may also take longer to begin.
        let longer = most_bytes.saturating_sub(MOST_BYTES) as f64;
        self.left.set(self.answering + BEFORE_BYTE.mul_f64(longer));
        let mut input = (&mut self.stream).take(most_bytes);
        match Value::read(&mut input, DEEPEST) {
            Ok(Value::Error(text)) => Err(LinkError::of(&text)),
            Err(_) if input.limit() == 0 => {
                let text = "the server sends more than the reply to the command";
                Err(LinkError::Lost(text.to_owned()))
            }
            reply => Ok(reply?),
        }
    }

    /// Sends a command and returns its reply.
    pub(super) fn call(&mut self, words: &[&str]) -> Result<Value, LinkError> {
        self.send(&encode(words))?;
        self.receive(MOST_BYTES)
    }
}

/// Replies nest no deeper: CLUSTER SLOTS has four levels.
const DEEPEST: u32 = 8;
/// Elements for which memory is reserved before they arrive.
const ROOM: usize = 4096;
const NO_REPLY: &str = "the server sent something that is not a Valkey or Redis reply";

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Nil,
    Int(i64),
    Text(Vec<u8>),
    Error(String),
    Array(Vec<Self>),
}

impl Value {
    /// Reads a reply with at most `deeper` levels of arrays. Memory grows with the bytes that arrive.
    fn read(input: &mut impl BufRead, deeper: u32) -> io::Result<Self> {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        if line.first().is_some_and(|kind| !b"+-:$*".contains(kind)) {
            return Err(no_reply());
        }
        read?;
        let Some([kind, rest @ ..]) = line.strip_suffix(b"\r\n") else {
            return Err(if line.ends_with(b"\n") { no_reply() } else { end() });
        };
        let text = str::from_utf8(rest);
        let number = || text.ok().and_then(|text| text.parse().ok()).ok_or_else(no_reply);
        let length = || u64::try_from(number()?).map_err(|_| no_reply());
        match kind {
            b'+' if text.is_ok() => Ok(Self::Text(rest.into())),
            b'-' => Ok(Self::Error(String::from_utf8_lossy(rest).into_owned())),
            b':' => number().map(Self::Int),
            b'$' | b'*' if rest == b"-1" => Ok(Self::Nil),
            b'$' => read_text(input, length()?.saturating_add(2)),
            b'*' if deeper > 0 => {
                let count = length()?;
                let mut elements = Vec::with_capacity(ROOM.min(count as usize));
                for _ in 0..count {
                    elements.push(Self::read(input, deeper - 1)?);
                }
                Ok(Self::Array(elements))
            }
            _ => Err(no_reply()),
        }
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> Option<&[Self]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The value of a field in an array of names and values.
    pub(super) fn field(&self, wanted: &str) -> Option<&Self> {
        let mut fields = self.elements()?.chunks_exact(2);
        let has_name = |field: &&[Self]| field[0].text() == Some(wanted.as_bytes());
        fields.find(has_name).map(|field| &field[1])
    }

    pub(super) fn int(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    pub(super) fn text(&self) -> Option<&[u8]> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// Reads a text of `length` bytes, with the line end behind it.
fn read_text(input: &mut impl BufRead, length: u64) -> io::Result<Value> {
    let mut text = Vec::new();
    if input.take(length).read_to_end(&mut text)? as u64 != length {
        return Err(end());
    }
    if !text.ends_with(b"\r\n") {
        return Err(no_reply());
    }
    text.truncate(text.len() - 2);
    Ok(Value::Text(text))
}

fn no_reply() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NO_REPLY)
}

fn end() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// Encodes a command: an array of texts.
pub(super) fn encode(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words.iter().map(AsRef::as_ref) {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Value, io::ErrorKind> {
        Value::read(&mut &bytes[..], DEEPEST).map_err(|error| error.kind())
    }

    #[test]
    fn replies_are_read_and_nothing_else_is() {
        let text = |text: &str| Value::Text(text.into());
        let all = b"*6\r\n:-7\r\n$-1\r\n$3\r\na\r\n\r\n+OK\r\n*0\r\n*-1\r\n";
        let array = vec![
            Value::Int(-7),
            Value::Nil,
            text("a\r\n"),
            text("OK"),
            Value::Array(Vec::new()),
            Value::Nil,
        ];
        assert_eq!(read(all), Ok(Value::Array(array)));
        for end in 0..all.len() {
            assert_eq!(read(&all[..end]), Err(io::ErrorKind::UnexpectedEof), "{end}");
        }
        let deep = b"*1\r\n".repeat(100);
        let wrong: [&[u8]; 9] = [
            b"\r\n",
            b"x",
            b":1\n",
            b":x\r\n",
            b"$-2\r\n",
            b"$x\r\n",
            b"$1\r\nabc",
            b"*-7\r\n",
            &deep,
        ];
        for wrong in wrong {
            let found = read(wrong);
            assert_eq!(found, Err(io::ErrorKind::InvalidData), "{}", wrong.escape_ascii());
        }
        // Nothing is reserved for what has not arrived.
        for large in ["*9223372036854775807\r\n", "$9223372036854775807\r\n"] {
            assert_eq!(read(large.as_bytes()), Err(io::ErrorKind::UnexpectedEof));
        }
        let error = Value::Array(vec![Value::Int(1), Value::Error("ERR x".to_owned())]);
        assert_eq!(read(b"*2\r\n:1\r\n-ERR x\r\n"), Ok(error));
    }

    #[test]
    fn a_command_is_an_array_of_texts() {
        let command: [&[u8]; 4] = [b"CF.ADD", b"key", b"", &[0xff, b'\r']];
        assert_eq!(
            encode(&command),
            b"*4\r\n$6\r\nCF.ADD\r\n$3\r\nkey\r\n$0\r\n\r\n$2\r\n\xff\r\r\n"
        );
    }
}
