//! The calls between functions.

use std::collections::BTreeMap;

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, Block, Expr, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprMethodCall,
    ExprPath, ExprStruct, ExprWhile, Fields, FnArg, ImplItem, Item, Local, Macro, Member, Pat,
    Signature, Token, TraitItem, Type, Visibility,
};

use crate::index::{Definition, FunctionId, Index};
use crate::paths::{imports, names};
use crate::source::{Sources, is_for_tests};
use crate::types::{Scope, Ty, TypeId};

/// A call in a function.
pub(crate) struct Call {
    pub(crate) from: FunctionId,
    pub(crate) to: FunctionId,
    pub(crate) line: usize,
    /// Whether exactly this function is called. Otherwise it is one of several possible ones: the implementations of a
    /// trait, or the methods of a value that is created here to be run later.
    pub(crate) is_certain: bool,
}

/// A use of a name of another file, other than a call.
pub(crate) struct Mention {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// All calls and mentions of a crate.
#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) calls: Vec<Call>,
    pub(crate) mentions: Vec<Mention>,
}

impl Uses {
    pub(crate) fn of(sources: &Sources, index: &Index<'_>) -> Self {
        let mut uses = Self::default();
        for module in &sources.modules {
            for item in &module.items {
                Reader::new(index, &mut uses, &module.path, module.file).read_item(item);
            }
        }
        uses
    }
}

/// Methods of the standard library's types: methods of the crate with these names are resolved only if the type of the
/// receiver is known.
const COMMON: &str = " add all and and_then any append as_bytes as_deref as_mut as_mut_slice as_path as_ptr as_ref \
    as_slice as_str borrow borrow_mut build by_ref bytes capacity chain chars checked_add checked_mul checked_sub \
    chunks clear clone cloned cmp collect compare_exchange contains contains_key copied copy_from_slice count \
    create create_new cycle default deref deref_mut difference downcast drain drop end entry enumerate eq err \
    exists expect extend extend_from_slice fetch_add fetch_sub fill filter filter_map finalize find find_map finish \
    first flat_map flatten flush fmt fold for_each from front get get_mut hash index insert insert_str inspect \
    intersection into into_inner into_iter into_vec is_dir is_empty is_err is_file is_none is_ok is_some is_sorted \
    iter iter_mut join keys kind last left len lines load lock map map_err map_or max metadata min modified name \
    ne new next next_back nth offset ok ok_or open or or_default or_else or_insert parse parts path peek pop \
    position power product push push_str range read read_at read_exact read_line read_to_end recv remove repeat \
    replace reserve resize retain rev right rotate round seek send set set_len shift shrink_to_fit size_hint skip \
    sort sort_by sort_unstable spawn split split_at split_off start starts_with state status step_by store \
    strip_prefix sub sum swap sync_all sync_data take text then to_owned to_string to_vec trim truncate try_from \
    try_into try_lock unlock unwrap unwrap_or update value values wait wake windows with_capacity wrapping_add \
    write write_all write_at write_str zip ";

fn is_common(name: &str) -> bool {
    COMMON.contains(&format!(" {name} "))
}

/// Reads one item.
struct Reader<'a> {
    index: &'a Index<'a>,
    uses: &'a mut Uses,
    scope: Scope<'a>,
    file: usize,
    function: Option<FunctionId>,
    locals: Vec<BTreeMap<String, Ty>>,
}

impl<'a> Reader<'a> {
    fn new(index: &'a Index<'a>, uses: &'a mut Uses, module: &'a str, file: usize) -> Self {
        let scope = Scope::new(module);
        Self { index, uses, scope, file, function: None, locals: Vec::new() }
    }

