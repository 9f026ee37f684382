//! Replies as they are on the wire. A library would show a simple string, a bulk string and a
//! boolean alike; clients of the peer tell them apart, so the tests do.

use std::fmt;
use std::io::BufRead;

/// A reply of RESP2 or RESP3.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    NoBulk,
    NoArray,
    Null,
    Boolean(bool),
    Double(String),
    Verbatim(Vec<u8>),
    Array(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Push(Vec<Value>),
}

impl Value {
    /// Reads one reply.
    pub(crate) fn read(from: &mut impl BufRead) -> std::io::Result<Self> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.strip_suffix("\r\n").expect("a line of RESP ends with CR LF");
        let (kind, rest) = line.split_at(1);
        let size = || rest.parse::<usize>().expect("a length");
        Ok(match (kind, rest) {
            ("+", _) => Self::Simple(rest.into()),
            ("-", _) => Self::Error(rest.into()),
            (":", _) => Self::Integer(rest.parse().expect("an integer")),
            (",", _) => Self::Double(rest.into()),
            ("$", "-1") => Self::NoBulk,
            ("*", "-1") => Self::NoArray,
            ("_", "") => Self::Null,
            ("#", "t") => Self::Boolean(true),
            ("#", "f") => Self::Boolean(false),
            ("$", _) => Self::Bulk(read_bytes(from, size())?),
            ("=", _) => Self::Verbatim(read_bytes(from, size())?),
            ("*", _) => Self::Array(read_values(from, size())?),
            ("~", _) => Self::Set(read_values(from, size())?),
            (">", _) => Self::Push(read_values(from, size())?),
            ("%", _) => {
                let pair = |_| Ok((Self::read(from)?, Self::read(from)?));
                Self::Map((0..size()).map(pair).collect::<std::io::Result<_>>()?)
            }
            _ => panic!("no reply begins like this: {line:?}"),
        })
    }

    /// The number that this is.
    #[track_caller]
    pub(crate) fn integer(&self) -> i64 {
        let Self::Integer(number) = self else { panic!("an integer was expected, not {self}") };
        *number
    }

    /// The bytes that this is.
    #[track_caller]
    pub(crate) fn bytes(&self) -> &[u8] {
        let Self::Bulk(bytes) = self else { panic!("a bulk string was expected, not {self}") };
        bytes
    }

    /// The elements of this array.
    #[track_caller]
    pub(crate) fn elements(&self) -> &[Value] {
        let Self::Array(elements) = self else { panic!("an array was expected, not {self}") };
        elements
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

fn read_values(from: &mut impl BufRead, size: usize) -> std::io::Result<Vec<Value>> {
    (0..size).map(|_| Value::read(from)).collect()
}

fn read_bytes(from: &mut impl BufRead, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size + 2];
    from.read_exact(&mut bytes)?;
    assert!(bytes.ends_with(b"\r\n"), "a bulk string ends with CR LF");
    bytes.truncate(size);
    Ok(bytes)
}

/// The notation of the tables: the bytes of the protocol where they are one line, and
/// `"text"`, `[element element]`, `~[element]`, `{key value, key value}` where they are not.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(text) => write!(f, "+{text}"),
            Self::Error(text) => write!(f, "-{text}"),
            Self::Integer(number) => write!(f, ":{number}"),
            Self::Double(text) => write!(f, ",{text}"),
            Self::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Verbatim(bytes) => write!(f, "=\"{}\"", bytes.escape_ascii()),
            Self::NoBulk => f.write_str("$-1"),
            Self::NoArray => f.write_str("*-1"),
            Self::Null => f.write_str("_"),
            Self::Boolean(true) => f.write_str("#t"),
            Self::Boolean(false) => f.write_str("#f"),
            Self::Array(values) => write!(f, "[{}]", joined(values, " ")),
            Self::Set(values) => write!(f, "~[{}]", joined(values, " ")),
            Self::Push(values) => write!(f, ">[{}]", joined(values, " ")),
            Self::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{key} {value}"));
                write!(f, "{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn joined(values: &[Value], between: &str) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
