//! A connection to one server, with limits, and its errors: the server may send anything, or nothing.
//!
//! A server that sends without end would take all memory, and one that sends a byte now and then would block the program
//! forever. So each reply has limits of bytes and of time.

use super::protocol::{ServerCommand, Value};
use crate::filter::Address;
use crate::terminal::{caught_signal, printable};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
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
/// The fewest bytes per second that a server may send or receive, however slow the line.
const SLOWEST: u64 = 32 << 10;
/// The most bytes of a reply. Replies about keys and filters have a few kB.
pub(super) const MOST_BYTES: u64 = 256 << 10;
/// The most characters of a server's text in a message.
const MOST_WORDS: usize = 300;

/// The names of a command that only this module has: other servers and modules have most of its CF.*. Beside another
/// module with CF.*, its commands are COUA.*.
const OWN_COMMANDS: [&str; 2] = ["COUA.MDEL", "CF.MDEL"];

const NO_MODULE: &str = "the server lacks the module coua (its commands CF.*): start it with \
                         --loadmodule coua-valkey.so";

/// One server, possibly of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Node {
    /// A node reported without a host has the host of the node that reported it.
    pub(super) fn told_by(self, teller: &Self) -> Self {
        let is_known = !matches!(self.host.as_str(), "" | "?");
        if is_known { self } else { Self { host: teller.host.clone(), ..self } }
    }

    /// `host:port`, where the host may contain colons, or be missing.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A socket with limits on the bytes to read and on the time to wait.
struct BoundedSocket {
    socket: TcpStream,
    /// The time left. It counts while the program waits, not while it is stopped: replies that arrived meanwhile must
    /// not be lost.
    time: Duration,
    left: u64,
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
            if self.time.is_zero() {
                return Err(TimedOut.into());
            }
            let begin = Instant::now();
            let result = act(&self.socket);
            self.time = self.time.saturating_sub(begin.elapsed().min(TURN));
            match result {
                Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {
                    // The program is to stop: it does not wait long for a silent server.
                    let most = if caught_signal().is_some() { HICCUP } else { Duration::MAX };
                    self.time = self.time.min(most);
                }
                result => return result,
            }
        }
    }
}

impl Read for BoundedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the server sends more than the reply to the command"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.in_turns(|mut socket| socket.read(&mut buffer[..most]))?;
        self.left -= read as u64;
        Ok(read)
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
trait Transport: Read + Write {
    fn socket(&mut self) -> &mut BoundedSocket;
}

impl Transport for BoundedSocket {
    fn socket(&mut self) -> &mut BoundedSocket {
        self
    }
}

impl Transport for StreamOwned<ClientConnection, BoundedSocket> {
    fn socket(&mut self) -> &mut BoundedSocket {
        &mut self.sock
    }
}

/// Connects to a node, with TLS if the address says so.
fn stream(address: &Address, node: &Node, time: Duration) -> io::Result<Box<dyn Transport>> {
    let socket = connect(node)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TURN))?;
    socket.set_write_timeout(Some(TURN))?;
    let socket = BoundedSocket { socket, time, left: u64::MAX };
    if address.has_tls() {
        return Ok(Box::new(StreamOwned::new(tls(node)?, socket)));
    }
    Ok(Box::new(socket))
}

/// Tries all addresses of a host name.
fn connect(node: &Node) -> io::Result<TcpStream> {
    let until = Instant::now() + CONNECTING;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (node.host.as_str(), node.port).to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A TLS session that trusts the system's certificates.
fn tls(node: &Node) -> io::Result<ClientConnection> {
    let name = ServerName::try_from(node.host.clone());
    let name = name.map_err(|_| io::Error::other("the host name is not valid in a certificate"))?;
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be read or parsed are not trusted.
    let (trusted, _) =
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted == 0 {
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
    /// The command was not executed: another node has the key.
    Moved,
    /// The command was not executed: the key is moving to another node, which already has it.
    Ask(Node),
    /// The command was not executed, and never will be.
    Refused(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(text) | Self::NotNow(text) | Self::Refused(text) => f.write_str(text),
            Self::Moved | Self::Ask(_) => f.write_str("the cluster is moving keys"),
        }
    }
}

/// A lost connection, in common words.
impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        Self::Lost(match error.kind() {
            io::ErrorKind::TimedOut => "no answer".to_owned(),
            io::ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
            _ => {
                let text = error.to_string();
                text.split(" (os error ").next().unwrap_or_default().to_owned()
            }
        })
    }
}

