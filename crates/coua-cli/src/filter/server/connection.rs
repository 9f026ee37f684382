//! A connection to one server, with limits, and its errors: the server may send anything, or nothing.
//!
//! The connections of the `redis` crate have no limits, and its parser buffers a reply until it is complete: a server
//! that sends without end would take all memory, and one that sends a byte now and then would block the program
//! forever. So this module has its own connection, from which the crate's parser reads. The parser itself limits the
//! nesting of replies (100) and the memory allocated before elements arrive (4096 of them).

use super::address::Address;
use crate::terminal::{caught_signal, printable};
use redis::{Cmd, ErrorKind, Parser, RedisError, ServerErrorKind, Value};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
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
}

/// A byte stream with limits.
pub(super) struct BoundedStream {
    transport: Transport,
    /// How long a reply may take.
    answering: Duration,
}

enum Transport {
    Plain(BoundedSocket),
    Encrypted(Box<StreamOwned<ClientConnection, BoundedSocket>>),
}

impl fmt::Debug for BoundedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedStream").finish_non_exhaustive()
    }
}

impl BoundedStream {
    /// Connects to a node, with TLS if the address says so.
    pub(super) fn open(address: &Address, node: &Node) -> io::Result<Self> {
        let answering = ANSWERING.min(address.patience.max(HICCUP));
        let socket = connect(node)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TURN))?;
        socket.set_write_timeout(Some(TURN))?;
        let limited = BoundedSocket { socket, time: answering, left: u64::MAX };
        let transport = if address.has_tls() {
            Transport::Encrypted(Box::new(StreamOwned::new(tls(node)?, limited)))
        } else {
            Transport::Plain(limited)
        };
        Ok(Self { transport, answering })
    }

    /// Sends all bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.limit(u64::MAX, self.answering + time_for(bytes.len() as u64));
        let stream: &mut dyn Write = match &mut self.transport {
            Transport::Plain(stream) => stream,
            Transport::Encrypted(stream) => stream,
        };
        stream.write_all(bytes)?;
        stream.flush()
    }

    /// A reader for a reply of at most `most_bytes` bytes.
    pub(super) fn reply(&mut self, most_bytes: u64) -> &mut dyn Read {
        self.limit(most_bytes, self.answering + time_for(most_bytes));
        match &mut self.transport {
            Transport::Plain(stream) => stream,
            Transport::Encrypted(stream) => stream,
        }
    }

    fn limit(&mut self, most_bytes: u64, time: Duration) {
        let limited = match &mut self.transport {
            Transport::Plain(stream) => stream,
            Transport::Encrypted(stream) => &mut stream.sock,
        };
        (limited.left, limited.time) = (most_bytes, time);
    }
}

/// How long a transfer of `bytes` may take, beyond the time for any reply.
fn time_for(bytes: u64) -> Duration {
    Duration::from_secs(bytes / SLOWEST)
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
        loop {
            if self.time.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let begin = Instant::now();
            let result = act(&self.socket);
            self.time = self.time.saturating_sub(begin.elapsed().min(TURN));
            match result {
                Err(error) if is_wait(&error) => self.check_cancelled(),
                result => return result,
            }
        }
    }

    /// Shortens the wait for a silent server if the program is to stop.
    fn check_cancelled(&mut self) {
        if caught_signal().is_some() {
            self.time = self.time.min(HICCUP);
        }
    }
}

/// Whether the error is only a timeout or an interruption.
fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
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

/// The names of a command that only this module has: other servers and modules have most of its CF.*. Beside another
/// module with CF.*, its commands are COUA.*.
const OWN_COMMANDS: [&str; 2] = ["COUA.MDEL", "CF.MDEL"];

const NO_MODULE: &str = "the server lacks the module coua (its commands CF.*): start it with \
                         --loadmodule coua-valkey.so";

const NO_REPLY: &str = "the server sent something that is not a Valkey or Redis reply";

/// The most bytes of a reply. Replies about keys and filters have a few kB.
pub(super) const MOST_BYTES: u64 = 64 << 10;
/// The most bytes of a reply to CLUSTER SLOTS, with each slot a separate range with a replica.
pub(super) const MOST_BYTES_OF_SLOTS: u64 = 4 << 20;
/// The most characters of a server's text in a message.
const MOST_WORDS: usize = 300;

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

