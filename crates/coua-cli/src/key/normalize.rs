//! Different spellings of one key.

use crate::terminal::{Failure, Result, byte_of};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use url::Url;

/// Which differences do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<Normalizer>", from = "Vec<Normalizer>")]
pub(crate) struct Normalize {
    pub(crate) trim: bool,
    pub(crate) url: bool,
    pub(crate) ignore_case: bool,
}

/// One of them, by the name of its option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Normalizer {
    IgnoreCase,
    Trim,
    Url,
}

impl From<Normalize> for Vec<Normalizer> {
    fn from(normalize: Normalize) -> Self {
        let Normalize { trim, url, ignore_case } = normalize;
        let all = [
            (ignore_case, Normalizer::IgnoreCase),
            (trim, Normalizer::Trim),
            (url, Normalizer::Url),
        ];
        all.into_iter().filter(|(is_given, _)| *is_given).map(|(_, word)| word).collect()
    }
}

impl From<Vec<Normalizer>> for Normalize {
    fn from(words: Vec<Normalizer>) -> Self {
        let has = |word| words.contains(&word);
        Self {
            trim: has(Normalizer::Trim),
            url: has(Normalizer::Url),
            ignore_case: has(Normalizer::IgnoreCase),
        }
    }
}

/// As options.
impl Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = |word: &Normalizer| match word {
            Normalizer::IgnoreCase => "--ignore-case",
            Normalizer::Trim => "--trim",
            Normalizer::Url => "--url",
        };
        let words = Vec::from(*self);
        let options: Vec<_> = words.iter().map(option).collect();
        f.write_str(if options.is_empty() { "no option" } else { "" })?;
        f.write_str(&options.join(" "))
    }
}

impl Normalize {
    /// Returns an error if the keys of the filter `name` are normalized in another way than this.
    pub(crate) fn check_same(self, filters: Self, name: impl Display) -> Result<()> {
        if self == filters {
            return Ok(());
        }
        let reason = format!(
            "its keys are made with {filters}, and not with {self}: leave such options out, or name another filter"
        );
        Err(Failure::at(name, reason))
    }

    pub(crate) fn does_nothing(self) -> bool {
        !(self.trim || self.url || self.ignore_case)
    }

    /// Whether nothing is left of a part.
    pub(crate) fn is_empty(self, part: &[u8]) -> bool {
        part.is_empty() || self.trim && part.trim_ascii().is_empty()
    }

    /// Appends the normalized `part` to `key`.
    pub(crate) fn append(self, part: &[u8], key: &mut Vec<u8>) {
        let part = if self.trim { part.trim_ascii() } else { part };
        let start = key.len();
        match self.url.then(|| normal_url(part)).flatten() {
            Some(url) => append_normal_escapes(url.as_str().as_bytes(), key),
            None => key.extend_from_slice(part),
        }
        if self.ignore_case {
            key[start..].make_ascii_lowercase();
        }
    }
}

/// The normal form of a URL but for its percent-escapes, or nothing if the bytes are none that begins with a
/// scheme and `://`. Many texts have a word and a colon: `ERROR: issue #12` is no URL.
fn normal_url(bytes: &[u8]) -> Option<Url> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_scheme, rest) = text.split_once(':')?;
    let mut url = rest.starts_with("//").then(|| Url::parse(text).ok())??;
    url.set_fragment(None);
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
        // All of it is ASCII, and what cannot be a host stays as it was.
        let host = String::from_utf8_lossy(host).into_owned();
        url.set_host(Some(&host)).ok();
    }
    Some(url)
}

/// Appends a URL with its percent-escapes as RFC 3986 (6.2.2.1 and 6.2.2.2) has them: hexadecimal digits in
/// upper case, and none for what needs none.
fn append_normal_escapes(url: &[u8], to: &mut Vec<u8>) {
    let mut rest = url;
    while let Some(escape) = memchr::memchr(b'%', rest) {
        to.extend_from_slice(&rest[..escape]);
        rest = &rest[escape + 1..];
        let code = rest.first_chunk().and_then(|digits| byte_of(*digits));
        match code {
            Some(code) if code.is_ascii_alphanumeric() || b"-._~".contains(&code) => to.push(code),
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

    fn normal(normalize: Normalize, part: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        normalize.append(part, &mut key);
        key
    }

    #[test]
    fn urls() {
        let url = Normalize { url: true, ..Normalize::default() };
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
            assert_eq!(normal(url, spelling.as_bytes()), form.as_bytes(), "{spelling}");
        }
        assert_eq!(normal(url, b"http://a/\xff"), b"http://a/\xff");
    }

    #[test]
    fn case_and_blanks() {
        let both = Normalize { trim: true, ignore_case: true, url: false };
        assert_eq!(normal(both, b"\t AbC \xc3\x84\r"), b"abc \xc3\x84");
        assert!(Normalize::default().does_nothing());
        assert_eq!(normal(Normalize::default(), b" A "), b" A ");
    }
}
