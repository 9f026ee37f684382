//! The definitions of a crate, and the resolution of names.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Fields, GenericArgument, GenericParam, Generics, ImplItem, Item, PathArguments, ReturnType,
    Signature, TraitItem, Type, TypeParamBound, WherePredicate,
};

use crate::paths::{imports, names};
use crate::source::{Module, Sources, is_for_tests};
use crate::types::{Scope, Ty, TypeId};

/// A function of the crate, by number.
pub(crate) type FunctionId = usize;

/// The definition of a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Definition {
    Module(String),
    Type(TypeId),
    Function(Vec<FunctionId>),
    /// A constant, macro or similar, in a file.
    Other(usize),
}

pub(crate) struct TypeDefinition<'a> {
    pub(crate) name: String,
    pub(crate) module: &'a str,
    pub(crate) file: usize,
    pub(crate) fields: BTreeMap<String, &'a Type>,
    pub(crate) variants: BTreeMap<String, &'a Fields>,
    /// The target of an alias, or of `Deref`.
    pub(crate) target: Option<&'a Type>,
    pub(crate) is_trait: bool,
}

/// A function, or the declaration of one in a trait.
pub(crate) struct Function<'a> {
    pub(crate) name: String,
    pub(crate) module: &'a str,
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// The type of its `impl` block, or its trait.
    pub(crate) owner: Option<TypeId>,
    /// The trait of the crate that it implements.
    pub(crate) implements: Option<TypeId>,
    /// Whether it implements any trait.
    pub(crate) is_of_trait: bool,
    pub(crate) has_body: bool,
    pub(crate) output: Option<&'a Type>,
}

