//! Keys that JSON pointers find.

use crate::key::block_keys::{Missing, Parts};
use crate::key::regex::LatinText;
use crate::record::MARK;
use crate::terminal::{Failure, Result};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// In a key value longer than this, blanks and the order of members count: to sort them takes several times the memory.
const MOST_CANONICAL: usize = 16 << 20;

/// Levels of a value that is a key in which blanks and the order of members do not count.
const MOST_LEVELS: usize = 100;

/// JSON pointers (RFC 6901).
#[derive(Clone, Debug)]
pub(crate) struct Pointers {
    all: Arc<[Pointer]>,
    /// The key is the whole record without what these lead to; otherwise each leads to a part of the key.
    are_excepted: bool,
}

#[derive(Debug)]
struct Pointer {
    text: Arc<str>,
    tokens: Vec<String>,
}

impl Pointers {
    /// The pointers after an option that lead to the parts of the key.
    pub(crate) fn new(option: &str, texts: &[String]) -> Result<Self> {
        let all = texts.iter().map(|text| Pointer::parse(option, text));
        Ok(Self { all: all.collect::<Result<_, _>>()?, are_excepted: false })
    }

    /// The whole record without what the pointers after an option lead to.
    pub(crate) fn all_but(option: &str, texts: &[String]) -> Result<Self> {
        Ok(Self { are_excepted: true, ..Self::new(option, texts)? })
    }

    /// The number of parts.
    pub(super) fn parts(&self) -> usize {
        if self.are_excepted { 1 } else { self.all.len() }
    }

    pub(crate) fn find(&self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        let broken = || match record.trim_ascii() {
            [b'[', ..] => Missing::Array,
            [b'{'] => Missing::JsonLines,
            _ => Missing::BrokenJson,
        };
        if self.find_in(record, parts).is_err() {
            parts.clear();
            let repaired = repaired(record).ok_or_else(broken)?;
            self.find_in(&repaired, parts).map_err(|_| broken())?;
        }
        let is_array = || record.trim_ascii_start().starts_with(b"[");
        if parts.absent.is_some() && is_array() { Err(Missing::Array) } else { Ok(()) }
    }

    /// Returns an error if the record is not JSON.
    fn find_in(&self, record: &[u8], parts: &mut Parts) -> serde_json::Result<()> {
        if self.are_excepted {
            let record: &RawValue = serde_json::from_slice(record)?;
            let excepted: Vec<_> = self.all.iter().map(|it| &*it.tokens).collect();
            parts.push(canonical(record.get(), MOST_LEVELS, &excepted).as_bytes());
            return Ok(());
        }
        for pointer in self.all.iter() {
            let is_value = |value: &&str| !["null", NAN].contains(value);
            match pointer.walk(record)?.map(RawValue::get).filter(is_value) {
                Some(value) => push_value(value, parts)?,
                None => parts.push_absent(Missing::Pointer(pointer.text.clone())),
            }
        }
        Ok(())
    }
}

/// What [`repaired`] makes of NaN.
const NAN: &str = r#""\u0000NaN""#;

/// Repairs JSON of less strict programs: a byte order mark, Latin-1 letters, and NaN and infinities, which become strings
/// that begin with a NUL character. None if the record contains none of these.
fn repaired(record: &[u8]) -> Option<Vec<u8>> {
    let unmarked = record.strip_prefix(&MARK).unwrap_or(record);
    let latin = std::str::from_utf8(unmarked).is_err().then(|| LatinText::of(unmarked));
    let text = latin.as_ref().map_or(unmarked, LatinText::as_bytes);
    let mut repaired = Vec::with_capacity(text.len());
    let (mut quoted, mut at) = (false, 0);
    while at < text.len() {
        let rest = &text[at..];
        let no_number = [&b"NaN"[..], b"Infinity", b"-Infinity"];
        let no_number = no_number.iter().find(|word| !quoted && rest.starts_with(word));
        let taken = match (no_number, rest) {
            (Some(word), _) => {
                repaired.extend_from_slice(&[br#""\u0000"#, *word, b"\""].concat());
                at += word.len();
                continue;
            }
            (None, [b'\\', _, ..]) => 2,
            (None, [first, ..]) => {
                quoted ^= *first == b'"';
                1
            }
            (None, []) => break,
        };
        repaired.extend_from_slice(&rest[..taken]);
        at += taken;
    }
    (repaired != record).then_some(repaired)
}

impl Pointer {
    fn parse(option: &str, text: &str) -> Result<Self> {
        if !text.is_empty() && !text.starts_with('/') {
            let reason = format_args!("a JSON pointer begins with a slash; use {}", proposed(text));
            return Err(Failure::at(format_args!("{option} {text}"), reason));
        }
        let tokens = text.split('/').skip(1);
        let tokens: Vec<_> =
            tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { text: text.into(), tokens })
    }

    /// The text of the value; checks that the whole record is JSON.
    fn walk<'r>(&self, record: &'r [u8]) -> serde_json::Result<Option<&'r RawValue>> {
        let Some((first, others)) = self.tokens.split_first() else {
            return serde_json::from_slice(record).map(Some);
        };
        let mut found = child(record, first)?;
        for token in others {
            let Some(value) = found else { return Ok(None) };
            found = child(value.get().as_bytes(), token)?;
        }
        Ok(found)
    }
}

