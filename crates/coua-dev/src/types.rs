//! The types of expressions, as far as known: enough to find the type whose method is called.

use std::collections::BTreeMap;

/// A type or trait of the crate, by number.
pub(crate) type TypeId = usize;

/// A type, without references and transparent wrappers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Ty {
    /// A type of this crate.
    Own(TypeId),
    /// A type of another crate, by its last name. All sequences are `Vec`, all iterators `Iter`.
    Other(String, Vec<Ty>),
    Tuple(Vec<Ty>),
    #[default]
    Unknown,
}

/// Transparent wrappers: methods are called on their content.
const TRANSPARENT: [&str; 11] = [
    "Arc",
    "Box",
    "Cow",
    "ManuallyDrop",
    "MutexGuard",
    "Pin",
    "Rc",
    "Ref",
    "RefMut",
    "RwLockReadGuard",
    "RwLockWriteGuard",
];
const SEQUENCES: [&str; 4] = ["BTreeSet", "HashSet", "VecDeque", "Vec"];
const ITERATORS: [&str; 7] = [
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "IntoIterator",
    "Iter",
    "IterMut",
    "Iterator",
    "Peekable",
];

/// Methods that return the content of an option.
const UNWRAPPING: [&str; 7] = [
    "expect",
    "get_or_insert_with",
    "insert",
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
    "unwrap_or_else",
];
/// Methods that return an option of something else.
const MAPPING: [&str; 6] = ["and_then", "err", "map", "map_or", "map_or_else", "zip"];
/// Methods that return an iterator of the same items.
const PASSING: [&str; 12] = [
    "by_ref",
    "chain",
    "cloned",
    "copied",
    "filter",
    "inspect",
    "peekable",
    "rev",
    "skip",
    "skip_while",
    "step_by",
    "take",
];
/// Methods that return one of many items.
const CHOOSING: [&str; 16] = [
    "back",
    "find",
    "first",
    "first_mut",
    "front",
    "get",
    "get_mut",
    "last",
    "last_mut",
    "max_by_key",
    "min_by_key",
    "next",
    "nth",
    "peek",
    "pop",
    "pop_front",
];
/// Methods that return the same value in another form.
const SAME: [&str; 10] = [
    "as_mut",
    "as_mut_slice",
    "as_ref",
    "as_slice",
    "borrow",
    "borrow_mut",
    "by_ref",
    "clone",
    "to_owned",
    "to_vec",
];

/// The place of a type in the source.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) module: &'a str,
    pub(crate) owner: Option<TypeId>,
    pub(crate) generics: BTreeMap<String, Ty>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(module: &'a str) -> Self {
        Self { module, owner: None, generics: BTreeMap::new() }
    }
}

impl Ty {
    /// A type of another crate, by its last name and its type arguments.
    pub(crate) fn named(name: String, mut of: Vec<Ty>) -> Self {
        match &*name {
            it if TRANSPARENT.contains(&it) => of.pop().unwrap_or_default(),
            it if SEQUENCES.contains(&it) => Self::other("Vec", of),
            it if ITERATORS.contains(&it) => Self::other("Iter", of),
            "Fn" | "FnMut" | "FnOnce" => Self::other("Fn", of),
            _ => Self::Other(name, of),
        }
    }

    pub(crate) fn other(name: &str, of: Vec<Ty>) -> Self {
        Self::Other(name.to_owned(), of)
    }

    /// The type of the items of a sequence, an iterator or an option.
    pub(crate) fn item(&self) -> Ty {
        match self {
            Self::Other(_, of) => of.first().cloned().unwrap_or_default(),
            _ => Self::Unknown,
        }
    }

    /// The return type of a method of the standard library.
    pub(crate) fn after(&self, method: &str, arguments: &[Ty]) -> Ty {
        let item = || self.item();
        let Self::Other(name, of) = self else {
            return if SAME.contains(&method) { self.clone() } else { Self::Unknown };
        };
        match (&**name, method) {
            ("RefCell", "borrow" | "borrow_mut") => item(),
            ("Option" | "Result", it) if UNWRAPPING.contains(&it) => item(),
            ("Option" | "Result" | "Vec", "iter" | "iter_mut" | "into_iter" | "drain") => {
                Self::other("Iter", vec![item()])
            }
            ("Iter", it) if PASSING.contains(&it) => self.clone(),
            ("Result", "ok") => Self::other("Option", vec![item()]),
            ("Vec" | "Iter", it) if CHOOSING.contains(&it) => Self::other("Option", vec![item()]),
            ("Option", "ok_or" | "ok_or_else") => Self::other("Result", vec![item()]),
            ("Mutex" | "RwLock", "lock" | "read" | "write" | "get_mut" | "into_inner") => {
                Self::other("Result", vec![item()])
            }
            ("HashMap" | "BTreeMap", "get" | "get_mut" | "remove") => {
                Self::other("Option", of.get(1).cloned().into_iter().collect())
            }
            ("HashMap" | "BTreeMap", "values" | "values_mut" | "into_values") => {
                Self::other("Iter", of.get(1).cloned().into_iter().collect())
            }
            ("Vec", "chunks" | "chunks_mut" | "windows" | "chunks_exact") => {
                Self::other("Iter", vec![self.clone()])
            }
            ("Iter", "enumerate") => {
                Self::other("Iter", vec![Self::Tuple(vec![Self::Unknown, item()])])
            }
            ("Iter", "zip") => {
                let with = arguments.first().map(Self::item).unwrap_or_default();
                Self::other("Iter", vec![Self::Tuple(vec![item(), with])])
            }
            ("Iter", _) => Self::Unknown,
            ("Option" | "Result", it) if !MAPPING.contains(&it) => self.clone(),
            (_, it) if SAME.contains(&it) => self.clone(),
            _ => Self::Unknown,
        }
    }
}