    fn read_item(&mut self, item: &Item) {
        match item {
            Item::Fn(it) => self.read_function(None, &it.sig, &it.block),
            Item::Impl(it) => {
                self.index.add_generics(&mut self.scope, &it.generics);
                if let Ty::Own(owner) = self.index.type_of(&self.scope, &it.self_ty) {
                    self.scope.owner = Some(owner);
                }
                self.visit_type(&it.self_ty);
                for item in &it.items {
                    match item {
                        ImplItem::Fn(it) if !is_for_tests(&it.attrs) => {
                            self.read_function(self.scope.owner, &it.sig, &it.block);
                        }
                        ImplItem::Fn(_) => {}
                        other => self.visit_impl_item(other),
                    }
                }
            }
            Item::Trait(it) => {
                self.scope.owner = self.index.type_at(self.scope.module, &it.ident.clone().into());
                self.index.add_generics(&mut self.scope, &it.generics);
                for item in &it.items {
                    match item {
                        TraitItem::Fn(it) => match &it.default {
                            Some(block) => self.read_function(self.scope.owner, &it.sig, block),
                            None => self.visit_signature(&it.sig),
                        },
                        other => self.visit_trait_item(other),
                    }
                }
            }
            Item::Use(it) => {
                // A re-export is not a use by the module.
                if matches!(it.vis, Visibility::Inherited) {
                    self.visit_item_use(it);
                }
            }
            Item::Macro(_) | Item::Mod(_) => {}
            item => self.visit_item(item),
        }
    }

    fn read_function(&mut self, owner: Option<TypeId>, signature: &Signature, block: &Block) {
        let line = signature.ident.span().start().line;
        let is_this = |id: &FunctionId| {
            let it = &self.index.functions[*id];
            it.file == self.file && it.line == line && signature.ident == it.name
        };
        let outer = (self.function, self.scope.clone());
        self.function = (0..self.index.functions.len()).find(is_this).or(self.function);
        self.index.add_generics(&mut self.scope, &signature.generics);
        self.visit_signature(signature);
        self.locals.push(BTreeMap::new());
        for argument in &signature.inputs {
            match argument {
                FnArg::Receiver(_) => {
                    self.set("self", owner.map_or(Ty::Unknown, Ty::Own));
                }
                FnArg::Typed(it) => {
                    let ty = self.index.type_of(&self.scope, &it.ty);
                    self.bind(&it.pat, &ty);
                }
            }
        }
        self.visit_block(block);
        self.locals.pop();
        (self.function, self.scope) = outer;
    }

    fn set(&mut self, name: &str, ty: Ty) {
        let innermost = self.locals.last_mut().expect("a block");
        innermost.insert(name.to_owned(), ty);
    }

    fn local(&self, name: &str) -> Option<&Ty> {
        self.locals.iter().rev().find_map(|names| names.get(name))
    }

    fn within(&mut self, read: impl FnOnce(&mut Self)) {
        self.locals.push(BTreeMap::new());
        read(self);
        self.locals.pop();
    }

    /// Binds the names of a pattern to their types.
    fn bind(&mut self, pattern: &Pat, ty: &Ty) {
        match pattern {
            Pat::Ident(it) => {
                self.set(&it.ident.to_string(), ty.clone());
                if let Some((_, pattern)) = &it.subpat {
                    self.bind(pattern, ty);
                }
            }
            Pat::Type(it) => {
                let ty = self.index.type_of(&self.scope, &it.ty);
                self.bind(&it.pat, &ty);
            }
            Pat::Reference(it) => self.bind(&it.pat, ty),
            Pat::Paren(it) => self.bind(&it.pat, ty),
            Pat::Guard(it) => self.bind(&it.pat, ty),
            Pat::Or(it) => it.cases.iter().for_each(|pattern| self.bind(pattern, ty)),
            Pat::Slice(it) => {
                let item = ty.item();
                it.elems.iter().for_each(|pattern| self.bind(pattern, &item));
            }
            Pat::Tuple(it) => {
                let of = if let Ty::Tuple(of) = ty { &of[..] } else { &[] };
                for (number, pattern) in it.elems.iter().enumerate() {
                    self.bind(pattern, of.get(number).unwrap_or(&Ty::Unknown));
                }
            }
            Pat::TupleStruct(it) => {
                let fields = self.fields_of(&it.path);
                for (number, pattern) in it.elems.iter().enumerate() {
                    let known = fields.as_ref().map(|of| of.get(&number.to_string()));
                    let ty = known.map_or_else(|| ty.item(), |ty| ty.cloned().unwrap_or_default());
                    self.bind(pattern, &ty);
                }
            }
            Pat::Struct(it) => {
                let fields = self.fields_of(&it.path).unwrap_or_default();
                for field in &it.fields {
                    let name = member(&field.member);
                    self.bind(&field.pat, fields.get(&name).unwrap_or(&Ty::Unknown));
                }
            }
            _ => {}
        }
    }