/// The pointer for a path as `jq` (`.a[0].b`) and `JSONPath` (`$.a[0].b`) write it.
fn proposed(text: &str) -> String {
    let path = text.strip_prefix('$').unwrap_or(text);
    if !path.starts_with(['.', '[']) {
        return format!("/{text}");
    }
    let is_end = |letter: char| matches!(letter, '.' | '[' | ']' | '"' | '\'');
    path.split(is_end).filter(|token| !token.is_empty()).flat_map(|token| ["/", token]).collect()
}

/// The child that the token names in a JSON text, if that is an object or an array.
fn child<'r>(text: &'r [u8], token: &str) -> serde_json::Result<Option<&'r RawValue>> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let found = match text.trim_ascii_start().first() {
        Some(b'{') => json.deserialize_map(Child(token)),
        Some(b'[') => json.deserialize_seq(Child(token)),
        _ => IgnoredAny::deserialize(&mut json).map(|_| None),
    }?;
    json.end()?;
    Ok(found)
}

/// Strings as their content, other values as their canonical text.
fn push_value(text: &str, parts: &mut Parts) -> serde_json::Result<()> {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(content) if !content.contains('\\') => parts.push(content.as_bytes()),
        Some(_) => {
            let mut json = serde_json::Deserializer::from_str(text);
            json.deserialize_bytes(StringContent(|content: &[u8]| parts.push(content)))?;
        }
        None if text.len() > MOST_CANONICAL => parts.push(text.as_bytes()),
        None => parts.push(canonical(text, MOST_LEVELS, &[]).as_bytes()),
    }
    Ok(())
}

/// JSON text without blanks, with the members of objects in order of their names, and strings with as few escapes as
/// they need, as in RFC 8785. Numbers are not changed: as doubles, several large ones would become equal.
/// Below `levels` levels the text is unchanged. Leaves out the values to which the tokens of `excepted` lead.
fn canonical(text: &str, levels: usize, excepted: &[&[String]]) -> String {
    let below = |value: &RawValue, name: &[u8]| {
        let inside = excepted.iter().filter_map(|tokens| tokens.split_first());
        let inside = inside.filter_map(|(first, rest)| (first.as_bytes() == name).then_some(rest));
        canonical(value.get(), levels - 1, &inside.collect::<Vec<_>>())
    };
    let is_excepted =
        |name: &[u8]| excepted.iter().any(|it| it.len() == 1 && it[0].as_bytes() == name);
    let kept = || text.to_owned();
    match text.as_bytes().first() {
        _ if levels == 0 => kept(),
        Some(b'{') => serde_json::from_str(text).map_or_else(
            |_| kept(),
            |members: BTreeMap<Content, &RawValue>| {
                let kept = members.into_iter().filter(|(name, _)| !is_excepted(&name.0));
                let member = |(name, value): (Content, _)| {
                    format!("{}:{}", name.quoted(), below(value, &name.0))
                };
                format!("{{{}}}", kept.map(member).collect::<Vec<_>>().join(","))
            },
        ),
        Some(b'[') => serde_json::from_str(text).map_or_else(
            |_| kept(),
            |items: Vec<&RawValue>| {
                let items =
                    items.into_iter().zip(0..).map(|(item, n): (_, usize)| (item, n.to_string()));
                let kept = items.filter(|(_, index)| !is_excepted(index.as_bytes()));
                let item = |(item, index): (_, String)| below(item, index.as_bytes());
                format!("[{}]", kept.map(item).collect::<Vec<_>>().join(","))
            },
        ),
        Some(b'"') => serde_json::from_str(text).map_or_else(|_| kept(), |it: Content| it.quoted()),
        _ => kept(),
    }
}

/// The content of a string, perhaps with half a surrogate pair.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Content(Vec<u8>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_bytes(StringContent(|content: &[u8]| Self(content.to_vec())))
    }
}

impl Content {
    fn quoted(&self) -> String {
        match str::from_utf8(&self.0) {
            Ok(text) => serde_json::Value::from(text).to_string(),
            Err(_) => format!("\"{}\"", self.0.escape_ascii()),
        }
    }
}

