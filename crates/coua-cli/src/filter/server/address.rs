//! Where a filter on a server is: `valkey://USER:PASSWORD@HOST:PORT/NAME?shards=N&retry=SECONDS`.

use crate::clock;
use percent_encoding::percent_decode_str;
use std::env;
use std::fmt;
use std::time::Duration;

/// The default port of Valkey and Redis.
const PORT: u16 = 6379;
/// The number of slots of a cluster; more shards than slots would share slots.
pub(super) const SLOTS: u16 = 16_384;
/// How long a server may be unreachable in the middle of a run.
const PATIENCE: Duration = Duration::from_mins(1);
/// The environment variable with the password, if the address has none.
const PASSWORD: &str = "COUA_SERVER_PASSWORD";

/// The form of an address.
pub(crate) const FORM: &str = "valkey://[USER:PASSWORD@]HOST[:PORT]/NAME[?shards=N]";

/// The address of a filter on a server.
#[derive(Clone, PartialEq)]
pub(crate) struct Address {
    pub(super) scheme: String,
    /// The server, or a node of its cluster: `host:port`.
    pub(super) node: String,
    /// The password, with the user's name before it if there is one; empty if none is given.
    pub(super) login: Vec<String>,
    pub(super) name: String,
    /// `None`: the filter is one key of this name.
    pub(super) shards: Option<u32>,
    pub(super) patience: Duration,
}

/// For messages: without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.node, self.name)?;
        self.shards.map_or(Ok(()), |shards| write!(f, "?shards={shards}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The server `host:port`, of which one part may be missing: without a host, it has that of the server that reports it.
/// An IPv6 address may have brackets, and gets them.
pub(super) fn node(text: &str, reporter: &str) -> Option<String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, PORT),
    };
    let (own, _) = reporter.rsplit_once(':').unwrap_or_default();
    let host = if matches!(host, "" | "?") { own } else { host }.trim_matches(['[', ']']);
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

impl Address {
    /// Parses an address, or says what is wrong with it. Without a password it has that of the environment.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        // With a / in a password, its beginning would be read as a port, and its end as a part of the name, which
        // messages show.
        if rest.find(['/', '?', '#']).is_some_and(|end| rest[end..].contains('@')) {
            return Err(format!(
                "has an @ after the host; in a password write / as %2F, ? as %3F, # as %23 and @ as %40, \
                 and in a name @ as %40; expected {FORM}"
            ));
        }
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, name) = place.split_once('/').unwrap_or((place, ""));
        let (login, host) = server.rsplit_once('@').unwrap_or(("", server));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let node = node(&decoded(host, "host")?, "");
        let node = node.ok_or_else(|| format!("has a port that is no number; expected {FORM}"))?;
        if node.starts_with(':') {
            return Err(format!("names no host; expected {FORM}"));
        }
        let (user, mut password) = (decoded(user, "user")?, decoded(password, "password")?);
        if password.is_empty() {
            password = env::var(PASSWORD).unwrap_or_default();
        }
        let mut address = Self {
            scheme: scheme.to_ascii_lowercase(),
            node,
            // Some users need no password.
            login: match (user.as_str(), password.as_str()) {
                ("", "") => Vec::new(),
                ("", _) => vec![password],
                _ => vec![user, password],
            },
            name: name_of(name)?,
            shards: None,
            patience: PATIENCE,
        };
        address.take(options)?;
        Ok(address)
    }

    /// Takes the options.
    fn take(&mut self, options: &str) -> Result<(), String> {
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let wrong = |expected: &str| format!("has {name}={value}; {expected}");
            match name {
                "shards" => {
                    let number = value.parse().ok().filter(|it| (1..=SLOTS.into()).contains(it));
                    let expected = "expected a number from 1 to 16384";
                    self.shards = Some(number.ok_or_else(|| wrong(expected))?);
                }
                "retry" => self.patience = clock::seconds(value).map_err(wrong)?,
                _ => return Err(wrong("expected shards or retry")),
            }
        }
        Ok(())
    }
}

/// The filter's name. It is a key, not a path: `..` is a name like others.
fn name_of(text: &str) -> Result<String, String> {
    let name = decoded(text.trim_start_matches('/'), "name")?;
    if name.is_empty() {
        return Err(format!("names no filter; expected {FORM}"));
    }
    if name.contains(['{', '}']) {
        return Err("has a brace in the filter's name; coua adds its own for clusters".to_owned());
    }
    Ok(name)
}

fn decoded(text: &str, what: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| format!("has a {what} that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        Address::of(text)
    }

    #[test]
    fn addresses_are_understood() {
        let address = parse("valkey://h/seen").unwrap();
        assert_eq!((address.node.as_str(), address.shards), ("h:6379", None));
        assert!(address.login.is_empty());
        let address = parse("rediss://me:p%40ss@[::1]:7000/a%20b?shards=64&retry=0.5").unwrap();
        assert_eq!(address.node, "[::1]:7000");
        assert_eq!(address.login, ["me", "p@ss"]);
        assert_eq!((address.name.as_str(), address.shards), ("a b", Some(64)));
        assert_eq!(address.scheme, "rediss");
        assert_eq!(address.patience, Duration::from_millis(500));
        assert_eq!(address.to_string(), "rediss://[::1]:7000/a b?shards=64");
        let address = parse("redis://:secret@h/x").unwrap();
        assert_eq!(address.login, ["secret"]);
        assert_eq!(parse("redis://me@[::1]/x").unwrap().login, ["me", ""]);
        for (text, name) in [
            ("valkey://h/a/../b", "a/../b"),
            ("valkey://h/.?shards=2", "."),
            ("valkey://h/%2E%2e/x/", "../x/"),
            ("valkey://u:p@h:1//x", "x"),
            ("valkey://h/a\tb ", "a\tb "),
            ("valkey://h/a%3Fb", "a?b"),
            ("valkey://h/a#b", "a#b"),
        ] {
            assert_eq!(parse(text).unwrap().name, name, "{text}");
        }
    }

    #[test]
    fn wrong_addresses_are_told_what_is_expected() {
        for (text, expected) in [
            ("valkey:///seen", "names no host"),
            ("valkey://h", "names no filter"),
            ("valkey://h/", "names no filter"),
            ("valkey://h:x/seen", "a port that is no number"),
            ("valkey://h/a{b}", "a brace"),
            ("valkey://h/a?shards=0", "expected a number from 1 to 16384"),
            ("valkey://h/a?shards=x", "expected a number from 1 to 16384"),
            ("valkey://h/a?shard=2", "expected shards or retry"),
            ("valkey://h?shards=2/x", "names no filter"),
            ("valkey://h/%ff", "not UTF-8"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.contains(expected), "{text}: {wrong}");
        }
    }

    #[test]
    fn a_password_is_not_displayed() {
        let address = parse("valkey://me:secret@h/seen?shards=2").unwrap();
        assert_eq!(format!("{address} {address:?}").matches("secret").count(), 0);
        let address = parse("valkey://me:sec%2Fret%40@h/a%40b").unwrap();
        assert_eq!(address.login, ["me", "sec/ret@"]);
        assert_eq!(address.name, "a@b");
    }
}
