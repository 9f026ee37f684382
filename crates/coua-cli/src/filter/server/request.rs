//! A command on its way to a server and back.

use super::connection::{Connection, LinkError, MOST_BYTES, Node};
use redis::Value;

/// A command on its way.
#[derive(Debug)]
pub(super) struct Request {
    /// The slot of its key.
    pub(super) slot: u16,
    /// The command as bytes of the protocol.
    pub(super) command: Vec<u8>,
    /// Bytes that the reply may have.
    pub(super) most_bytes: u64,
    /// It was sent before, and the reply did not come: it may have been done already.
    pub(super) in_doubt: bool,
    /// It was sent before, and not done: later ones may have overtaken it.
    pub(super) was_refused: bool,
    /// Where its keys begin among its words, if of equal keys the first one is to get a 1.
    pub(super) first_key: Option<usize>,
    /// Where to find the key while it is moving.
    pub(super) asked_at: Option<Node>,
    pub(super) is_sent: bool,
    /// The reply, or why it was refused.
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

    /// Its keys, if it matters which of them comes first.
    pub(super) fn keys(&self) -> Vec<Vec<u8>> {
        let Some(first) = self.first_key else { return Vec::new() };
        let Ok(Value::Array(words)) = redis::parse_redis_value(&self.command) else {
            return Vec::new();
        };
        let word = |word| if let Value::BulkString(word) = word { Some(word) } else { None };
        words.into_iter().skip(first).filter_map(word).collect()
    }

    /// The numbers of its reply.
    pub(super) fn numbers(&mut self) -> &mut [Value] {
        match &mut self.reply {
            Some(Ok(Value::Array(numbers))) => numbers,
            _ => &mut [],
        }
    }

    /// The connection was lost before the reply came.
    pub(super) fn lose(&mut self) {
        self.in_doubt = true;
        self.is_sent = false;
        self.asked_at = None;
    }

    /// The reply, or why it was refused.
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
        // It comes whether ASKING was refused or not.
        match connection.receive_at_most(self.most_bytes) {
            Ok(reply) => Ok(Ok(reply)),
            Err(LinkError::Refused(text)) => Ok(Err(text)),
            // That ASKING was refused is why another node is named.
            Err(LinkError::Moved) => Err(may_ask.err().unwrap_or(LinkError::Moved)),
            Err(error) => Err(error),
        }
    }
}