    /// The fields of a struct or a variant of the crate.
    fn fields_of(&self, path: &syn::Path) -> Option<BTreeMap<String, Ty>> {
        let mut path = names(path);
        if path[0] == "Self" {
            let owner = &self.index.types[self.scope.owner?];
            let of = |fields: &BTreeMap<String, &Type>| self.types_of(fields, owner.module);
            return match path.get(1) {
                Some(variant) => self.variant(self.scope.owner?, variant),
                None => Some(of(&owner.fields)),
            };
        }
        let found = self.index.resolve(self.scope.module, &path);
        if let Some((Definition::Type(id), rest)) = found {
            let definition = &self.index.types[id];
            return match rest.first() {
                Some(variant) => self.variant(id, variant),
                None => Some(self.types_of(&definition.fields, definition.module)),
            };
        }
        let variant = path.pop()?;
        match self.index.resolve(self.scope.module, &path)? {
            (Definition::Type(id), []) => self.variant(id, &variant),
            _ => None,
        }
    }

    fn variant(&self, id: TypeId, name: &str) -> Option<BTreeMap<String, Ty>> {
        let definition = &self.index.types[id];
        let fields: &Fields = definition.variants.get(name)?;
        let of = |(number, field): (usize, &syn::Field)| {
            let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
            (name, self.index.type_of(&Scope::new(definition.module), &field.ty))
        };
        Some(fields.iter().enumerate().map(of).collect())
    }

    fn types_of(&self, fields: &BTreeMap<String, &Type>, module: &str) -> BTreeMap<String, Ty> {
        let of = |ty: &Type| self.index.type_of(&Scope::new(module), ty);
        fields.iter().map(|(name, ty)| (name.clone(), of(ty))).collect()
    }

    /// The type of an expression, as far as known.
    fn ty(&self, expression: &Expr) -> Ty {
        match expression {
            Expr::Path(it) if it.qself.is_none() => match &names(&it.path)[..] {
                [name] if self.local(name).is_some() => {
                    self.local(name).cloned().unwrap_or_default()
                }
                [name] if name == "Self" => self.scope.owner.map_or(Ty::Unknown, Ty::Own),
                path => match self.value(path) {
                    Value::Type(id) => Ty::Own(id),
                    _ => Ty::Unknown,
                },
            },
            Expr::Reference(it) => self.ty(&it.expr),
            Expr::Paren(it) => self.ty(&it.expr),
            Expr::Group(it) => self.ty(&it.expr),
            Expr::Unary(it) => match it.op {
                syn::UnOp::Deref(_) => self.ty(&it.expr),
                _ => Ty::Unknown,
            },
            Expr::Cast(it) => self.index.type_of(&self.scope, &it.ty),
            Expr::Try(it) => self.ty(&it.expr).item(),
            Expr::Index(it) if matches!(*it.index, Expr::Range(_)) => self.ty(&it.expr),
            Expr::Index(it) => self.ty(&it.expr).item(),
            Expr::Field(it) => self.field(&self.ty(&it.base), &member(&it.member)),
            Expr::Struct(it) => self.type_of_value(&it.path),
            Expr::Tuple(it) => Ty::Tuple(it.elems.iter().map(|it| self.ty(it)).collect()),
            Expr::Array(it) => Ty::Other(
                "Vec".to_owned(),
                it.elems.first().map(|it| self.ty(it)).into_iter().collect(),
            ),
            Expr::Block(it) => self.ty_of_block(&it.block),
            Expr::Unsafe(it) => self.ty_of_block(&it.block),
            Expr::If(it) => self.ty_of_block(&it.then_branch),
            Expr::Match(it) => {
                let known = it.arms.iter().map(|arm| self.ty(&arm.body));
                known.into_iter().find(|ty| *ty != Ty::Unknown).unwrap_or_default()
            }
            Expr::Call(it) => self.ty_of_call(it),
            Expr::MethodCall(it) => {
                let receiver = self.ty(&it.receiver);
                let found = self.methods(&receiver, &it.method.to_string());
                if let Some(id) = found.first() {
                    return self.output(*id);
                }
                let arguments: Vec<_> = it.args.iter().map(|it| self.ty(it)).collect();
                receiver.after(&it.method.to_string(), &arguments)
            }
            _ => Ty::Unknown,
        }
    }