#[derive(Default)]
struct Names {
    file: usize,
    defined: BTreeMap<String, Definition>,
    used: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// All definitions of a crate.
pub(crate) struct Index<'a> {
    pub(crate) types: Vec<TypeDefinition<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// The types for which a file has `impl` blocks.
    pub(crate) implemented: BTreeSet<(usize, TypeId)>,
    modules: BTreeMap<String, Names>,
    methods: BTreeMap<(TypeId, String), Vec<FunctionId>>,
    /// The types, of the crate or not, that have a method with this name.
    owners: BTreeMap<String, BTreeSet<String>>,
    /// The traits of the crate that a type implements.
    traits: BTreeMap<TypeId, BTreeSet<TypeId>>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        let mut index = Self {
            types: Vec::new(),
            functions: Vec::new(),
            implemented: BTreeSet::new(),
            modules: BTreeMap::new(),
            methods: BTreeMap::new(),
            owners: BTreeMap::new(),
            traits: BTreeMap::new(),
        };
        for module in &sources.modules {
            let names = Names { file: module.file, ..Names::default() };
            index.modules.insert(module.path.clone(), names);
        }
        for module in &sources.modules {
            index.define(module);
        }
        for module in &sources.modules {
            index.define_methods(module);
        }
        index
    }

    fn define(&mut self, module: &'a Module) {
        if let Some((parent, name)) = module.path.rsplit_once("::") {
            self.name(parent, name, Definition::Module(module.path.clone()));
        } else if !module.path.is_empty() {
            self.name("", &module.path, Definition::Module(module.path.clone()));
        }
        for item in &module.items {
            match item {
                Item::Struct(it) => {
                    let id = self.add_type(module, it.ident.to_string());
                    self.types[id].fields = fields(&it.fields);
                }
                Item::Enum(it) => {
                    let id = self.add_type(module, it.ident.to_string());
                    let variants = it.variants.iter();
                    self.types[id].variants =
                        variants.map(|it| (it.ident.to_string(), &it.fields)).collect();
                }
                Item::Type(it) => {
                    let id = self.add_type(module, it.ident.to_string());
                    self.types[id].target = Some(&it.ty);
                }
                Item::Trait(it) => {
                    let id = self.add_type(module, it.ident.to_string());
                    self.types[id].is_trait = true;
                }
                Item::Fn(it) => {
                    let id = self.add_function(module, &it.sig);
                    let name = it.sig.ident.to_string();
                    self.name(&module.path, &name, Definition::Function(vec![id]));
                }
                Item::Const(it) => self.other(module, &it.ident.to_string()),
                Item::Static(it) => self.other(module, &it.ident.to_string()),
                Item::Macro(it) => {
                    self.other(module, &it.ident.as_ref().expect("a rule").to_string());
                }
                Item::Use(it) => {
                    let names = self.modules.get_mut(&module.path).expect("a module");
                    for import in imports(&it.tree) {
                        match import.name {
                            Some(name) => drop(names.used.insert(name, import.path)),
                            None => names.globs.push(import.path),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn define_methods(&mut self, module: &'a Module) {
        for item in &module.items {
            match item {
                Item::Impl(block) => {
                    let scope = Scope::new(&module.path);
                    let owner = match self.type_of(&scope, &block.self_ty) {
                        Ty::Own(id) => Some(id),
                        _ => None,
                    };
                    let named = block.trait_.as_ref().map(|(path, _)| path);
                    let implements = named.and_then(|path| self.type_at(&module.path, path));
                    if let Some(owner) = owner {
                        self.implemented.insert((module.file, owner));
                        self.traits.entry(owner).or_default().extend(implements);
                    }
                    let is_deref = named.is_some_and(|path| path.is_ident("Deref"));
                    for item in &block.items {
                        match item {
                            ImplItem::Fn(it) if !is_for_tests(&it.attrs) => {
                                let id = self.add_function(module, &it.sig);
                                self.functions[id].implements = implements;
                                self.functions[id].is_of_trait = named.is_some();
                                self.own(id, owner, &type_text(&block.self_ty));
                            }
                            ImplItem::Type(it) if is_deref => {
                                if let Some(owner) = owner {
                                    self.types[owner].target = Some(&it.ty);
                                }
                            }
                            _ => {}
                        }
                    }
                }
                Item::Trait(it) => {
                    let id = self.lookup(&module.path, &it.ident.to_string(), 0);
                    let Some(Definition::Type(owner)) = id else { continue };
                    for item in &it.items {
                        if let TraitItem::Fn(it) = item {
                            let id = self.add_function(module, &it.sig);
                            self.functions[id].has_body = it.default.is_some();
                            self.own(id, Some(owner), "");
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add_type(&mut self, module: &'a Module, name: String) -> TypeId {
        let id = self.types.len();
        self.name(&module.path, &name, Definition::Type(id));
        self.types.push(TypeDefinition {
            name,
            module: &module.path,
            file: module.file,
            fields: BTreeMap::new(),
            variants: BTreeMap::new(),
            target: None,
            is_trait: false,
        });
        id
    }

    fn add_function(&mut self, module: &'a Module, signature: &'a Signature) -> FunctionId {
        let output = match &signature.output {
            ReturnType::Type(_, output) => Some(&**output),
            ReturnType::Default => None,
        };
        self.functions.push(Function {
            name: signature.ident.to_string(),
            module: &module.path,
            file: module.file,
            line: signature.ident.span().start().line,
            owner: None,
            implements: None,
            is_of_trait: false,
            has_body: true,
            output,
        });
        self.functions.len() - 1
    }

    fn own(&mut self, id: FunctionId, owner: Option<TypeId>, foreign: &str) {
        self.functions[id].owner = owner;
        let name = self.functions[id].name.clone();
        let label = owner.map_or_else(|| foreign.to_owned(), |owner| format!("#{owner}"));
        self.owners.entry(name.clone()).or_default().insert(label);
        if let Some(owner) = owner {
            self.methods.entry((owner, name)).or_default().push(id);
        }
    }

    fn other(&mut self, module: &Module, name: &str) {
        self.name(&module.path, name, Definition::Other(module.file));
    }

    /// Several functions may have the same name, each for another processor or system.
    fn name(&mut self, module: &str, name: &str, definition: Definition) {
        let defined = &mut self.modules.get_mut(module).expect("a module").defined;
        match (defined.get_mut(name), definition) {
            (Some(Definition::Function(all)), Definition::Function(more)) => all.extend(more),
            // A function may have the same name as a module.
            (Some(Definition::Module(_)), Definition::Function(_)) => {}
            (_, definition) => drop(defined.insert(name.to_owned(), definition)),
        }
    }

    /// Resolves a path to a definition and the names after it.
    pub(crate) fn resolve<'p>(
        &self,
        module: &str,
        path: &'p [String],
    ) -> Option<(Definition, &'p [String])> {
        self.resolve_within(module, path, 0)
    }

    fn resolve_within<'p>(
        &self,
        module: &str,
        path: &'p [String],
        depth: usize,
    ) -> Option<(Definition, &'p [String])> {
        if depth > 8 {
            return None;
        }
        let (mut found, mut rest) = match path.first()?.as_str() {
            "crate" => (Definition::Module(String::new()), &path[1..]),
            "self" | "super" => (Definition::Module(module.to_owned()), path),
            name => (self.lookup(module, name, depth)?, &path[1..]),
        };
        while let (Definition::Module(at), Some(name)) = (&found, rest.first()) {
            found = match name.as_str() {
                "self" => Definition::Module(at.clone()),
                "super" => Definition::Module(parent(at).to_owned()),
                name => match self.lookup(at, name, depth) {
                    Some(definition) => definition,
                    None => break,
                },
            };
            rest = &rest[1..];
        }
        Some((found, rest))
    }

    fn lookup(&self, module: &str, name: &str, depth: usize) -> Option<Definition> {
        let names = self.modules.get(module)?;
        if let Some(definition) = names.defined.get(name) {
            return Some(definition.clone());
        }
        if let Some(path) = names.used.get(name) {
            // `use name::more;` refers to a crate, unless the module has such a child.
            if path.first().is_some_and(|first| first == name) {
                return None;
            }
            let (found, rest) = self.resolve_within(module, path, depth + 1)?;
            return rest.is_empty().then_some(found);
        }
        names.globs.iter().find_map(|glob| match self.resolve_within(module, glob, depth + 1)? {
            (Definition::Module(at), []) if at != module => self.lookup(&at, name, depth + 1),
            _ => None,
        })
    }

    /// The type of the crate at a path.
    pub(crate) fn type_at(&self, module: &str, path: &syn::Path) -> Option<TypeId> {
        match self.resolve(module, &names(path))? {
            (Definition::Type(id), []) => Some(id),
            _ => None,
        }
    }

    /// The file of a definition.
    pub(crate) fn file_of(&self, definition: &Definition) -> usize {
        match definition {
            Definition::Module(path) => self.modules[path].file,
            Definition::Type(id) => self.types[*id].file,
            Definition::Function(ids) => self.functions[ids[0]].file,
            Definition::Other(file) => *file,
        }
    }

    /// The methods of a type with this name: its own, or those of its traits or of its `Deref` target.
    pub(crate) fn methods(&self, owner: TypeId, name: &str) -> Vec<FunctionId> {
        let own = |id: TypeId| self.methods.get(&(id, name.to_owned()));
        if let Some(found) = own(owner) {
            let inherent = found.iter().filter(|id| !self.functions[**id].is_of_trait);
            let inherent: Vec<_> = inherent.copied().collect();
            return if inherent.is_empty() { found.clone() } else { inherent };
        }
        let mut traits = self.traits.get(&owner).into_iter().flatten();
        if let Some(found) = traits.find_map(|id| own(*id)) {
            return found.clone();
        }
        let definition = &self.types[owner];
        let target = definition.target.map(|it| self.type_of(&Scope::new(definition.module), it));
        match target {
            Some(Ty::Own(target)) if target != owner => self.methods(target, name),
            _ => Vec::new(),
        }
    }

    /// The methods with this name, if only one type has any.
    pub(crate) fn only_methods(&self, name: &str) -> Vec<FunctionId> {
        let is_one = self.owners.get(name).is_some_and(|owners| owners.len() == 1);
        if is_one { self.all_methods(name) } else { Vec::new() }
    }

    /// All methods with this name.
    pub(crate) fn all_methods(&self, name: &str) -> Vec<FunctionId> {
        let all = self.methods.iter().filter(|((_, method), _)| method == name);
        all.flat_map(|(_, ids)| ids).copied().collect()
    }

    /// The implementations of a function of a trait.
    pub(crate) fn implementations(&self, id: FunctionId) -> Vec<FunctionId> {
        let declared = &self.functions[id];
        let implements = |it: &Function| {
            it.name == declared.name && declared.owner.is_some() && it.implements == declared.owner
        };
        (0..self.functions.len()).filter(|id| implements(&self.functions[*id])).collect()
    }

    /// The functions of a type that implement traits of the crate.
    pub(crate) fn trait_functions(&self, owner: TypeId) -> Vec<FunctionId> {
        let is_of = |it: &Function| it.owner == Some(owner) && it.implements.is_some();
        (0..self.functions.len()).filter(|id| is_of(&self.functions[*id])).collect()
    }

    /// A function, for messages.
    pub(crate) fn shown(&self, id: FunctionId) -> String {
        let function = &self.functions[id];
        match function.owner {
            Some(owner) => format!("{}::{}", self.types[owner].name, function.name),
            None => function.name.clone(),
        }
    }
}

/// Resolution of written types.
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
        let of = match &last.arguments {
            PathArguments::AngleBracketed(it) => self.arguments(scope, it.args.iter()),
            PathArguments::Parenthesized(it) => match &it.output {
                ReturnType::Type(_, output) => vec![self.type_of(scope, output)],
                ReturnType::Default => Vec::new(),
            },
            PathArguments::None => Vec::new(),
        };
        if names[0] == "Self" || scope.generics.contains_key(&names[0]) {
            return Ty::Unknown;
        }
        Ty::named(name, of)
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

    /// The first bound with a known type.
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

    /// Adds the types of type parameters, as far as known.
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

fn fields(fields: &Fields) -> BTreeMap<String, &Type> {
    let name = |(number, field): (usize, &syn::Field)| {
        field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string)
    };
    fields.iter().enumerate().map(|it| (name(it), &it.1.ty)).collect()
}

fn parent(path: &str) -> &str {
    path.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// Distinguishes types of other crates.
fn type_text(it: &Type) -> String {
    match it {
        Type::Path(it) => names(&it.path).join("::"),
        Type::Reference(it) => format!("&{}", type_text(&it.elem)),
        Type::Slice(it) => format!("[{}]", type_text(&it.elem)),
        _ => "another".to_owned(),
    }
}