impl LinkError {
    fn of(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io if error.is_timeout() => Self::Lost("no answer".to_owned()),
            ErrorKind::Io => Self::Lost(plain(&error.to_string())),
            ErrorKind::Parse => Self::Lost(NO_REPLY.to_owned()),
            ErrorKind::Server(kind) => Self::of_server(kind, error, text_of(error)),
            ErrorKind::Extension if error.code() == Some("BUSY") => Self::NotNow(text_of(error)),
            _ => Self::Refused(text_of(error)),
        }
    }

    fn of_io(error: io::Error) -> Self {
        Self::of(&RedisError::from(error))
    }

    fn of_server(kind: ServerErrorKind, error: &RedisError, text: String) -> Self {
        match kind {
            ServerErrorKind::Moved => Self::Moved,
            ServerErrorKind::Ask => match error.redirect_node().and_then(|(at, _)| node(at)) {
                Some(node) => Self::Ask(node),
                None => Self::Moved,
            },
            ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly
            | ServerErrorKind::TryAgain => Self::NotNow(text),
            _ if text.starts_with("unknown command") => Self::Refused(NO_MODULE.to_owned()),
            // Sent with or without "+ cluster connections". The server then closes the connection.
            _ if text.starts_with("max number of clients") => Self::NotNow(text),
            _ => Self::Refused(text),
        }
    }
}

/// The text of a server's error.
fn text_of(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some("ERR"), Some(detail)) => shown(detail),
        (Some(code), Some(detail)) => shown(&format!("{code} {detail}")),
        (Some(code), None) => shown(code),
        _ => shown(&error.to_string()),
    }
}

/// An error text of the operating system or of TLS, in common words.
fn plain(text: &str) -> String {
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None if text == "unexpected end of file" => "the connection was closed".to_owned(),
        None => text.to_owned(),
    }
}

/// A server's text without characters that control a terminal.
fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MOST_WORDS).map(|(end, _)| end);
    let shown = printable(&text[..end.unwrap_or(text.len())]);
    if end.is_some() { format!("{shown} ...") } else { shown.into_owned() }
}

/// `host:port`, where the host may contain colons, or be missing.
fn node(text: &str) -> Option<Node> {
    let (host, port) = text.rsplit_once(':')?;
    Some(Node { host: host.to_owned(), port: port.parse().ok()? })
}

