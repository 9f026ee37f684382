//! What is known of the types of expressions: enough to say whose method a call names.

use std::collections::BTreeMap;

use syn::{
    GenericArgument, GenericParam, Generics, PathArguments, ReturnType, Type, TypeParamBound,
    WherePredicate,
};

use crate::index::{Definition, Index, TypeId, names};

/// A type, without references and what is read through like them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Ty {
    /// Of the crate.
    Own(TypeId),
    /// Of another crate, by its last name. All sequences are `Vec`, all iterators `Iter`.
    Other(String, Vec<Ty>),
    Tuple(Vec<Ty>),
    #[default]
    Unknown,
}

/// What is read through: a method of what lies in it is called as if it were it.
const TRANSPARENT: [&str; 10] = [
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
];
const SEQUENCES: [&str; 4] = ["BTreeSet", "HashSet", "VecDeque", "Vec"];
const ITERATORS: [&str; 5] =
    ["DoubleEndedIterator", "ExactSizeIterator", "IntoIterator", "Iterator", "Peekable"];
const CALLABLE: [&str; 3] = ["Fn", "FnMut", "FnOnce"];

/// Where a type is written.
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
    fn other(name: &str, of: Vec<Ty>) -> Self {
        Self::Other(name.to_owned(), of)
    }

    /// What lies in a sequence, an iterator or an option.
    pub(crate) fn item(&self) -> Ty {
        match self {
            Self::Other(_, of) => of.first().cloned().unwrap_or_default(),
            _ => Self::Unknown,
        }
    }

    /// What a method of the standard library returns.
    pub(crate) fn after(&self, method: &str, arguments: &[Ty]) -> Ty {
        let item = || self.item();
        let Self::Other(name, of) = self else {
            return match method {
                "as_mut" | "as_ref" | "borrow" | "borrow_mut" | "by_ref" | "clone" | "to_owned" => {
                    self.clone()
                }
                _ => Self::Unknown,
            };
        };
        match (&**name, method) {
            ("Option" | "Result", "expect" | "unwrap" | "unwrap_or" | "unwrap_or_default")
            | ("Option" | "Result", "unwrap_or_else" | "get_or_insert_with" | "insert")
            | ("RefCell", "borrow" | "borrow_mut") => item(),
            ("Option" | "Result", "iter" | "iter_mut" | "into_iter")
            | ("Vec", "iter" | "iter_mut" | "into_iter" | "drain")
            | ("Iter", "rev" | "skip" | "take" | "filter" | "peekable" | "cloned" | "copied")
            | ("Iter", "step_by" | "chain" | "take_while" | "skip_while" | "inspect") => {
                Self::other("Iter", vec![item()])
            }
            ("Result", "ok")
            | ("Vec", "first" | "last" | "get" | "get_mut" | "pop")
            | ("Vec", "first_mut" | "last_mut" | "pop_front" | "pop_back" | "front" | "back")
            | ("Iter", "next" | "last" | "find" | "max_by_key" | "min_by_key" | "nth" | "peek") => {
                Self::other("Option", vec![item()])
            }
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
            (
                "Option" | "Result",
                "and_then" | "map" | "zip" | "err" | "map_or" | "map_or_else",
            )
            | ("Iter", _) => Self::Unknown,
            ("Option" | "Result", _) => self.clone(),
            (_, "as_mut" | "as_ref" | "borrow" | "clone" | "to_owned" | "to_vec" | "by_ref")
            | (_, "as_slice" | "as_mut_slice" | "into_boxed_slice") => self.clone(),
            _ => Self::Unknown,
        }
    }
}

