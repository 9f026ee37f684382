//! The key options that a filter stores. Normalization, the differences between keys that it ignores, belongs to the
//! filter; options that select keys belong to the inputs.

use crate::key::url::{Case, UrlForm};
use crate::terminal::{Failure, Report, Result, counted, printable};
use coua_store::Notes;
use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// The key options. The names are those of the command line; as JSON they are part of the file format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeySpec {
    /// The options that select keys, with their values. Empty if a key is a whole record.
    pub(crate) find: BTreeMap<String, Vec<String>>,
    /// The number of parts of every key; 0 if it differs or is unknown.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) parts: usize,
    /// The differences to ignore. An unknown word means that a later version created the filter.
    pub(crate) normalize: Normalize,
}

/// Options that say how the records of a filter end, and those of a run that say it too.
const OF_RECORDS: [&str; 2] = ["delimiter", "null"];
const OF_ENDS: [&str; 4] = ["csv", "delimiter", "null", "tsv"];

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(parts: &usize) -> bool {
    *parts == 1
}

impl KeySpec {
    /// The note in which a filter stores this.
    pub(crate) const NOTE: &str = "coua/keys";

    /// Reads it from the notes of a filter, if it has one.
    pub(crate) fn of(notes: &Notes, filter: impl Display) -> Result<Option<Self>> {
        notes.get(Self::NOTE).map(|note| Self::of_note(note, filter)).transpose()
    }

    /// Reads it from this note of a filter.
    pub(crate) fn of_note(note: &[u8], filter: impl Display) -> Result<Self> {
        serde_json::from_slice(note).map_err(|_| {
            let reason = "its keys were made by a later version of coua in a way that this one does not know; use that \
                          version";
            Failure::at(filter, reason)
        })
    }

