//! A connection to one server, and what can go wrong on it.

use super::address::Address;
use redis::{
    Client, Cmd, Connection, ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, ServerErrorKind, Value,
};
use std::fmt;
use std::time::Duration;

/// A server that does not take a connection within this time is away.
const CONNECTING: Duration = Duration::from_secs(10);
/// So is one that does not answer within this time: no command here takes a second.
const ANSWERING: Duration = Duration::from_secs(20);
/// A command that only the module has: servers and modules of others have most of its CF.*.
const OWN_COMMAND: &str = "CF.MDEL";

const NO_MODULE: &str = "the server lacks the module coua (its commands CF.*): start it with \
                         --loadmodule libcoua.so";

/// One server, of a cluster perhaps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
}

/// Why a command was not answered.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no connection any more: what was sent may have been done or not.
    Lost(String),
    /// It was not done, but may be soon.
    NotNow(String),
    /// It was not done: another node has the key.
    Moved,
    /// It was not done: another node is taking the key over, and has it already.
    Ask(Node),
    /// It was not done, and never will be.
    Refused(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(text) | Self::NotNow(text) | Self::Refused(text) => f.write_str(text),
            Self::Moved | Self::Ask(_) => f.write_str("the cluster is moving keys"),
        }
    }
}

impl Trouble {
    fn of(error: &RedisError) -> Self {
        let text = text_of(error);
        match error.kind() {
            ErrorKind::Io => Self::Lost(text),
            ErrorKind::Parse => Self::Lost(format!("it sends what is no reply ({text})")),
            ErrorKind::Server(kind) => Self::of_server(kind, error, text),
            _ => Self::Refused(text),
        }
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
            _ => Self::Refused(text),
        }
    }
}

/// What a server, or the operating system, says.
fn text_of(error: &RedisError) -> String {
    if error.is_timeout() {
        return "no answer".to_owned();
    }
    match (error.code(), error.detail()) {
        (Some("ERR"), Some(detail)) => detail.to_owned(),
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        (None, Some(detail)) => format!("{} ({detail})", error.category()),
        _ => plain(&error.to_string()),
    }
}

/// The words of the operating system as people know them.
fn plain(text: &str) -> String {
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None if text == "unexpected end of file" => "the connection was closed".to_owned(),
        None => text.to_owned(),
    }
}

/// `host:port`, where the host may have colons.
fn node(text: &str) -> Option<Node> {
    let (host, port) = text.rsplit_once(':')?;
    Some(Node { host: host.to_owned(), port: port.parse().ok()? })
}

/// A connection, over which commands go in pipelines.
pub(super) struct Link {
    connection: Connection,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// Connects as the address says, to this node, which must have the module.
    pub(super) fn open(address: &Address, node: &Node) -> Result<Self, Trouble> {
        let connection = connect(address, node).map_err(|error| match error.kind() {
            ErrorKind::AuthenticationFailed => {
                let says = error.detail().unwrap_or("the user or the password is wrong");
                Trouble::Refused(format!("authentication failed: {says}"))
            }
            _ => Trouble::of(&error),
        })?;
        let mut link = Self { connection };
        let known = link.ask(redis::cmd("COMMAND").arg("INFO").arg(OWN_COMMAND))?;
        let has_module =
            matches!(&known, Value::Array(of) if matches!(of.first(), Some(Value::Array(_))));
        if has_module { Ok(link) } else { Err(Trouble::Refused(NO_MODULE.to_owned())) }
    }

    /// Sends commands, as bytes of the protocol.
    pub(super) fn send(&mut self, commands: &[u8]) -> Result<(), Trouble> {
        self.connection.send_packed_command(commands).map_err(|error| Trouble::of(&error))
    }

    /// The reply to the first command that has none yet.
    pub(super) fn receive(&mut self) -> Result<Value, Trouble> {
        let reply = self.connection.recv_response().and_then(Value::extract_error);
        reply.map_err(|error| Trouble::of(&error))
    }

    /// The reply to a command.
    pub(super) fn ask(&mut self, command: &Cmd) -> Result<Value, Trouble> {
        self.send(&command.get_packed_command())?;
        self.receive()
    }
}

fn connect(address: &Address, node: &Node) -> Result<Connection, RedisError> {
    let Node { host, port } = node.clone();
    let at = if address.has_tls() {
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
    } else {
        ConnectionAddr::Tcp(host, port)
    };
    let mut session = RedisConnectionInfo::default()
        .set_db(address.database)
        .set_lib_name("coua", env!("CARGO_PKG_VERSION"));
    if let Some(user) = &address.user {
        session = session.set_username(user);
    }
    if let Some(password) = &address.password {
        session = session.set_password(password);
    }
    let info = at.into_connection_info()?.set_redis_settings(session);
    let connection = Client::open(info)?.get_connection_with_timeout(CONNECTING)?;
    connection.set_read_timeout(Some(ANSWERING))?;
    connection.set_write_timeout(Some(ANSWERING))?;
    Ok(connection)
}
