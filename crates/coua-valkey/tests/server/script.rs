//! Tables of commands and replies.
//!
//! A row is `command -> reply`, or `command -> reply of RESP2 | reply of RESP3`. Replies are in
//! the notation of [`Value`](crate::resp::Value); `*` stands for any text, so a null array would
//! need another sign: no command here answers one. Empty lines and lines after `#` are passed over.

use std::fmt::{Display, Write as _};

use crate::client::{Client, Protocol};
use crate::server::{Kind, Server};

/// Characters of an unexpected reply that are shown.
const MOST_SHOWN: usize = 300;

/// A table that is put together.
#[derive(Default)]
pub(crate) struct Table(String);

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, command: impl Display, reply: impl Display) {
        writeln!(self.0, "{command} -> {reply}").unwrap();
    }

    pub(crate) fn rows(&self) -> &str {
        &self.0
    }
}

/// Runs a table in an empty server under RESP2, and again under RESP3.
#[track_caller]
pub(crate) fn check(kind: Kind, table: &str) {
    let server = Server::start(kind);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut client = server.connect(protocol);
        client.good("FLUSHALL");
        check_with(&mut client, protocol, table);
    }
}

/// Runs a table through a connection. All rows run, and all that differ are told.
#[track_caller]
pub(crate) fn check_with(client: &mut Client, protocol: Protocol, table: &str) {
    let mut differing = String::new();
    let rows = table.lines().map(str::trim);
    for row in rows.filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let (command, replies) = row.split_once(" -> ").unwrap_or_else(|| panic!("no row: {row}"));
        let (resp2, resp3) = replies.split_once(" | ").unwrap_or((replies, replies));
        let expected = if protocol == Protocol::Resp2 { resp2 } else { resp3 }.trim();
        let found = client.run(command).to_string();
        if !is_like(&found, expected) {
            let found: String = found.chars().take(MOST_SHOWN).collect();
            let command = command.trim();
            writeln!(differing, "{command}\n  expected {expected}\n  found    {found}").unwrap();
        }
    }
    assert!(differing.is_empty(), "under {protocol:?}:\n{differing}");
}

/// Whether the text is the pattern, in which `*` stands for any text.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return text == pattern };
    let Some(text) = text.strip_prefix(before) else { return false };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.into_iter().any(|at| is_like(&text[at..], after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Value;

    #[test]
    fn replies_are_shown_in_the_notation_of_the_tables() {
        for (wire, shown) in [
            ("+OK\r\n", "+OK"),
            ("-ERR no\r\n", "-ERR no"),
            (":-1\r\n", ":-1"),
            (",0.5\r\n", ",0.5"),
            ("$3\r\na\r\n\r\n", r#""a\r\n""#),
            ("$-1\r\n", "$-1"),
            ("*-1\r\n", "*-1"),
            ("_\r\n", "_"),
            ("#t\r\n", "#t"),
            ("*2\r\n:1\r\n*0\r\n", "[:1 []]"),
            ("%2\r\n+a\r\n:1\r\n+b\r\n#f\r\n", "{+a :1, +b #f}"),
            ("~1\r\n+a\r\n", "~[+a]"),
            (">1\r\n+a\r\n", ">[+a]"),
            ("=5\r\ntxt:a\r\n", r#"="txt:a""#),
        ] {
            assert_eq!(Value::read(&mut wire.as_bytes()).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "a*", true),
            ("abc", "*c", true),
            ("abc", "a*b*c", true),
            ("abc", "a*d*c", false),
            ("ab", "b*", false),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        }
    }
}
