//! URLs in normal form.

use crate::terminal::byte_of;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;
use url::{Position, Url};

/// Whether the case of ASCII letters is a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Counts,
    Ignored,
}

/// How URLs are normalized: the words of `--url`. Each word ignores one more difference, or keeps one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct UrlForm(BTreeSet<String>);

/// The options but [`DROP`].
const OPTIONS: [&str; 6] =
    ["keep-fragment", "no-scheme", "no-slash", "no-www", "shape", "sort-query"];

/// The beginning of an option that drops query parameters: the rest is their name, in which `*` matches any bytes.
const DROP: &str = "drop=";

/// Parses a comma-separated list.
impl FromStr for UrlForm {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        let options = list.split(',').filter(|option| !option.is_empty());
        let checked = options.map(|option| {
            let is_drop = option.strip_prefix(DROP).is_some_and(|name| !name.is_empty());
            if is_drop || OPTIONS.contains(&option) {
                return Ok(option.to_owned());
            }
            let all = OPTIONS.join(", ");
            Err(format!(
                "unknown option {option:?}; expected {all} or drop=NAME, such as drop=utm_*"
            ))
        });
        checked.collect::<Result<_, _>>().map(Self)
    }
}

impl Display for UrlForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<_> = self.0.iter().map(String::as_str).collect();
        f.write_str(&options.join(","))
    }
}

impl UrlForm {
    /// Adds the options of another one.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    fn has(&self, option: &str) -> bool {
        self.0.contains(option)
    }

    /// Appends the normal form of a URL to `key`, or nothing if it is not a URL. If case is ignored, its parameters are
    /// in lower case; the caller lowers the rest.
    pub(super) fn append(&self, part: &[u8], case: Case, key: &mut Vec<u8>) -> Option<()> {
        let mut url = normal_url(part)?;
        if !self.has("keep-fragment") {
            url.set_fragment(None);
        }
        if self.0.is_empty() {
            append_normal_escapes(url.as_str().as_bytes(), key);
            return Some(());
        }
        let mut normal = Vec::new();
        let mut append = |text: &str, key: &mut Vec<u8>| {
            normal.clear();
            append_normal_escapes(text.as_bytes(), &mut normal);
            key.extend_from_slice(&normal);
        };
        if !self.has("no-scheme") {
            key.extend_from_slice(url[..Position::AfterScheme].as_bytes());
            key.push(b':');
        }
        key.extend_from_slice(b"//");
        append(&url[Position::BeforeUsername..Position::BeforeHost], key);
        append(self.host(&url), key);
        append(&url[Position::AfterHost..Position::BeforePath], key);
        let path = url.path();
        let is_cut = self.has("no-slash");
        append(path.strip_suffix('/').filter(|_| is_cut).unwrap_or(path), key);
        if let Some(query) = url.query() {
            self.append_query(query.as_bytes(), case, key);
        }
        if let Some(fragment) = url.fragment() {
            append(&format!("#{fragment}"), key);
        }
        Some(())
    }

    fn host<'u>(&self, url: &'u Url) -> &'u str {
        let host = &url[Position::BeforeHost..Position::AfterHost];
        let rest = host.strip_prefix("www.").filter(|rest| rest.contains('.'));
        rest.filter(|_| self.has("no-www")).unwrap_or(host)
    }

    /// Appends what is left of a query, if anything.
    fn append_query(&self, query: &[u8], case: Case, key: &mut Vec<u8>) {
        let mut normal = Vec::new();
        append_normal_escapes(query, &mut normal);
        let dropped = self.0.iter().filter_map(|option| option.strip_prefix(DROP));
        let mut dropped: Vec<_> = dropped.map(|pattern| pattern.as_bytes().to_vec()).collect();
        if case == Case::Ignored {
            // Before names are compared and sorted.
            normal.make_ascii_lowercase();
            for pattern in &mut dropped {
                pattern.make_ascii_lowercase();
            }
        }
        let name = |parameter: &[u8]| memchr::memchr(b'=', parameter).unwrap_or(parameter.len());
        let is_dropped = |parameter: &[u8]| {
            let name = &parameter[..name(parameter)];
            dropped.iter().any(|pattern| is_like(name, pattern))
        };
        let mut parameters: Vec<&[u8]> = normal.split(|byte| *byte == b'&').collect();
        if !dropped.is_empty() || self.has("shape") || self.has("sort-query") {
            parameters.retain(|parameter| !parameter.is_empty() && !is_dropped(parameter));
        }
        if self.has("shape") {
            for parameter in &mut parameters {
                *parameter = &parameter[..name(parameter)];
            }
            parameters.sort_unstable();
            parameters.dedup();
        } else if self.has("sort-query") {
            // Parameters of one name keep their order, which may matter.
            parameters.sort_by_key(|parameter| &parameter[..name(parameter)]);
        }
        if !parameters.is_empty() {
            key.push(b'?');
            key.extend(parameters.join(&b'&'));
        }
    }
}