/// Calls a function with the content of a string. Half a surrogate pair becomes the three bytes that UTF-8 would have for
/// it.
struct StringContent<F>(F);

impl<T, F: FnOnce(&[u8]) -> T> Visitor<'_> for StringContent<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, content: &[u8]) -> Result<T, E> {
        Ok(self.0(content))
    }
}

/// Finds the child of this name; of equal names in an object, the last one counts.
struct Child<'p>(&'p str);

impl<'de> Visitor<'de> for Child<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Name(self.0))? {
            if is_it {
                found = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        // Skips all elements, if the name is not an index.
        let mut before = 0..index(self.0).unwrap_or(usize::MAX);
        while before.next().is_some() && items.next_element::<IgnoredAny>()?.is_some() {}
        let found = items.next_element()?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

/// An array index as RFC 6901 writes it: no sign, no leading zero.
fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    (canonical && token.bytes().all(|b| b.is_ascii_digit())).then(|| token.parse().ok()).flatten()
}

/// Compares the name of a member with this one.
struct Name<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_bytes(StringContent(|name: &[u8]| name == self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pointer: &str, record: &str) -> Result<String, Missing> {
        let mut parts = Parts::default();
        let pointers = Pointers::new("--json", &[pointer.to_owned()]).unwrap();
        pointers.find(record.as_bytes(), &mut parts)?;
        parts.absent.take().map_or(Ok(()), |(_, why)| Err(why))?;
        Ok(parts.iter().map(|part| String::from_utf8(part.to_vec()).unwrap()).collect())
    }

    fn bytes(pointer: &str, record: &[u8]) -> Vec<u8> {
        let mut parts = Parts::default();
        Pointers::new("--json", &[pointer.to_owned()]).unwrap().find(record, &mut parts).unwrap();
        parts.bytes
    }

    fn nothing(pointer: &str) -> Result<String, Missing> {
        Err(Missing::Pointer(pointer.into()))
    }

    #[test]
    fn pointers_follow_rfc_6901() {
        let json =
            r#"{"a": {"b/c": [1, {"~": "x\n"}]}, "": 5, "a b": [ 1 , "q \" r" ], "n": null}"#;
        for (pointer, key) in [
            ("/a/b~1c/0", "1"),
            ("/a/b~1c/1/~0", "x\n"),
            ("/", "5"),
            ("/a b", r#"[1,"q \" r"]"#),
            ("/a", r#"{"b/c":[1,{"~":"x\n"}]}"#),
        ] {
            assert_eq!(found(pointer, json).as_deref(), Ok(key), "{pointer}");
        }
        for pointer in ["/b", "/a/b~1c/2", "/a/b~1c/00", "/a/b~1c/-", "/n", "/n/x", "//y"] {
            assert_eq!(found(pointer, json), nothing(pointer), "{pointer}");
        }
        assert_eq!(found("", " \"all\" ").as_deref(), Ok("all"));
    }

    #[test]
    fn all_of_a_record_must_be_json() {
        for broken in [
            "",
            "{}}",
            r#"{"a":1"#,
            r#"{"a":1} x"#,
            r#"{"a":1,}"#,
            "nul",
            r#"{"a":NaN"#,
            r#"{"a":nan}"#,
        ] {
            assert_eq!(found("/a", broken), Err(Missing::BrokenJson), "{broken}");
        }
        assert_eq!(found("/a", " {\r"), Err(Missing::JsonLines));
    }

    #[test]
    fn records_as_lenient_programs_write_them() {
        assert_eq!(found("/a", r#"{"x":NaN,"a":"NaN","y":[-Infinity,Infinity]}"#).unwrap(), "NaN");
        assert_eq!(found("/a", r#"{"x":"\"NaN","a":NaN}"#), nothing("/a"));
        assert_eq!(found("/a", r#"{"a":-Infinity}"#).unwrap(), "\0-Infinity");
        assert_eq!(found("/a", "\u{feff}{\"a\":1}").unwrap(), "1");
        assert_eq!(bytes("/a", b"{\"a\":\"caf\xe9\",\"b\":Infinity}"), "caf\u{e9}".as_bytes());
        assert_eq!(bytes("/a", b"{\"\xe9\":1,\"a\":2}"), b"2");
    }

    #[test]
    fn halves_of_surrogate_pairs_are_told_apart() {
        assert_eq!(bytes("/a", br#"{"a":"x\ud83d"}"#), b"x\xed\xa0\xbd");
        assert_eq!(bytes("/a", br#"{"a":"x\ud83e"}"#), b"x\xed\xa0\xbe");
        assert_eq!(bytes("/a", br#"{"\ud83e":"\ud83e","a":1}"#), b"1");
        let inside = |half: &str| found("/a", &format!(r#"{{"a":["{half}"]}}"#)).unwrap();
        assert_ne!(inside(r"\ud83d"), inside(r"\ud83e"));
    }

    #[test]
    fn order_and_escapes_in_a_key_do_not_count() {
        let key =
            found("", r#"{ "b" : [1.0, {"d":"\u0041\/","c":null}], "a" : 12345678901234567890 }"#);
        let canonical = r#"{"a":12345678901234567890,"b":[1.0,{"c":null,"d":"A/"}]}"#;
        assert_eq!(key.as_deref(), Ok(canonical));
        assert_eq!(found("", canonical).as_deref(), Ok(canonical));
        assert_ne!(found("", "[1.0]"), found("", "[1]"), "numbers stay as they are");
        assert_eq!(found("", r#"{"a":1,"a":2}"#).as_deref(), Ok(r#"{"a":2}"#));
    }

    #[test]
    fn an_array_of_records_is_named() {
        for record in [r#"[{"a":1}]"#, "[", "  [{"] {
            assert_eq!(found("/a", record), Err(Missing::Array), "{record}");
        }
        assert_eq!(found("/0/a", r#"[{"a":1}]"#).unwrap(), "1");
    }

    #[test]
    fn paths_of_other_programs_become_pointers() {
        for (path, pointer) in [
            (".a", "/a"),
            (".a.b", "/a/b"),
            ("$.a.b", "/a/b"),
            (".a[0].b", "/a/0/b"),
            ("$['a b'].c", "/a b/c"),
            ("id", "/id"),
            ("$id", "/$id"),
        ] {
            assert_eq!(proposed(path), pointer, "{path}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(found("", &deep).unwrap() == deep);
        assert!(found("/1", &deep) == Err(Missing::Array));
    }

    #[test]
    fn a_number_has_no_children_however_large_it_is() {
        assert_eq!(found("/a/b", r#"{"a":1e999}"#), nothing("/a/b"));
        assert_eq!(found("/a", "1e999"), nothing("/a"));
        assert_eq!(found("/a", r#"{"a":1e999}"#).as_deref(), Ok("1e999"));
        assert_eq!(found("/a/b", r#"{"a":1e}"#), Err(Missing::BrokenJson));
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        assert_eq!(found("/a", r#"{"a":1,"a":2}"#).as_deref(), Ok("2"));
        assert_eq!(found("/a/b", r#"{"a":{"b":1},"a":{"b":2,"b":3}}"#).as_deref(), Ok("3"));
        assert_eq!(found("/a/b", r#"{"a":{"b":1},"a":2}"#), nothing("/a/b"));
    }

    #[test]
    fn a_pointer_begins_with_a_slash() {
        assert!(Pointers::new("--json", &["id".to_owned()]).is_err());
    }

    #[test]
    fn whole_records_without_some_values() {
        let key = |pointers: &[&str], record: &str| {
            let texts: Vec<_> = pointers.iter().map(|it| (*it).to_owned()).collect();
            let mut parts = Parts::default();
            Pointers::all_but("--except", &texts).unwrap().find(record.as_bytes(), &mut parts)?;
            Ok(String::from_utf8(parts.bytes).unwrap())
        };
        let record = r#"{"t": 1, "b": {"c": [5, 6], "t": 2}, "a": "\u0041"}"#;
        for (pointers, expected) in [
            (&["/t"][..], r#"{"a":"A","b":{"c":[5,6],"t":2}}"#),
            (&["/b/t", "/b/c/0", "/x"], r#"{"a":"A","b":{"c":[6]},"t":1}"#),
            (&["/b", "/b/t", "/a"], r#"{"t":1}"#),
            (&["/a/b"], r#"{"a":"A","b":{"c":[5,6],"t":2},"t":1}"#),
        ] {
            assert_eq!(key(pointers, record).as_deref(), Ok(expected), "{pointers:?}");
        }
        let halves = r#"{"t":2,"\ud800":"\uD801\n","a":0}"#;
        let expected = r#"{"a":0,"\xed\xa0\x80":"\xed\xa0\x81\n"}"#;
        assert_eq!(key(&["/t"], halves).as_deref(), Ok(expected));
        assert_eq!(key(&["/t"], r#"{"t":1,"v":NaN}"#).as_deref(), Ok(r#"{"v":"\u0000NaN"}"#));
        assert_eq!(key(&["/t"], "{"), Err(Missing::JsonLines));
        assert_eq!(key(&["/t"], "{}}"), Err(Missing::BrokenJson));
    }
}