impl LinkError {
    /// A server's error.
    fn of(text: &str) -> Self {
        let said = shown(text.strip_prefix("ERR ").unwrap_or(text));
        let words: Vec<_> = text.splitn(3, ' ').collect();
        match words[..] {
            ["MOVED", ..] => Self::Moved,
            ["ASK", _, node] => Node::parse(node).map_or(Self::Moved, Self::Ask),
            ["BUSY" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "TRYAGAIN", ..] => {
                Self::NotNow(said)
            }
            _ if said.starts_with("unknown command") => Self::Refused(NO_MODULE.to_owned()),
            // Sent with or without "+ cluster connections". The server then closes the connection.
            _ if said.starts_with("max number of clients") => Self::NotNow(said),
            _ => Self::Refused(said),
        }
    }
}

/// A server's text without characters that control a terminal.
fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MOST_WORDS).map(|(end, _)| end);
    let shown = printable(&text[..end.unwrap_or(text.len())]);
    if end.is_some() { format!("{shown} ...") } else { shown.into_owned() }
}

/// A connection that sends commands in pipelines.
pub(super) struct Connection {
    stream: BufReader<Box<dyn Transport>>,
    /// How long a reply may take.
    answering: Duration,
    /// How the names of the module's commands begin.
    pub(super) prefix: &'static str,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to this node as the address says; the node must have the module.
    pub(super) fn open(address: &Address, node: &Node) -> Result<Self, LinkError> {
        let answering = ANSWERING.min(address.patience.max(HICCUP));
        let stream = BufReader::new(stream(address, node, answering)?);
        let mut connection = Self { stream, answering, prefix: "" };
        connection.log_in(address)?;
        if address.database != 0 {
            connection.call(&ServerCommand::new("SELECT").arg(address.database.to_string()))?;
        }
        let known =
            connection.call(&ServerCommand::new("COMMAND").arg("INFO").args(OWN_COMMANDS))?;
        let known = known.elements().unwrap_or_default();
        let own = known.iter().zip(OWN_COMMANDS).find(|(told, _)| told.elements().is_some());
        let prefix = own.and_then(|(_, command)| command.strip_suffix("MDEL"));
        connection.prefix = prefix.ok_or_else(|| LinkError::Refused(NO_MODULE.to_owned()))?;
        Ok(connection)
    }

    fn log_in(&mut self, address: &Address) -> Result<(), LinkError> {
        let (user, password) = (address.user.as_deref(), address.password.as_deref());
        if user.is_none() && password.is_none() {
            return Ok(());
        }
        // Some users need no password.
        let command = ServerCommand::new("AUTH").args(user).arg(password.unwrap_or_default());
        match self.call(&command) {
            Err(LinkError::Refused(text)) => {
                Err(LinkError::Refused(format!("authentication failed: {text}")))
            }
            other => other.map(drop),
        }
    }

    fn limit(&mut self, left: u64, bytes: u64) {
        let time = self.answering + Duration::from_secs(bytes / SLOWEST);
        let socket = self.stream.get_mut().socket();
        (socket.left, socket.time) = (left, time);
    }

    /// Sends encoded commands.
    pub(super) fn send(&mut self, commands: &[u8]) -> Result<(), LinkError> {
        // A TLS session may read while it writes.
        self.limit(u64::MAX, commands.len() as u64);
        self.stream.get_mut().write_all(commands)?;
        Ok(self.stream.get_mut().flush()?)
    }

    /// The reply, of at most `bytes`, to the oldest command without one.
    pub(super) fn receive(&mut self, bytes: u64) -> Result<Value, LinkError> {
        self.limit(bytes, bytes);
        let reply = Value::read(&mut self.stream)?;
        reply.error().map(LinkError::of).map_or(Ok(()), Err)?;
        Ok(reply)
    }

    /// Sends a command and returns its reply.
    pub(super) fn call(&mut self, command: &ServerCommand) -> Result<Value, LinkError> {
        self.call_for(command, MOST_BYTES)
    }

    /// Sends a command and returns its reply, of at most `bytes`.
    pub(super) fn call_for(
        &mut self,
        command: &ServerCommand,
        bytes: u64,
    ) -> Result<Value, LinkError> {
        self.send(&command.encode())?;
        self.receive(bytes)
    }
}
