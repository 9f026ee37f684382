//! Different spellings of one key.

use url::Url;

/// Which differences do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Normalize {
    pub(crate) trim: bool,
    pub(crate) url: bool,
    pub(crate) ignore_case: bool,
}

impl Normalize {
    pub(crate) fn does_nothing(self) -> bool {
        !(self.trim || self.url || self.ignore_case)
    }

    /// Appends the normalised `part` to `key`.
    pub(crate) fn append(self, part: &[u8], key: &mut Vec<u8>) {
        let part = if self.trim { part.trim_ascii() } else { part };
        let start = key.len();
        match self.url.then(|| normal_url(part)).flatten() {
            Some(url) => key.extend_from_slice(url.as_str().as_bytes()),
            None => key.extend_from_slice(part),
        }
        if self.ignore_case {
            key[start..].make_ascii_lowercase();
        }
    }
}

/// The normal form of a URL, or nothing if the bytes are no absolute URL.
fn normal_url(bytes: &[u8]) -> Option<Url> {
    let mut url = Url::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    url.set_fragment(None);
    if let Some(host) = url.domain().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
        // Refused only for a host that is empty without the dot: it then stays as it is.
        url.set_host(Some(&host)).ok();
    }
    Some(url)
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
            ("mailto:A@b.c", "mailto:A@b.c"),
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
