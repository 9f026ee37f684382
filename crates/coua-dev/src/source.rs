//! The parsed source files of a crate, without code that only tests compile.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{Attribute, Item, Meta};

/// The modules of a crate, in files.
pub struct Sources {
    /// Paths of files below the source folder, without `.rs` and `/mod`.
    pub(crate) files: Vec<String>,
    pub(crate) modules: Vec<Module>,
}

/// A module, in a file of its own or inside another file.
pub(crate) struct Module {
    /// Its path from the crate's root, joined by `::`; empty for the root.
    pub(crate) path: String,
    pub(crate) file: usize,
    pub(crate) items: Vec<Item>,
}

impl Sources {
    /// Reads all modules below `lib.rs` or `main.rs`.
    ///
    /// # Panics
    ///
    /// If a file is missing or is not Rust.
    pub fn read(folder: &Path) -> Self {
        let mut texts = BTreeMap::new();
        read_folder(folder, "", &mut texts);
        assert!(!texts.is_empty(), "{} has no sources", folder.display());
        Self::parse(&texts)
    }

    /// Parses file contents, given by path.
    ///
    /// # Panics
    ///
    /// If a file is missing or is not Rust.
    pub fn parse(texts: &BTreeMap<String, String>) -> Self {
        let mut sources = Self { files: Vec::new(), modules: Vec::new() };
        let root = ["lib.rs", "main.rs"].into_iter().find(|root| texts.contains_key(*root));
        sources.add_file(texts, "", root.expect("lib.rs or main.rs"));
        sources
    }

    fn add_file(&mut self, texts: &BTreeMap<String, String>, path: &str, name: &str) {
        let parsed = syn::parse_file(&texts[name]).unwrap_or_else(|error| {
            panic!("{name}:{}: {error}", error.span().start().line);
        });
        let shown = name.trim_end_matches(".rs").trim_end_matches("/mod");
        self.files.push(shown.to_owned());
        self.add_module(texts, path, self.files.len() - 1, parsed.items);
    }

    fn add_module(
        &mut self,
        texts: &BTreeMap<String, String>,
        path: &str,
        file: usize,
        items: Vec<Item>,
    ) {
        let mut own = Vec::new();
        for item in items {
            match item {
                item if is_for_tests(attributes(&item)) => {}
                Item::Mod(module) => {
                    let child = join(path, &module.ident.to_string());
                    if let Some((_, items)) = module.content {
                        self.add_module(texts, &child, file, items);
                    } else {
                        let stem = child.replace("::", "/");
                        let names = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
                        let name = names.into_iter().find(|name| texts.contains_key(name));
                        let name = name.unwrap_or_else(|| panic!("no file of module {child}"));
                        self.add_file(texts, &child, &name);
                    }
                }
                // Items inside a macro call are read as they are.
                Item::Macro(given) if given.ident.is_none() => {
                    if let Ok(inner) = given.mac.parse_body::<syn::File>() {
                        own.extend(inner.items);
                    }
                }
                item => own.push(item),
            }
        }
        self.modules.push(Module { path: path.to_owned(), file, items: own });
    }
}

/// A path below a module.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") }
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            let words = condition.split(|it: char| !it.is_alphanumeric() && it != '_');
            let words: Vec<_> = words.collect();
            words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any")
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn read_folder(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            read_folder(&path, &format!("{prefix}{name}/"), texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            texts.insert(format!("{prefix}{name}"), text);
        }
    }
}