    /// Writes it as a note.
    pub(crate) fn to_note(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns an error if the keys of the filter `name` have another form than these of the filter `first`. Keys with one
    /// number of parts are alike however they were selected.
    pub(crate) fn check_same(
        &self,
        first: impl Display,
        other: &Self,
        name: impl Display,
    ) -> Result<()> {
        self.normalize.check_same(&other.normalize, &name)?;
        let are_read_alike = self.options(&OF_RECORDS) == other.options(&OF_RECORDS);
        let is_same = self.find == other.find || self.parts == other.parts && self.parts > 0;
        if is_same && are_read_alike {
            return Ok(());
        }
        let reason = format!(
            "its keys were made in another way ({other}) than those of {first} ({self}); add the records of one to \
             the other filter, with `coua add`"
        );
        Err(Failure::at(name, reason))
    }

    /// Returns an error if these keys of a run can never equal those of the filter `name`.
    pub(crate) fn check_parts(&self, filters: &Self, name: impl Display) -> Result<()> {
        let [own, other] = [self.parts, filters.parts];
        if own == other || own == 0 || other == 0 {
            return Ok(());
        }
        let count = |parts: usize| counted(parts as u64, "part");
        let reason = format!(
            "its keys have {} ({filters}), not {}, so none would be equal; select as many, or use another filter",
            count(other),
            count(own)
        );
        Err(Failure::at(name, reason))
    }

    /// Returns an error if the records added to the filter `name` were read in a way that this run leaves open.
    pub(crate) fn check_records(&self, filters: &Self, name: impl Display) -> Result<()> {
        let needed = filters.options(&OF_RECORDS);
        if needed.is_empty() || !self.options(&OF_ENDS).is_empty() {
            return Ok(());
        }
        let default = "--delimiter '\\n' for lines";
        let reason = format!("its records were read with {needed}; add that, or {default}");
        Err(Failure::at(name, reason))
    }

    /// What may be missing in a run with these keys, if nothing is found in a filter with those.
    pub(crate) fn missing_finders(&self, filters: &Self) -> Option<String> {
        let is_other = self.find != filters.find && !filters.find.is_empty();
        is_other.then(|| {
            let finders = filters.finders();
            format!("its keys were selected with {finders}; add that, unless each record is a key")
        })
    }

    /// How the keys of a run were selected that go to a filter with keys that were selected otherwise.
    pub(crate) fn other_finders(&self, filters: &Self) -> Option<String> {
        if self.find == filters.find {
            return None;
        }
        let [ours, theirs] = [self, filters].map(|keys| {
            let of_keys = |option: &&str| !OF_RECORDS.contains(option);
            let options: Vec<_> = keys.find.keys().map(String::as_str).filter(of_keys).collect();
            match keys.options(&options) {
                finders if finders.is_empty() => "are whole records".to_owned(),
                finders => format!("were selected with {finders}"),
            }
        });
        (ours != theirs).then(|| format!("its keys {theirs}, and those of this run {ours}"))
    }

    /// The options that select keys, as on the command line.
    pub(crate) fn finders(&self) -> String {
        self.options(&self.find.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// Those of `wanted` that it has, as on the command line.
    fn options(&self, wanted: &[&str]) -> String {
        let found = self.find.iter().filter(|(option, _)| wanted.contains(&option.as_str()));
        let options = found.flat_map(|(option, values)| {
            let of_value = move |value: &String| {
                let value = if value.is_empty() { "" } else { &format!(" {}", quoted(value)) };
                printable(&format!("--{option}{value}"))
            };
            values.iter().map(of_value)
        });
        options.collect::<Vec<_>>().join(" ")
    }

    /// Adds the options to the report about a filter.
    pub(crate) fn write_report(&self, report: &mut Report) {
        report.field("key_options", json!(self));
        report.row("key options", self.to_string());
    }
}

impl Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finders() {
            finders if finders.is_empty() => f.write_str("whole records")?,
            finders => f.write_str(&finders)?,
        }
        if self.normalize.does_nothing() { Ok(()) } else { write!(f, ", {}", self.normalize) }
    }
}

/// A value, quoted for a shell if needed.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@+%".contains(c);
    if value.chars().all(is_plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', r"'\''"))
    }
}

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
        let all = [(ignore_case, "ignore-case"), (trim, "trim"), (unicode, "unicode")];
        let words = all.into_iter().filter(|(is_given, _)| *is_given);
        words.map(|(_, word)| word.to_owned()).chain(url).collect()
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
        let Self { trim, url, ignore_case, unicode } = self;
        !(*trim || url.is_some() || *ignore_case || *unicode)
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

    fn spec(find: &[(&str, &[&str])], normalize: Normalize) -> KeySpec {
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let find = find.iter().map(|(option, values)| ((*option).to_owned(), owned(values)));
        KeySpec { find: find.collect(), parts: 1, normalize }
    }

    #[test]
    fn options_are_shown_as_they_are_written() {
        let both = Normalize { trim: true, ignore_case: true, ..Normalize::default() };
        let found = spec(&[("csv", &["id", "a b"]), ("null", &[""])], both);
        assert_eq!(found.to_string(), "--csv id --csv 'a b' --null, --ignore-case --trim");
        assert_eq!(spec(&[], Normalize::default()).to_string(), "whole records");
        let forged = spec(&[("x\u{1b}", &["a\nitems 7"])], Normalize::default());
        assert_eq!(forged.to_string(), r"--x\u{1b} 'a\nitems 7'");
        let regex = spec(&[("regex", &["it's (.)"])], Normalize::default());
        assert_eq!(regex.to_string(), r"--regex 'it'\''s (.)'");
    }

    #[test]
    fn the_note_is_kept_as_it_was() {
        let found = spec(
            &[("json", &["/id"])],
            Normalize { url: Some(UrlForm::default()), ..Normalize::default() },
        );
        let note = r#"{"find":{"json":["/id"]},"normalize":["url"]}"#;
        assert_eq!(String::from_utf8(found.to_note()).unwrap(), note);
        assert_eq!(serde_json::from_str::<KeySpec>(note).unwrap(), found);
        let two = KeySpec { parts: 2, ..found };
        let note_of_two = String::from_utf8(two.to_note()).unwrap();
        assert_eq!(note_of_two, note.replace("},", r#"},"parts":2,"#));
        assert_eq!(serde_json::from_str::<KeySpec>(&note_of_two).unwrap(), two);
        let later = note.replace("url", "stem");
        assert!(
            serde_json::from_str::<KeySpec>(&later).is_err(),
            "keys would be made in another way"
        );
        let finder = note.replace("json", "xml");
        assert!(serde_json::from_str::<KeySpec>(&finder).is_ok(), "that is only told");
    }

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
