//! Different spellings of one key.

use crate::key::url_form::{Case, UrlForm};
use crate::terminal::{Failure, Result, printable};
use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// The differences between keys to ignore.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<String>", try_from = "Vec<String>")]
pub(crate) struct Normalize {
    pub(crate) trim: bool,
    pub(crate) url: Option<UrlForm>,
    pub(crate) ignore_case: bool,
    /// The composition of Unicode letters; with `ignore_case`, the case of all letters.
    pub(crate) unicode: bool,
}

/// The names of their options, each with its value.
impl From<Normalize> for Vec<String> {
    fn from(normalize: Normalize) -> Self {
        let Normalize { trim, url, ignore_case, unicode } = normalize;
        let url = url.map(|form| match form.to_string() {
            options if options.is_empty() => "url".to_owned(),
            options => format!("url={options}"),
        });
        let given = |is_given: bool, word: &str| is_given.then(|| word.to_owned());
        let all = [
            given(ignore_case, "ignore-case"),
            given(trim, "trim"),
            given(unicode, "unicode"),
            url,
        ];
        all.into_iter().flatten().collect()
    }
}

impl TryFrom<Vec<String>> for Normalize {
    type Error = String;

    fn try_from(words: Vec<String>) -> Result<Self, String> {
        let mut normalize = Self::default();
        for word in words {
            match word.split_once('=').unwrap_or((&word, "")) {
                ("ignore-case", "") => normalize.ignore_case = true,
                ("trim", "") => normalize.trim = true,
                ("unicode", "") => normalize.unicode = true,
                ("url", options) => normalize.url = Some(options.parse()?),
                _ => return Err(format!("unknown word {word:?}")),
            }
        }
        Ok(normalize)
    }
}

/// Writes the options.
impl Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Vec::from(self.clone());
        let options: Vec<_> = words.iter().map(|word| format!("--{word}")).collect();
        f.write_str(if options.is_empty() { "no option" } else { "" })?;
        f.write_str(&printable(&options.join(" ")))
    }
}

impl Normalize {
    /// Returns an error if the keys of the filter `name` are normalized differently.
    pub(crate) fn check_same(&self, filters: &Self, name: impl Display) -> Result<()> {
        if self == filters {
            return Ok(());
        }
        let reason = format!(
            "its keys were made with {filters}, not with {self}; use the same options, or another filter"
        );
        Err(Failure::at(name, reason))
    }

    pub(crate) fn does_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a part is empty after normalization.
    pub(crate) fn is_empty(&self, part: &[u8]) -> bool {
        part.is_empty() || self.trim && part.trim_ascii().is_empty()
    }

    /// Appends the normalized `part` to `key`.
    pub(crate) fn append(&self, part: &[u8], key: &mut Vec<u8>) {
        let part = if self.trim { part.trim_ascii() } else { part };
        if self.unicode && !part.is_ascii() {
            let mut text = Vec::with_capacity(part.len());
            self.append_unicode(part, &mut text);
            self.append_bytes(&text, key);
        } else {
            self.append_bytes(part, key);
        }
    }

    fn append_bytes(&self, part: &[u8], key: &mut Vec<u8>) {
        let start = key.len();
        let case = if self.ignore_case { Case::Ignored } else { Case::Counts };
        let is_url = self.url.as_ref().and_then(|form| form.append(part, case, key)).is_some();
        if !is_url {
            key.extend_from_slice(part);
        }
        if self.ignore_case {
            key[start..].make_ascii_lowercase();
        }
    }

