//! Paths as names, and the imports of `use`.

use syn::UseTree;

/// A path imported under a name; without a name, everything in it.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: Option<String>,
    pub(crate) line: usize,
}

/// The imports of a `use` tree.
pub(crate) fn imports(tree: &UseTree) -> Vec<Import> {
    fn add(tree: &UseTree, mut path: Vec<String>, all: &mut Vec<Import>) {
        match tree {
            UseTree::Path(it) => {
                path.push(it.ident.to_string());
                add(&it.tree, path, all);
            }
            UseTree::Name(it) if it.ident == "self" => {
                let name = path.last().cloned();
                all.push(Import { path, name, line: it.ident.span().start().line });
            }
            UseTree::Name(it) => {
                path.push(it.ident.to_string());
                let name = Some(it.ident.to_string());
                all.push(Import { path, name, line: it.ident.span().start().line });
            }
            UseTree::Rename(it) => {
                if it.ident != "self" {
                    path.push(it.ident.to_string());
                }
                let name = Some(it.rename.to_string());
                all.push(Import { path, name, line: it.ident.span().start().line });
            }
            UseTree::Glob(it) => {
                let line = it.star_token.spans[0].start().line;
                all.push(Import { path, name: None, line });
            }
            UseTree::Group(it) => {
                it.items.iter().for_each(|tree| add(tree, path.clone(), all));
            }
        }
    }
    let mut all = Vec::new();
    add(tree, Vec::new(), &mut all);
    all
}

/// The segments of a path.
pub(crate) fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
