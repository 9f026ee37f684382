//! A connection that shows replies raw.

use std::io::{BufReader, BufWriter, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::resp::Value;

/// No command of these tests takes this long.
const PATIENCE: Duration = Duration::from_mins(4);

/// How replies are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Protocol {
    Resp2,
    Resp3,
}

/// A connection to a server.
pub(crate) struct Client {
    replies: BufReader<TcpStream>,
    commands: BufWriter<TcpStream>,
}

impl Client {
    pub(crate) fn connect(port: u16, protocol: Protocol) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let commands = BufWriter::new(stream.try_clone()?);
        let mut client = Self { replies: BufReader::new(stream), commands };
        if protocol == Protocol::Resp3 {
            client.send(&["HELLO", "3"])?;
            Value::read(&mut client.replies)?;
        }
        Ok(client)
    }

    /// How long to wait for each reply.
    pub(crate) fn set_patience(&self, patience: Duration) -> std::io::Result<()> {
        self.replies.get_ref().set_read_timeout(Some(patience))
    }

    /// Sends a command without waiting for its reply.
    pub(crate) fn send(&mut self, parts: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
        self.write(parts)?;
        self.commands.flush()
    }

    fn write(&mut self, parts: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
        write!(self.commands, "*{}\r\n", parts.len())?;
        for part in parts {
            let part = part.as_ref();
            write!(self.commands, "${}\r\n", part.len())?;
            self.commands.write_all(part)?;
            self.commands.write_all(b"\r\n")?;
        }
        Ok(())
    }

    /// The reply to a command; an error when the server has gone.
    pub(crate) fn try_call(&mut self, parts: &[impl AsRef<[u8]>]) -> std::io::Result<Value> {
        self.send(parts)?;
        self.receive()
    }

    /// The next reply.
    pub(crate) fn receive(&mut self) -> std::io::Result<Value> {
        Value::read(&mut self.replies)
    }

    /// The reply to a command.
    #[track_caller]
    pub(crate) fn call(&mut self, parts: &[impl AsRef<[u8]>]) -> Value {
        self.try_call(parts).expect("the server answers")
    }

    /// The reply to a command written in one line: its parts are split at spaces, and `""` is the
    /// empty part.
    #[track_caller]
    pub(crate) fn run(&mut self, line: &str) -> Value {
        let parts: Vec<_> =
            line.split_whitespace().map(|part| if part == "\"\"" { "" } else { part }).collect();
        self.call(&parts)
    }

    /// Runs a command that must not be refused.
    #[track_caller]
    pub(crate) fn good(&mut self, line: &str) -> Value {
        let reply = self.run(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        reply
    }

    /// A field of a section of INFO; nothing if it has none of that name.
    #[track_caller]
    pub(crate) fn info(&mut self, section: &str, field: &str) -> Option<String> {
        let info = self.good(&format!("INFO {section}"));
        let info = String::from_utf8_lossy(info.bytes());
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.map(str::to_owned)
    }

    /// A number that INFO tells.
    #[track_caller]
    pub(crate) fn info_number(&mut self, section: &str, field: &str) -> i64 {
        let value = self.info(section, field);
        let number = value.as_ref().and_then(|value| value.parse().ok());
        number.unwrap_or_else(|| panic!("{field} in INFO {section}: {value:?}"))
    }

    /// The replies to many commands sent at once.
    #[track_caller]
    pub(crate) fn pipeline<P: AsRef<[u8]>>(&mut self, commands: &[Vec<P>]) -> Vec<Value> {
        for command in commands {
            self.write(command).expect("the server listens");
        }
        self.commands.flush().expect("the server listens");
        commands.iter().map(|_| self.receive().expect("the server answers")).collect()
    }
}