/// Whether a name matches a pattern, in which `*` matches any bytes.
fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match memchr::memmem::find(rest, piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The normal form of a URL except for its percent-escapes, or nothing if the bytes are not a URL with a scheme and
/// `://`. Many texts have a word and a colon: `ERROR: issue #12` is not a URL.
fn normal_url(bytes: &[u8]) -> Option<Url> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_scheme, rest) = text.split_once(':')?;
    let mut url = rest.starts_with("//").then(|| Url::parse(text).ok())??;
    let is_normal = |host: &str| {
        let is_other = |byte: u8| byte == b'%' || byte.is_ascii_uppercase();
        !host.ends_with('.') && !host.bytes().any(is_other)
    };
    // Setting a host takes as long as parsing the URL.
    if let Some(given) = url.host_str().filter(|host| !is_normal(host)) {
        let mut host = Vec::new();
        append_normal_escapes(given.as_bytes(), &mut host);
        host.make_ascii_lowercase();
        let host = host.strip_suffix(b".").filter(|rest| !rest.is_empty()).unwrap_or(&host);
        // The host is ASCII; one that is invalid stays unchanged.
        let host = String::from_utf8_lossy(host).into_owned();
        url.set_host(Some(&host)).ok();
    }
    Some(url)
}

/// Appends a URL with its percent-escapes normalized (RFC 3986, 6.2.2.1 and 6.2.2.2): hexadecimal digits in
/// upper case, and no unnecessary escapes. An escape stays where its character would complete another one.
fn append_normal_escapes(url: &[u8], to: &mut Vec<u8>) {
    let mut rest = url;
    while let Some(escape) = memchr::memchr(b'%', rest) {
        to.extend_from_slice(&rest[..escape]);
        rest = &rest[escape + 1..];
        let code = rest.first_chunk().and_then(|digits| byte_of(*digits));
        let would_complete =
            matches!(to[..], [.., b'%'] | [.., b'%', b'0'..=b'9' | b'A'..=b'F' | b'a'..=b'f']);
        let is_unreserved = |code: u8| code.is_ascii_alphanumeric() || b"-._~".contains(&code);
        match code {
            Some(code) if is_unreserved(code) && !would_complete => to.push(code),
            Some(code) => to.extend(format!("%{code:02X}").into_bytes()),
            None => to.push(b'%'),
        }
        rest = if code.is_some() { &rest[2..] } else { rest };
    }
    to.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_form(options: &str, part: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        let is_url = options.parse::<UrlForm>().unwrap().append(part, Case::Counts, &mut key);
        if is_url.is_some() { key } else { part.to_vec() }
    }

    #[test]
    fn urls() {
        for (spelling, form) in [
            ("HTTP://Example.COM", "http://example.com/"),
            ("http://example.com:80/", "http://example.com/"),
            ("http://example.com./", "http://example.com/"),
            ("https://example.com:443/a/../b/./c#top", "https://example.com/b/c"),
            ("http://example.com/A?Q=1", "http://example.com/A?Q=1"),
            ("http://example.com:8080/", "http://example.com:8080/"),
            ("http://b\u{fc}cher.example/", "http://xn--bcher-kva.example/"),
            (" http://example.com/ ", "http://example.com/"),
            ("http://example.com/a b", "http://example.com/a%20b"),
            ("git://GitHub.com/A", "git://github.com/A"),
            ("GIT+ssh://user@GitHub.com./A#b", "git+ssh://user@github.com/A"),
            ("foo://ex%41mple/%c3%bc", "foo://example/%C3%BC"),
            ("http://example.com/%7euser/%7Euser", "http://example.com/~user/~user"),
            ("http://example.com/%c3%BC?a=%2f%41%", "http://example.com/%C3%BC?a=%2FA%"),
            ("http://example.com/%2541%2e%zz", "http://example.com/%2541.%zz"),
            ("http://example.com/%2%35%%61", "http://example.com/%2%35%%61"),
            ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
            ("file:///A/../b", "file:///b"),
            ("mailto:A@b.c#x", "mailto:A@b.c#x"),
            ("ERROR: issue #12", "ERROR: issue #12"),
            ("http:example.com", "http:example.com"),
            ("see: http://A.example/#b", "see: http://A.example/#b"),
            ("foo://./", "foo://./"),
            ("http://./", "http://./"),
            ("no url", "no url"),
            ("http://[::1", "http://[::1"),
            ("", ""),
        ] {
            assert_eq!(url_form("", spelling.as_bytes()), form.as_bytes(), "{spelling}");
        }
        assert_eq!(url_form("", b"http://a/\xff"), b"http://a/\xff");
    }

    #[test]
    fn further_differences_that_do_not_count() {
        for (options, spelling, form) in [
            ("keep-fragment", "http://A.example/#%7etop", "http://a.example/#~top"),
            ("no-scheme", "https://a.example:443/b", "//a.example/b"),
            ("no-scheme", "http://u:p@a.example:8080/b", "//u:p@a.example:8080/b"),
            ("no-www", "http://www.a.example/", "http://a.example/"),
            ("no-www", "http://www.example/", "http://www.example/"),
            ("no-www", "http://www2.a.example/", "http://www2.a.example/"),
            ("no-slash", "http://a.example/b/", "http://a.example/b"),
            ("no-slash", "http://a.example/?q=/", "http://a.example?q=/"),
            ("sort-query", "http://a.example/?b=2&a=%7e&b=1&a", "http://a.example/?a=~&a&b=2&b=1"),
            ("sort-query", "http://a.example/?", "http://a.example/"),
            ("no-www", "http://a.example/?&b=&", "http://a.example/?&b=&"),
            ("drop=a", "http://a.example/?&a=1&&b=2&", "http://a.example/?b=2"),
            ("sort-query", "http://a.example/?&", "http://a.example/"),
            ("drop=utm_*", "http://a.example/?utm_source=x&id=1&utm_", "http://a.example/?id=1"),
            ("drop=utm_*", "http://a.example/?utm_source=x#top", "http://a.example/"),
            (
                "drop=id,drop=*sess*id",
                "http://a.example/?id=1&ids=2&phpsessid",
                "http://a.example/?ids=2",
            ),
            ("shape", "http://a.example/b?z=1&a=2&z=3&", "http://a.example/b?a&z"),
            ("no-scheme,no-www,no-slash", "https://www.a.example/", "//a.example"),
            ("no-www", "no url", "no url"),
        ] {
            assert_eq!(
                url_form(options, spelling.as_bytes()),
                form.as_bytes(),
                "{options} {spelling}"
            );
        }
    }

    #[test]
    fn options_are_words_in_one_order() {
        let form: UrlForm = "sort-query,drop=b,no-www,drop=a*".parse().unwrap();
        assert_eq!(form.to_string(), "drop=a*,drop=b,no-www,sort-query");
        assert_eq!(form.to_string().parse(), Ok(form));
        for wrong in ["sort", "drop", "drop=", "no-www;no-slash"] {
            assert!(wrong.parse::<UrlForm>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_like_patterns() {
        for (name, pattern, expected) in [
            ("abc", "abc", true),
            ("abcd", "abc", false),
            ("abc", "a*", true),
            ("abc", "*c", true),
            ("abc", "*b*", true),
            ("abc", "a*c*c", false),
            ("aba", "aba*ba", false),
            ("", "*", true),
            ("a", "", false),
        ] {
            assert_eq!(is_like(name.as_bytes(), pattern.as_bytes()), expected, "{name} {pattern}");
        }
    }
}
