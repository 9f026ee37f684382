//! Answers of commands.

use std::ffi::CStr;

use crate::refusal::Refusal;

/// What a command answers. The two protocols write some of these differently.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// Done.
    Ok,
    /// Yes or no: 1 or 0 where the protocol has no booleans.
    Truth(bool),
    /// Whether a filter took an item in: 1 or -1 where the protocol has no booleans.
    Accepted(bool),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nothing.
    Null,
    /// An error, also as an element of an array.
    Refused(Refusal),
    /// Many of [`Truth`](Self::Truth).
    Truths(Vec<bool>),
    /// A list.
    Array(Vec<Reply>),
    /// A name and a value: a list of the value alone where the protocol has no maps.
    Field(&'static CStr, Box<Reply>),
    /// Names and values: a flat list where the protocol has no maps.
    Map(Vec<(&'static CStr, Reply)>),
}

impl Reply {
    /// A count; more than the protocol can say is its largest number.
    pub(crate) fn count(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}
