//! The paths that a file writes, and the files to which they lead.

use crate::sources::Sources;

/// The modules of a crate.
pub(crate) struct Modules<'a>(pub(crate) &'a Sources);

impl<'a> Modules<'a> {
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
                break;
            }
        }
        // The root only names what others define.
        Some(at).filter(|file| *file != self.root())
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
        self.0.get_key_value(name).map(|(name, _)| &**name)
    }
}

/// The paths of all `use` items but those that only pass a name on with `pub use`.
pub(crate) fn imports(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (before, tree) in use_items(text).filter_map(|item| item.split_once("use ")) {
        // In a module inside the file, `super` is the file itself.
        let is_inner = before.starts_with(' ') && tree.starts_with("super::");
        if !before.starts_with("pub") && !is_inner {
            expand(tree, &[], &mut all);
        }
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

/// The paths of a tree such as `a::{b, c::D as E}`.
fn expand(tree: &str, prefix: &[String], all: &mut Vec<Vec<String>>) {
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, it)| (head, Some(it)));
    let names = head.split(" as ").next().unwrap_or("").split("::").map(str::trim);
    let mut path = prefix.to_vec();
    path.extend(
        names
            .filter(|name| !["", "self"].contains(name) || prefix.is_empty() && *name == "self")
            .map(str::to_owned),
    );
    match group {
        None => all.push(path),
        Some(group) => {
            let inner = group.trim_end().strip_suffix('}').unwrap_or(group);
            for part in parts(inner) {
                expand(part, &path, all);
            }
        }
    }
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