    /// Appends a text in normal form C (UAX 15), with the case folded if it is ignored (Unicode, section 3.13:
    /// a canonical caseless match). Bytes that are not UTF-8 are unchanged.
    fn append_unicode(&self, part: &[u8], text: &mut Vec<u8>) {
        let nfc = ComposingNormalizer::new_nfc();
        for chunk in part.utf8_chunks() {
            let valid = chunk.valid();
            let normal = if self.ignore_case {
                let decomposed = DecomposingNormalizer::new_nfd().normalize(valid);
                let folded = CaseMapper::new().fold_string(&decomposed).into_owned();
                nfc.normalize(&folded).into_owned().into()
            } else {
                nfc.normalize(valid)
            };
            text.extend_from_slice(normal.as_bytes());
            text.extend_from_slice(chunk.invalid());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(normalize: &Normalize, part: impl AsRef<[u8]>) -> Vec<u8> {
        let mut key = Vec::new();
        normalize.append(part.as_ref(), &mut key);
        key
    }

    #[test]
    fn case_and_blanks() {
        let both = Normalize { trim: true, ignore_case: true, ..Normalize::default() };
        assert_eq!(normal(&both, b"\t AbC \xc3\x84\r"), b"abc \xc3\x84");
        assert!(Normalize::default().does_nothing());
        assert_eq!(normal(&Normalize::default(), b" A "), b" A ");
    }

    #[test]
    fn texts_of_unicode() {
        let unicode = Normalize { unicode: true, ..Normalize::default() };
        let folded = Normalize { ignore_case: true, ..unicode.clone() };
        let text = |normalize, part: &str| String::from_utf8(normal(normalize, part)).unwrap();
        for (part, composed, without_case) in [
            ("Ab", "Ab", "ab"),
            ("A\u{30a}", "\u{c5}", "\u{e5}"),
            ("\u{212b}", "\u{c5}", "\u{e5}"),
            ("Stra\u{df}e", "Stra\u{df}e", "strasse"),
            ("\u{3a3}\u{3c2}", "\u{3a3}\u{3c2}", "\u{3c3}\u{3c3}"),
            ("\u{1f9b}", "\u{1f9b}", "\u{1f23}\u{3b9}"),
            ("\u{fb01}", "\u{fb01}", "fi"),
        ] {
            assert_eq!(text(&unicode, part), composed, "{part}");
            assert_eq!(text(&folded, part), without_case, "{part}");
        }
        assert_eq!(normal(&folded, b"\xffA\xcc\x8a\xff\xc3"), b"\xff\xc3\xa5\xff\xc3");
        let url = Normalize { url: Some(UrlForm::default()), ..unicode };
        assert_eq!(text(&url, "http://a.example/u\u{308}"), "http://a.example/%C3%BC");
    }

    #[test]
    fn parameters_of_urls_without_case() {
        for (options, spelling, form) in [
            ("sort-query", "http://a.b/?Id=1&b=2&%41=3", "http://a.b/?a=3&b=2&id=1"),
            ("sort-query", "http://a.b/C?b=2&a=3&id=%2f", "http://a.b/c?a=3&b=2&id=%2f"),
            ("drop=utm_*", "http://a.b/?UTM_Source=x&c", "http://a.b/?c"),
            ("drop=UTM_*", "http://a.b/?utm_source=x", "http://a.b/"),
            ("shape", "http://a.b/?Z=1&a=2&z=3", "http://a.b/?a&z"),
        ] {
            let url = Some(options.parse().unwrap());
            let normalize = Normalize { url, ignore_case: true, ..Normalize::default() };
            assert_eq!(normal(&normalize, spelling), form.as_bytes(), "{options} {spelling}");
        }
    }

    #[test]
    fn words_and_back() {
        let url = Some("no-www,drop=a".parse().unwrap());
        let all = Normalize { trim: true, url, ignore_case: true, unicode: true };
        let words = Vec::from(all.clone());
        assert_eq!(words, ["ignore-case", "trim", "unicode", "url=drop=a,no-www"]);
        assert_eq!(Normalize::try_from(words), Ok(all));
        for later in ["stem", "trim=left", "url=later"] {
            assert!(Normalize::try_from(vec![later.to_owned()]).is_err(), "{later}");
        }
    }
}