impl Index<'_> {
    pub(crate) fn type_of(&self, scope: &Scope<'_>, written: &Type) -> Ty {
        match written {
            Type::Reference(it) => self.type_of(scope, &it.elem),
            Type::Paren(it) => self.type_of(scope, &it.elem),
            Type::Group(it) => self.type_of(scope, &it.elem),
            Type::Ptr(it) => self.type_of(scope, &it.elem),
            Type::Slice(it) => Ty::other("Vec", vec![self.type_of(scope, &it.elem)]),
            Type::Array(it) => Ty::other("Vec", vec![self.type_of(scope, &it.elem)]),
            Type::Tuple(it) => {
                Ty::Tuple(it.elems.iter().map(|it| self.type_of(scope, it)).collect())
            }
            Type::ImplTrait(it) => self.bounded(scope, it.bounds.iter()),
            Type::TraitObject(it) => self.bounded(scope, it.bounds.iter()),
            Type::Path(it) if it.qself.is_none() => self.type_of_path(scope, &it.path),
            _ => Ty::Unknown,
        }
    }

    fn type_of_path(&self, scope: &Scope<'_>, path: &syn::Path) -> Ty {
        let names = names(path);
        if let [name] = &names[..] {
            if let Some(known) = scope.generics.get(name) {
                return known.clone();
            }
            if name == "Self" {
                return scope.owner.map_or(Ty::Unknown, Ty::Own);
            }
        }
        if let Some((Definition::Type(id), [])) = self.resolve(scope.module, &names) {
            let definition = &self.types[id];
            let is_alias = definition.fields.is_empty() && definition.variants.is_empty();
            return match definition.target {
                Some(target) if is_alias => self.type_of(&Scope::new(definition.module), target),
                _ => Ty::Own(id),
            };
        }
        let last = path.segments.last().expect("a segment");
        let name = last.ident.to_string();
        let mut of = match &last.arguments {
            PathArguments::AngleBracketed(it) => self.arguments(scope, it.args.iter()),
            PathArguments::Parenthesized(it) => match &it.output {
                ReturnType::Type(_, output) => vec![self.type_of(scope, output)],
                ReturnType::Default => Vec::new(),
            },
            PathArguments::None => Vec::new(),
        };
        match &*name {
            name if TRANSPARENT.contains(&name) || name == "RwLockWriteGuard" => {
                of.pop().unwrap_or_default()
            }
            name if SEQUENCES.contains(&name) => Ty::other("Vec", of),
            name if ITERATORS.contains(&name) || name == "Iter" || name == "IterMut" => {
                Ty::other("Iter", of)
            }
            name if CALLABLE.contains(&name) => Ty::other("Fn", of),
            _ if last.ident == "Self" || names.len() > 1 && names[0] == "Self" => Ty::Unknown,
            _ => Ty::Other(name, of),
        }
    }

    fn arguments<'t>(
        &self,
        scope: &Scope<'_>,
        arguments: impl Iterator<Item = &'t GenericArgument>,
    ) -> Vec<Ty> {
        let of = |argument: &GenericArgument| match argument {
            GenericArgument::Type(it) => Some(self.type_of(scope, it)),
            GenericArgument::AssocType(it) => Some(self.type_of(scope, &it.ty)),
            _ => None,
        };
        arguments.filter_map(of).collect()
    }

    /// The first bound that says something.
    fn bounded<'t>(
        &self,
        scope: &Scope<'_>,
        bounds: impl Iterator<Item = &'t TypeParamBound>,
    ) -> Ty {
        let known = bounds.filter_map(|bound| match bound {
            TypeParamBound::Trait(it) => Some(self.type_of_path(scope, &it.path)),
            _ => None,
        });
        let known: Vec<_> = known.collect();
        let own = known.iter().find(|it| matches!(it, Ty::Own(_)));
        own.or(known.first()).cloned().unwrap_or_default()
    }

    /// Adds what is known of type parameters.
    pub(crate) fn add_generics(&self, scope: &mut Scope<'_>, generics: &Generics) {
        for parameter in &generics.params {
            if let GenericParam::Type(it) = parameter {
                let ty = self.bounded(scope, it.bounds.iter());
                scope.generics.insert(it.ident.to_string(), ty);
            }
        }
        let clauses = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        for predicate in clauses {
            if let WherePredicate::Type(it) = predicate
                && let Type::Path(path) = &it.bounded_ty
                && let Some(name) = path.path.get_ident()
            {
                let ty = self.bounded(scope, it.bounds.iter());
                scope.generics.insert(name.to_string(), ty);
            }
        }
    }
}
