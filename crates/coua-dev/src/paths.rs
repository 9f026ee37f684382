//! The paths that a file writes, and the files to which they lead.

use std::collections::BTreeMap;

use crate::sources::Sources;

/// A path that a `use` brings into scope under a name.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    name: String,
    /// Whether the file passes the name on with `pub use`, which is no use of its own.
    pub(crate) is_exported: bool,
}

/// The modules of a crate, and the names that each passes on.
pub(crate) struct Modules<'a> {
    sources: &'a Sources,
    exports: BTreeMap<(&'a str, String), Vec<String>>,
}

impl<'a> Modules<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        let exports = sources.iter().flat_map(|(file, text)| {
            let exported = imports(text).into_iter().filter(|it| it.is_exported);
            exported.map(|it| ((&**file, it.name), it.path))
        });
        Self { sources, exports: exports.collect() }
    }

    /// The file to which a path leads from another file. `None` if the path leads to another crate.
    pub(crate) fn file(&self, from: &str, path: &[String]) -> Option<&'a str> {
        let (first, rest) = path.split_first()?;
        let mut at = match &**first {
            "crate" => self.root(),
            "self" => self.named(from)?,
            "super" => self.parent(from)?,
            name => self.child(from, name)?,
        };
        for name in rest {
            if name == "super" {
                at = self.parent(at)?;
            } else if let Some(child) = self.child(at, name) {
                at = child;
            } else {
                let export = self.exports.get(&(at, name.clone()));
                return export.map_or(Some(at), |path| self.file(at, path));
            }
        }
        Some(at)
    }

    fn root(&self) -> &'a str {
        self.named("lib").or_else(|| self.named("main")).expect("a root")
    }

    fn parent(&self, file: &str) -> Option<&'a str> {
        file.rsplit_once('/').map_or_else(|| Some(self.root()), |(parent, _)| self.named(parent))
    }

    fn child(&self, file: &str, name: &str) -> Option<&'a str> {
        if file == self.root() { self.named(name) } else { self.named(&format!("{file}/{name}")) }
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        self.sources.get_key_value(name).map(|(name, _)| &**name)
    }
}

/// The imports of all `use` items.
pub(crate) fn imports(text: &str) -> Vec<Import> {
    let mut all = Vec::new();
    for (visibility, tree) in use_items(text).filter_map(|item| item.split_once("use ")) {
        // In a module inside the file, `super` is the file itself.
        if visibility.starts_with(' ') && tree.starts_with("super::") {
            continue;
        }
        let mut paths = Vec::new();
        expand(tree, &[], &mut paths);
        let is_exported = visibility.starts_with("pub");
        all.extend(paths.into_iter().map(|(path, name)| Import { path, name, is_exported }));
    }
    all
}

/// The `use` items, each from its line's start to before its semicolon.
fn use_items(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        start += line.len();
        (start - line.len(), line.trim_start())
    });
    let is_use = |line: &str| {
        let visibility = line.split_once("use ").map(|(before, _)| before);
        let is_pub =
            |it: &str| it.starts_with("pub") && it.ends_with(' ') && !it.contains(['{', '"']);
        visibility.is_some_and(|it| it.is_empty() || is_pub(it))
    };
    let items = lines.filter(move |(_, line)| is_use(line));
    items.map(|(start, _)| text[start..].split(';').next().unwrap_or(""))
}

/// The paths of a tree such as `a::{b, c::D as E}`, each with the name it gets.
fn expand(tree: &str, prefix: &[String], all: &mut Vec<(Vec<String>, String)>) {
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, it)| (head, Some(it)));
    let (path, renamed) =
        head.split_once(" as ").map_or((head, None), |(it, name)| (it, Some(name)));
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    let mut path = prefix.to_vec();
    path.extend(names.map(str::to_owned));
    if let Some(group) = group {
        let inner = group.trim_end().strip_suffix('}').unwrap_or(group);
        for part in parts(inner) {
            expand(part, &path, all);
        }
        return;
    }
    if path.len() > 1 && path.last().is_some_and(|it| it == "self") {
        path.pop();
    }
    let name = renamed.map(str::trim).map(str::to_owned).or_else(|| path.last().cloned());
    all.extend(name.map(|name| (path, name)));
}

/// The parts between the commas that are in no inner group.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_between = |it: char| {
        depth += i32::from(it == '{') - i32::from(it == '}');
        it == ',' && depth == 0
    };
    group.split(is_between).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The paths in code that begin with `crate` or `super`.
pub(crate) fn inline_paths(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut code = text.to_owned();
    for item in use_items(text) {
        code = code.replace(item, "");
    }
    let code = code.replace("(in crate::", "(");
    let is_path = |it: char| it.is_alphanumeric() || it == '_' || it == ':';
    let words: Vec<_> = code.split(|it| !is_path(it)).map(str::to_owned).collect();
    let paths = words
        .into_iter()
        .filter(|word| ["crate::", "super::"].iter().any(|first| word.starts_with(first)));
    paths.map(|word| word.split("::").map(str::to_owned).collect())
}
