//! Bytes to a server and back, within limits: whoever listens there may send anything, or nothing.
//!
//! The connections of the `redis` crate have no limits, and its parser keeps what it has read until a
//! reply is complete: a server that sends without end would take all memory, and one that sends a byte
//! now and then would hold the program up for ever. So the connection is ours, and the parser of the
//! crate reads from it. How deep replies may be nested (100) and how much is allocated before elements
//! have come (4096 of them) the parser limits itself.

use crate::address::Address;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server that does not take a connection within this time is away.
const CONNECTING: Duration = Duration::from_secs(10);
/// So is one that does not answer within this time: no command here takes a second.
const ANSWERING: Duration = Duration::from_secs(20);
/// As long a server may always take, however impatient the address is, or the user who wants an end.
const HICCUP: Duration = Duration::from_secs(5);
/// As long one wait takes at most: then comes a look at what the user wants.
const TURN: Duration = Duration::from_millis(500);

/// Bytes that a server takes or gives in a second, at least, over however slow a line.
const SLOWEST: u64 = 32 << 10;

/// One server, of a cluster perhaps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Node {
    /// Nodes whose host is not known are told by their port: they are where the one is that told it.
    pub(crate) fn told_by(self, teller: &Self) -> Self {
        let is_known = !matches!(self.host.as_str(), "" | "?");
        if is_known { self } else { Self { host: teller.host.clone(), ..self } }
    }
}

/// A connection.
pub(crate) struct Wire {
    stream: Stream,
    /// How long a reply may take.
    answering: Duration,
}

enum Stream {
    Plain(Limited),
    Encrypted(Box<StreamOwned<ClientConnection, Limited>>),
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl Wire {
    /// Connects to a node, encrypted if the address says so.
    pub(crate) fn open(
        address: &Address,
        node: &Node,
        is_to_stop: fn() -> bool,
    ) -> io::Result<Self> {
        let answering = ANSWERING.min(address.patience.max(HICCUP));
        let socket = connect(node)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TURN))?;
        socket.set_write_timeout(Some(TURN))?;
        let limited = Limited { socket, time: answering, left: u64::MAX, is_to_stop };
        let stream = if address.has_tls() {
            Stream::Encrypted(Box::new(StreamOwned::new(tls(node)?, limited)))
        } else {
            Stream::Plain(limited)
        };
        Ok(Self { stream, answering })
    }

    /// Sends bytes, all of them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.limit(u64::MAX, self.answering + time_for(bytes.len() as u64));
        let stream: &mut dyn Write = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => stream,
        };
        stream.write_all(bytes)?;
        stream.flush()
    }

    /// Where to read a reply that has so many bytes at most, from now on.
    pub(crate) fn reply(&mut self, most_bytes: u64) -> &mut dyn Read {
        self.limit(most_bytes, self.answering + time_for(most_bytes));
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => stream,
        }
    }

    fn limit(&mut self, most_bytes: u64, time: Duration) {
        let limited = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => &mut stream.sock,
        };
        (limited.left, limited.time) = (most_bytes, time);
    }
}

/// How long as many bytes may take, beside the time for any.
fn time_for(bytes: u64) -> Duration {
    Duration::from_secs(bytes / SLOWEST)
}

/// A socket from which so much may be read, and which may be waited for so long.
struct Limited {
    socket: TcpStream,
    /// Time that is left. It goes while the program waits, not while it is stopped: what has come then must
    /// not be lost.
    time: Duration,
    left: u64,
    /// A server that is silent is not waited for long then.
    is_to_stop: fn() -> bool,
}

impl Limited {
    /// Reads or writes, in turns. The socket's own limit makes the system end a wait at any signal, also at
    /// one that asks for nothing but the progress.
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
                Err(error) if is_wait(&error) => self.look_for_stop(),
                result => return result,
            }
        }
    }

    fn look_for_stop(&mut self) {
        if (self.is_to_stop)() {
            self.time = self.time.min(HICCUP);
        }
    }
}

/// Whether nothing has happened but time.
fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("it sends more than the answer to what was asked"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.in_turns(|mut socket| socket.read(&mut buffer[..most]))?;
        self.left -= read as u64;
        Ok(read)
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_turns(|mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Tries all addresses of a name.
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

/// Encryption, with the certificates that the system trusts.
fn tls(node: &Node) -> io::Result<ClientConnection> {
    let name = ServerName::try_from(node.host.clone());
    let name = name.map_err(|_| io::Error::other("its name cannot stand in a certificate"))?;
    let mut roots = RootCertStore::empty();
    // What cannot be read is not trusted; nor is what is no certificate.
    let (trusted, _) =
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted == 0 {
        return Err(io::Error::other(
            "the system has no certificates to trust: SSL_CERT_FILE names a file with some",
        ));
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}
