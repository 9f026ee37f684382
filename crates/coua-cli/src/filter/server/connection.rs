//! A connection to one server, with limits, and its errors: the server may send anything, or nothing.
//!
//! A server that sends without end would take all memory, and one that sends a byte now and then would block the program
//! forever. So each reply has limits of bytes and of time.

use super::address::Address;
use super::protocol::{DEEPEST, Value, encode};
use crate::terminal::message::reason;
use crate::terminal::{caught_signal, printable};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufReader, Read, Write};
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
    if address.has_tls() {
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
        let (prefix, waiting) = ("", VecDeque::new());
        let mut connection = Self { stream, answering, left, prefix, waiting };
        connection.log_in(address)?;
        // A server with too many clients answers the first command only: this one, which may be lost. Other servers and
        // modules lack MDEL. Beside another module with CF.*, the commands are COUA.*.
        let known = connection.call(&["COMMAND", "INFO", "COUA.MDEL", "CF.MDEL"])?;
        let mut known = zip(known.elements().unwrap_or_default(), ["COUA.", "CF."]);
        let own = known.find(|(info, _)| info.elements().is_some());
        connection.prefix = own.ok_or_else(|| LinkError::Refused(NO_MODULE.to_owned()))?.1;
        Ok(connection)
    }

    /// Selects the user.
    fn log_in(&mut self, address: &Address) -> Result<(), LinkError> {
        if address.login.is_empty() {
            return Ok(());
        }
        let login = once("AUTH").chain(address.login.iter().map(String::as_str));
        match self.call(&login.collect::<Vec<_>>()) {
            Err(LinkError::Refused(text)) => {
                Err(LinkError::Refused(format!("authentication failed: {text}")))
            }
            reply => reply.map(drop),
        }
    }

    /// Sends encoded commands.
    pub(super) fn send(&mut self, commands: &[u8]) -> Result<(), LinkError> {
        self.left.set(self.answering);
        self.stream.get_mut().write_all(commands)?;
        Ok(self.stream.get_mut().flush()?)
    }

    /// The reply, of at most `most_bytes`, to the oldest command without one.
    pub(super) fn receive(&mut self, most_bytes: u64) -> Result<Value, LinkError> {
        // A reply that may be longer may also take longer to begin.
        let longer = most_bytes.saturating_sub(MOST_BYTES) as f64;
        self.left.set(self.answering + PER_BYTE.mul_f64(longer));
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
