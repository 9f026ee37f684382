//! A connection that shows replies raw.

use std::io::{BufReader, BufWriter, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::resp::Value;

/// No command of these tests takes this long.
const PATIENCE: Duration = Duration::from_mins(1);

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
