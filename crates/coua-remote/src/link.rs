//! A connection to one server, and what can go wrong on it.

use crate::address::Address;
use crate::error::Program;
use crate::wire::{Node, Wire};
use redis::{Cmd, ErrorKind, Parser, RedisError, ServerErrorKind, Value};
use std::fmt;
use std::io;

/// A command that only the module has: servers and modules of others have most of its CF.*.
const OWN_COMMAND: &str = "CF.MDEL";

const NO_MODULE: &str = "the server lacks the module coua (its commands CF.*): start it with \
                         --loadmodule coua-valkey.so";

const NO_REPLY: &str = "it sent something that is not a reply of Valkey or Redis";

/// Bytes of a reply. Those about keys and filters have a few kB.
pub(crate) const MOST_BYTES: u64 = 64 << 10;
/// Bytes of CLUSTER SLOTS, with every slot a range of its own, and a replica of each.
pub(crate) const MOST_BYTES_OF_SLOTS: u64 = 4 << 20;
/// Characters of a server's words in a message.
const MOST_WORDS: usize = 300;

/// Why a command was not answered.
#[derive(Debug)]
pub(crate) enum Trouble {
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
            // With or without the connections of a cluster. It closes then.
            _ if text.starts_with("max number of clients") => Self::NotNow(text),
            _ => Self::Refused(text),
        }
    }
}

/// What a server says.
fn text_of(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some("ERR"), Some(detail)) => shown(detail),
        (Some(code), Some(detail)) => shown(&format!("{code} {detail}")),
        (Some(code), None) => shown(code),
        _ => shown(&error.to_string()),
    }
}

/// The words of the operating system, or of TLS, as people know them.
fn plain(text: &str) -> String {
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None if text == "unexpected end of file" => "the connection was closed".to_owned(),
        None => text.to_owned(),
    }
}

/// Somebody else's words, so that they cannot play with a terminal.
fn shown(text: &str) -> String {
    let is_long = text.chars().nth(MOST_WORDS).is_some();
    let mut shown = String::new();
    for c in text.chars().take(MOST_WORDS) {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if is_long {
        shown.push_str(" ...");
    }
    shown
}

/// `host:port`, where the host may have colons, or be missing.
fn node(text: &str) -> Option<Node> {
    let (host, port) = text.rsplit_once(':')?;
    Some(Node { host: host.to_owned(), port: port.parse().ok()? })
}

/// A connection, over which commands go in pipelines.
pub(crate) struct Link {
    wire: Wire,
    parser: Parser,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// Connects as the address says, to this node, which must have the module.
    pub(crate) fn open(address: &Address, node: &Node, program: Program) -> Result<Self, Trouble> {
        let wire = Wire::open(address, node, program.is_to_stop).map_err(Trouble::of_io)?;
        let mut link = Self { wire, parser: Parser::new() };
        link.log_in(address)?;
        link.tell_name()?;
        if address.database != 0 {
            link.ask(redis::cmd("SELECT").arg(address.database))?;
        }
        let known = link.ask(redis::cmd("COMMAND").arg("INFO").arg(OWN_COMMAND))?;
        let has_module =
            matches!(&known, Value::Array(of) if matches!(of.first(), Some(Value::Array(_))));
        if has_module { Ok(link) } else { Err(Trouble::Refused(NO_MODULE.to_owned())) }
    }

    fn log_in(&mut self, address: &Address) -> Result<(), Trouble> {
        let (user, password) = (address.user.as_deref(), address.password.as_deref());
        if user.is_none() && password.is_none() {
            return Ok(());
        }
        // There are users who need no password.
        let command = redis::cmd("AUTH").arg(user).arg(password.unwrap_or_default()).to_owned();
        match self.ask(&command) {
            Err(Trouble::Refused(text)) => {
                Err(Trouble::Refused(format!("authentication failed: {text}")))
            }
            other => other.map(drop),
        }
    }

    /// Says who this is, for CLIENT LIST: older servers need not understand, nor may every user.
    fn tell_name(&mut self) -> Result<(), Trouble> {
        for (what, is) in [("LIB-NAME", "coua"), ("LIB-VER", env!("CARGO_PKG_VERSION"))] {
            match self.ask(redis::cmd("CLIENT").arg("SETINFO").arg(what).arg(is)) {
                // It speaks with nobody from here, and closes without another word.
                Err(Trouble::Refused(text)) if text.starts_with("DENIED") => {
                    return Err(Trouble::Refused(text));
                }
                Ok(_) | Err(Trouble::Refused(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// Sends commands, as bytes of the protocol.
    pub(crate) fn send(&mut self, commands: &[u8]) -> Result<(), Trouble> {
        self.wire.send(commands).map_err(Trouble::of_io)
    }

    /// The reply to the first command that has none yet.
    pub(crate) fn receive(&mut self) -> Result<Value, Trouble> {
        self.receive_at_most(MOST_BYTES)
    }

    /// The reply, of so many bytes at most, to the first command that has none yet.
    pub(crate) fn receive_at_most(&mut self, bytes: u64) -> Result<Value, Trouble> {
        let reply = self.parser.parse_value(self.wire.reply(bytes));
        reply.and_then(Value::extract_error).map_err(|error| Trouble::of(&error))
    }

    /// The reply to a command.
    pub(crate) fn ask(&mut self, command: &Cmd) -> Result<Value, Trouble> {
        self.ask_for(command, MOST_BYTES)
    }

    /// The reply, of so many bytes at most, to a command.
    pub(crate) fn ask_for(&mut self, command: &Cmd, bytes: u64) -> Result<Value, Trouble> {
        self.send(&command.get_packed_command())?;
        self.receive_at_most(bytes)
    }
}
