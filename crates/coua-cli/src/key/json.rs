//! Keys that JSON pointers find.

use crate::key::parts::{Missing, Parts};
use crate::terminal::{Failure, Result};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// JSON pointers (RFC 6901), each a part of the key.
#[derive(Clone, Debug)]
pub(crate) struct Pointers(Arc<[Pointer]>);

#[derive(Debug)]
struct Pointer {
    text: Arc<str>,
    tokens: Vec<String>,
}

impl Pointers {
    pub(crate) fn new(texts: &[String]) -> Result<Self> {
        texts.iter().map(|text| Pointer::parse(text)).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn find(&self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        for pointer in self.0.iter() {
            let value = pointer.walk(record).map_err(|_| Missing::BrokenJson)?;
            let value = value.map(RawValue::get).filter(|value| *value != "null");
            push_value(value.ok_or_else(|| Missing::Pointer(pointer.text.clone()))?, parts)?;
        }
        Ok(())
    }
}

impl Pointer {
    fn parse(text: &str) -> Result<Self> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(Failure::at(
                format_args!("--json {text}"),
                format_args!("a JSON pointer begins with a slash: /{text}"),
            ));
        }
        let tokens = text.split('/').skip(1);
        let tokens: Vec<_> =
            tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { text: text.into(), tokens })
    }

    /// The value's own text; all of the record is checked for being JSON.
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

/// What the token names in a JSON text, if that is an object or an array.
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

/// Strings as their content, other values as their text without blanks.
fn push_value(text: &str, parts: &mut Parts) -> Result<(), Missing> {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(content) if !content.contains('\\') => parts.push(content.as_bytes()),
        Some(_) => {
            let content: String = serde_json::from_str(text).map_err(|_| Missing::BrokenJson)?;
            parts.push(content.as_bytes());
        }
        None => parts.push(without_blanks(text).as_bytes()),
    }
    Ok(())
}

/// JSON text without the blanks between its tokens.
fn without_blanks(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let significant = |c: &char| {
        let keep = quoted || !c.is_ascii_whitespace();
        if *c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && *c == '\\' && !escaped;
        keep
    };
    text.chars().filter(significant).collect()
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
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                found = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        // All of them, if it is no index.
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

/// The name of a member, not copied unless it has escapes.
#[derive(Deserialize)]
struct Name<'j>(#[serde(borrow)] Cow<'j, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pointer: &str, record: &str) -> Result<String, Missing> {
        let mut parts = Parts::default();
        Pointers::new(&[pointer.to_owned()]).unwrap().find(record.as_bytes(), &mut parts)?;
        Ok(parts.iter().map(|part| String::from_utf8(part.to_vec()).unwrap()).collect())
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
        for broken in
            ["", "{", r#"{"a":1"#, r#"{"a":1} x"#, r#"{"a":1,}"#, "nul", r#"{"a":"\ud800"}"#]
        {
            assert_eq!(found("/a", broken), Err(Missing::BrokenJson), "{broken}");
        }
        let mut parts = Parts::default();
        let pointers = Pointers::new(&["/a".to_owned()]).unwrap();
        assert_eq!(pointers.find(b"{\"a\":\"\xff\"}", &mut parts), Err(Missing::BrokenJson));
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(found("", &deep).unwrap() == deep);
        assert!(found("/1", &deep) == nothing("/1"));
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
        assert!(Pointers::new(&["id".to_owned()]).is_err());
    }
}