/// A connection that sends commands in pipelines.
pub(super) struct Connection {
    stream: BoundedStream,
    parser: Parser,
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
        let stream = BoundedStream::open(address, node).map_err(LinkError::of_io)?;
        let mut connection = Self { stream, parser: Parser::new(), prefix: "" };
        connection.log_in(address)?;
        connection.send_name()?;
        if address.database != 0 {
            connection.call(redis::cmd("SELECT").arg(address.database))?;
        }
        let known = connection.call(redis::cmd("COMMAND").arg("INFO").arg(&OWN_COMMANDS))?;
        let known = if let Value::Array(known) = known { known } else { Vec::new() };
        let own = known.iter().zip(OWN_COMMANDS).find(|(told, _)| matches!(told, Value::Array(_)));
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
        let command = redis::cmd("AUTH").arg(user).arg(password.unwrap_or_default()).to_owned();
        match self.call(&command) {
            Err(LinkError::Refused(text)) => {
                Err(LinkError::Refused(format!("authentication failed: {text}")))
            }
            other => other.map(drop),
        }
    }

    /// Names this client for CLIENT LIST. Older servers may not know the command, and users may not be allowed to use
    /// it.
    fn send_name(&mut self) -> Result<(), LinkError> {
        for (what, is) in [("LIB-NAME", "coua"), ("LIB-VER", env!("CARGO_PKG_VERSION"))] {
            match self.call(redis::cmd("CLIENT").arg("SETINFO").arg(what).arg(is)) {
                // The server accepts no client from this host, and closes the connection.
                Err(LinkError::Refused(text)) if text.starts_with("DENIED") => {
                    return Err(LinkError::Refused(text));
                }
                Ok(_) | Err(LinkError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends commands in the encoding of the protocol.
    pub(super) fn send(&mut self, commands: &[u8]) -> Result<(), LinkError> {
        self.stream.send(commands).map_err(LinkError::of_io)
    }

    /// The reply to the oldest command without one.
    pub(super) fn receive(&mut self) -> Result<Value, LinkError> {
        self.receive_at_most(MOST_BYTES)
    }

    /// The reply, of at most `bytes`, to the oldest command without one.
    pub(super) fn receive_at_most(&mut self, bytes: u64) -> Result<Value, LinkError> {
        let reply = self.parser.parse_value(self.stream.reply(bytes));
        reply.and_then(Value::extract_error).map_err(|error| LinkError::of(&error))
    }

    /// Sends a command and returns its reply.
    pub(super) fn call(&mut self, command: &Cmd) -> Result<Value, LinkError> {
        self.call_for(command, MOST_BYTES)
    }

    /// Sends a command and returns its reply, of at most `bytes`.
    pub(super) fn call_for(&mut self, command: &Cmd, bytes: u64) -> Result<Value, LinkError> {
        self.send(&command.get_packed_command())?;
        self.receive_at_most(bytes)
    }
}

/// A command that waits for its reply.
#[derive(Debug)]
pub(super) struct Request {
    /// The slot of its key.
    pub(super) slot: u16,
    /// The command in the encoding of the protocol.
    pub(super) command: Vec<u8>,
    /// The most bytes of the reply.
    pub(super) most_bytes: u64,
    /// The command was sent, and its reply was lost: it may have been executed already.
    pub(super) in_doubt: bool,
    /// The command was sent and not executed: later ones may have overtaken it.
    pub(super) was_refused: bool,
    /// The position of the first key among the arguments, if the first of equal keys must get the 1.
    pub(super) first_key: Option<usize>,
    /// The node that has the key while its slot moves.
    pub(super) asked_at: Option<Node>,
    pub(super) is_sent: bool,
    /// The reply, or why the server refused the command.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Request {
    pub(super) fn new(slot: u16, command: Vec<u8>) -> Self {
        Self {
            slot,
            command,
            most_bytes: MOST_BYTES,
            in_doubt: false,
            was_refused: false,
            first_key: None,
            asked_at: None,
            is_sent: false,
            reply: None,
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.reply.is_none() && !self.is_sent
    }

    /// The keys, if the order of equal keys matters.
    pub(super) fn keys(&self) -> Vec<Vec<u8>> {
        let Some(first) = self.first_key else { return Vec::new() };
        let Ok(Value::Array(words)) = redis::parse_redis_value(&self.command) else {
            return Vec::new();
        };
        let word = |word| if let Value::BulkString(word) = word { Some(word) } else { None };
        words.into_iter().skip(first).filter_map(word).collect()
    }

    /// The numbers of the reply.
    pub(super) fn numbers(&mut self) -> &mut [Value] {
        match &mut self.reply {
            Some(Ok(Value::Array(numbers))) => numbers,
            _ => &mut [],
        }
    }

    /// Records that the connection was lost before the reply arrived.
    pub(super) fn lose(&mut self) {
        self.in_doubt = true;
        self.is_sent = false;
        self.asked_at = None;
    }

    /// Receives the reply, or why the server refused the command.
    pub(super) fn receive(
        &self,
        connection: &mut Connection,
    ) -> Result<Result<Value, String>, LinkError> {
        let may_ask = match &self.asked_at {
            Some(_) => connection.receive().map(drop),
            None => Ok(()),
        };
        if let Err(error @ LinkError::Lost(_)) = may_ask {
            return Err(error);
        }
        // The reply arrives whether ASKING was refused or not.
        match connection.receive_at_most(self.most_bytes) {
            Ok(reply) => Ok(Ok(reply)),
            Err(LinkError::Refused(text)) => Ok(Err(text)),
            // A refused ASKING explains the redirection.
            Err(LinkError::Moved) => Err(may_ask.err().unwrap_or(LinkError::Moved)),
            Err(error) => Err(error),
        }
    }
}
