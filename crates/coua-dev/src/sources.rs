//! The source files of a crate as text, without comments and without code that only tests compile.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files by name: the path below the source folder, without `.rs` and `/mod`; the root is `lib` or `main`.
pub(crate) type Sources = BTreeMap<String, String>;

/// Reads the files that are modules of the crate in `folder`.
pub(crate) fn read(folder: &Path) -> Sources {
    let root = ["lib", "main"].into_iter().find(|root| folder.join(format!("{root}.rs")).exists());
    let root = root.expect("lib.rs or main.rs");
    let mut sources = Sources::new();
    let mut next = vec![root.to_owned()];
    while let Some(name) = next.pop() {
        let paths = [format!("{name}.rs"), format!("{name}/mod.rs")].map(|path| folder.join(path));
        let path = paths.iter().find(|path| path.exists());
        let path = path.unwrap_or_else(|| panic!("module {name} has no file"));
        let text = without_tests(&fs::read_to_string(path).expect("a source file"));
        let parent = if name == root { String::new() } else { format!("{name}/") };
        next.extend(modules(&text).map(|module| format!("{parent}{module}")));
        sources.insert(name, text);
    }
    sources
}

/// The modules that a file declares as files of their own.
fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some(name)
    })
}

/// The text without comments and without items behind `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if !is_for_tests(line.trim_start()) {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        // The item ends at the next line as far left as its attribute that closes it.
        for line in lines.by_ref() {
            let at_left = line.strip_prefix(indent).is_some_and(|it| !it.starts_with(' '));
            if at_left && line.ends_with(['}', ';']) {
                break;
            }
        }
    }
    kept
}

fn is_for_tests(attribute: &str) -> bool {
    let is_condition = attribute.starts_with("#[cfg(") && !attribute.contains("any(");
    let mut words = attribute.split(|it: char| !it.is_alphanumeric());
    is_condition && words.any(|it| it == "test") && !attribute.contains("not(test")
}

#[cfg(test)]
mod tests {
    use super::{modules, without_tests};

    #[test]
    fn code_for_tests_is_left_out() {
        let text = "mod a;\n#[cfg(test)]\nmod tests;\n// use b;\nfn run() {\n    #[cfg(test)]\n    check();\n}\n\
                    #[cfg(all(test, not(loom)))]\nmod inner {\n    use c;\n}\n#[cfg(not(test))]\nmod kept;\n";
        let left = without_tests(text);
        assert_eq!(left, "mod a;\nfn run() {\n}\n#[cfg(not(test))]\nmod kept;\n");
        assert!(modules(&left).eq(["a", "kept"]));
    }
}