    fn ty_of_block(&self, block: &Block) -> Ty {
        match block.stmts.last() {
            Some(syn::Stmt::Expr(it, None)) => self.ty(it),
            _ => Ty::Unknown,
        }
    }

    fn ty_of_call(&self, call: &syn::ExprCall) -> Ty {
        let Expr::Path(path) = &*call.func else { return Ty::Unknown };
        let path = names(&path.path);
        if let [name] = &path[..] {
            match &**name {
                "Some" | "Ok" => {
                    let of = call.args.iter().map(|it| self.ty(it)).collect();
                    return Ty::Other("Option".to_owned(), of);
                }
                "Self" => return self.scope.owner.map_or(Ty::Unknown, Ty::Own),
                _ => {}
            }
        }
        match self.value(&path) {
            Value::Functions(ids) => self.output(ids[0]),
            Value::Type(id) => Ty::Own(id),
            // `Box::new(it)` is read as `it`.
            Value::Unknown if path.len() == 2 && path[1] == "new" && call.args.len() == 1 => {
                match &*path[0] {
                    "Box" | "Arc" | "Rc" => self.ty(&call.args[0]),
                    other => Ty::Other(other.to_owned(), vec![self.ty(&call.args[0])]),
                }
            }
            Value::Unknown => Ty::Unknown,
        }
    }

    fn type_of_value(&self, path: &syn::Path) -> Ty {
        match &names(path)[..] {
            [name, ..] if name == "Self" => self.scope.owner.map_or(Ty::Unknown, Ty::Own),
            path => match self.value(path) {
                Value::Type(id) => Ty::Own(id),
                _ => Ty::Unknown,
            },
        }
    }

    fn field(&self, of: &Ty, name: &str) -> Ty {
        match of {
            Ty::Own(id) => {
                let definition = &self.index.types[*id];
                let scope = Scope { owner: Some(*id), ..Scope::new(definition.module) };
                match (definition.fields.get(name), definition.target) {
                    (Some(ty), _) => self.index.type_of(&scope, ty),
                    (None, Some(target)) => match self.index.type_of(&scope, target) {
                        Ty::Own(target) if target == *id => Ty::Unknown,
                        target => self.field(&target, name),
                    },
                    _ => Ty::Unknown,
                }
            }
            Ty::Tuple(of) => {
                let number = name.parse::<usize>().ok();
                number.and_then(|number| of.get(number)).cloned().unwrap_or_default()
            }
            _ => Ty::Unknown,
        }
    }

    fn output(&self, id: FunctionId) -> Ty {
        let function = &self.index.functions[id];
        let scope = Scope { owner: function.owner, ..Scope::new(function.module) };
        function.output.map_or(Ty::Unknown, |ty| self.index.type_of(&scope, ty))
    }

    /// The functions that a method call may call, by its receiver or, if that is not known, by its name. A type of
    /// another crate only has methods of the crate's traits.
    fn methods(&self, receiver: &Ty, name: &str) -> Vec<FunctionId> {
        if let Ty::Own(id) = receiver {
            let found = self.index.methods(*id, name);
            if !found.is_empty() {
                return found;
            }
        }
        if is_common(name) {
            return Vec::new();
        }
        let mut found = self.index.only_methods(name);
        if matches!(receiver, Ty::Other(..) | Ty::Tuple(_)) {
            let is_trait = |id: TypeId| self.index.types[id].is_trait;
            found.retain(|id| self.index.functions[*id].owner.is_some_and(is_trait));
        }
        found
    }

