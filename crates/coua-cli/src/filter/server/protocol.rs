//! The protocol of Valkey and Redis (RESP 2): commands and replies.

use std::io::{self, BufRead, Read as _};

/// Replies nest no deeper: CLUSTER SLOTS has four levels.
pub(super) const DEEPEST: u32 = 8;
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
    pub(super) fn read(input: &mut impl BufRead, deeper: u32) -> io::Result<Self> {
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