    /// The value of a path.
    fn value(&self, path: &[String]) -> Value {
        let of_type = |id: TypeId, name: &String| {
            if self.index.types[id].variants.contains_key(name) {
                return Value::Type(id);
            }
            let found = self.index.methods(id, name);
            if found.is_empty() { Value::Unknown } else { Value::Functions(found) }
        };
        if let [first, name] = path {
            match self.scope.generics.get(first) {
                Some(Ty::Own(id)) => return of_type(*id, name),
                _ if first == "Self" => {
                    return self.scope.owner.map_or(Value::Unknown, |id| of_type(id, name));
                }
                _ => {}
            }
        }
        match self.index.resolve(self.scope.module, path) {
            Some((Definition::Function(ids), [])) => Value::Functions(ids),
            Some((Definition::Type(id), [])) => Value::Type(id),
            Some((Definition::Type(id), [name])) => of_type(id, name),
            _ => Value::Unknown,
        }
    }

    /// Records a call of these functions. It is certain if they are all in one file; otherwise each is for another type
    /// of argument.
    fn call(&mut self, to: &[FunctionId], line: usize) {
        let file = |id: &FunctionId| self.index.functions[*id].file;
        if to.iter().any(|id| file(id) != file(&to[0])) {
            return self.may_call(to, line);
        }
        let Some(from) = self.function else { return };
        for &to in to {
            if self.index.functions[to].has_body {
                self.uses.calls.push(Call { from, to, line, is_certain: true });
            } else {
                self.may_call(&self.index.implementations(to), line);
            }
        }
    }

    /// Records that each of these functions may be called.
    fn may_call(&mut self, to: &[FunctionId], line: usize) {
        let Some(from) = self.function else { return };
        let calls = to.iter().map(|&to| Call { from, to, line, is_certain: false });
        self.uses.calls.extend(calls);
    }

    /// Records that a value created here may be run later.
    fn make(&mut self, id: TypeId, line: usize) {
        self.may_call(&self.index.trait_functions(id), line);
    }

    fn mention(&mut self, path: &[String], line: usize) {
        let Some((definition, _)) = self.index.resolve(self.scope.module, path) else { return };
        let to = self.index.file_of(&definition);
        // The type of an `impl` block.
        let is_here = |id| self.index.implemented.contains(&(self.file, id));
        let is_own = matches!(definition, Definition::Type(id) if is_here(id));
        if to != self.file && !is_own {
            let what = path.last().cloned().unwrap_or_default();
            self.uses.mentions.push(Mention { from: self.file, to, line, what });
        }
    }
}

enum Value {
    Functions(Vec<FunctionId>),
    Type(TypeId),
    Unknown,
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            // A function within a function's body.
            Item::Fn(it) => self.read_function(None, &it.sig, &it.block),
            Item::Impl(_) => self.read_item(item),
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_use(&mut self, it: &'ast syn::ItemUse) {
        for import in imports(&it.tree) {
            self.mention(&import.path, import.line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // Other names are imported.
        if path.segments.len() > 1 {
            let names = names(path);
            if !self.scope.generics.contains_key(&names[0]) && names[0] != "Self" {
                let is_imported = !matches!(&*names[0], "crate" | "self" | "super");
                let child = [names[0].clone()];
                let is_child = is_imported
                    && matches!(
                        self.index.resolve(self.scope.module, &child),
                        Some((Definition::Module(_), []))
                    );
                if !is_imported || is_child {
                    self.mention(&names, path.span().start().line);
                }
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, it: &'ast ExprPath) {
        let path = names(&it.path);
        let line = it.span().start().line;
        if let Some(of) = &it.qself {
            if let (Ty::Own(id), Some(name)) =
                (self.index.type_of(&self.scope, &of.ty), path.last())
            {
                self.call(&self.index.methods(id, name), line);
            }
        } else if path.len() > 1 || self.local(&path[0]).is_none() {
            match self.value(&path) {
                Value::Functions(ids) => self.call(&ids, line),
                Value::Type(id) => self.make(id, line),
                Value::Unknown => {}
            }
        }
        visit::visit_expr_path(self, it);
    }

    fn visit_expr_struct(&mut self, it: &'ast ExprStruct) {
        if let Ty::Own(id) = self.type_of_value(&it.path) {
            self.make(id, it.span().start().line);
        }
        visit::visit_expr_struct(self, it);
    }

    fn visit_expr_method_call(&mut self, it: &'ast ExprMethodCall) {
        self.visit_expr(&it.receiver);
        let receiver = self.ty(&it.receiver);
        let (name, line) = (it.method.to_string(), it.method.span().start().line);
        let found = self.methods(&receiver, &name);
        if found.is_empty() && receiver == Ty::Unknown && !is_common(&name) {
            self.may_call(&self.index.all_methods(&name), line);
        }
        self.call(&found, line);
        if let Some(arguments) = &it.turbofish {
            self.visit_angle_bracketed_generic_arguments(arguments);
        }
        for argument in &it.args {
            match argument {
                Expr::Closure(closure) => {
                    let item = receiver.item();
                    self.within(|it| {
                        closure.inputs.iter().for_each(|pattern| it.bind(pattern, &item));
                        it.visit_expr(&closure.body);
                    });
                }
                argument => self.visit_expr(argument),
            }
        }
    }

    fn visit_expr_closure(&mut self, it: &'ast ExprClosure) {
        self.within(|reader| {
            for pattern in &it.inputs {
                reader.visit_pat(pattern);
                reader.bind(pattern, &Ty::Unknown);
            }
            reader.visit_expr(&it.body);
        });
    }

    fn visit_block(&mut self, it: &'ast Block) {
        self.within(|reader| visit::visit_block(reader, it));
    }

    fn visit_local(&mut self, it: &'ast Local) {
        if is_for_tests(&it.attrs) {
            return;
        }
        visit::visit_local(self, it);
        let ty = it.init.as_ref().map(|init| self.ty(&init.expr)).unwrap_or_default();
        self.bind(&it.pat, &ty);
    }

    fn visit_expr_let(&mut self, it: &'ast ExprLet) {
        visit::visit_expr_let(self, it);
        let ty = self.ty(&it.expr);
        self.bind(&it.pat, &ty);
    }

    fn visit_expr_if(&mut self, it: &'ast ExprIf) {
        self.within(|reader| visit::visit_expr_if(reader, it));
    }

    fn visit_expr_while(&mut self, it: &'ast ExprWhile) {
        self.within(|reader| visit::visit_expr_while(reader, it));
    }

    fn visit_expr_match(&mut self, it: &'ast syn::ExprMatch) {
        self.visit_expr(&it.expr);
        let ty = self.ty(&it.expr);
        for Arm { pat, body, .. } in &it.arms {
            self.within(|reader| {
                reader.bind(pat, &ty);
                // With the guard of the arm.
                reader.visit_pat(pat);
                reader.visit_expr(body);
            });
        }
    }

    fn visit_expr_for_loop(&mut self, it: &'ast ExprForLoop) {
        self.visit_expr(&it.expr);
        let item = self.ty(&it.expr).item();
        self.within(|reader| {
            reader.bind(&it.pat, &item);
            reader.visit_block(&it.body);
        });
    }

    /// Most macros take expressions; of other macros only the first argument is read.
    fn visit_macro(&mut self, it: &'ast Macro) {
        let tokens = &it.tokens;
        let all = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(all) = all.parse2(tokens.clone()) {
            for it in &all {
                self.visit_expr(it);
            }
        } else if let Ok(block) = Block::parse_within.parse2(tokens.clone()) {
            for it in &block {
                self.visit_stmt(it);
            }
        } else {
            let first = |input: syn::parse::ParseStream<'_>| {
                let first: Expr = input.parse()?;
                input.parse::<proc_macro2::TokenStream>()?;
                Ok(first)
            };
            if let Ok(first) = first.parse2(tokens.clone()) {
                self.visit_expr(&first);
            }
        }
    }
}

fn member(member: &Member) -> String {
    match member {
        Member::Named(it) => it.to_string(),
        Member::Unnamed(it) => it.index.to_string(),
    }
}
