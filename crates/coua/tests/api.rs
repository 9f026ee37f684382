//! What the library promises: a listing of its public interface, so that a change of it is seen.
//!
//! Whatever is written `pub` is public, which the lint `unreachable_pub` sees to. To write it again:
//! `COUA_WRITE_API=1 cargo test -p coua --test library api::`.

use std::fs;
use std::path::{Path, PathBuf};

const LISTING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/api.txt");

/// Macros that implement traits of public types; their calls are listed.
const MACROS: [&str; 6] =
    ["as_snapshot!(", "integer_keys!(", "keys!(", "pointers!(", "summary!(", "tuples!("];

fn files_under(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a name").path();
        if path.is_dir() {
            files_under(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The declarations of a file, without their bodies, each with the `impl` or `enum` that it stands in.
fn public_items(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let (mut items, mut within, mut is_public_enum) = (Vec::new(), String::new(), false);
    let mut derived = "";
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        if let Some(traits) = text.strip_prefix("#[derive(") {
            derived = traits.trim_end_matches(")]");
        }
        let is_item = text.starts_with("pub ");
        let is_top = !line.starts_with([' ', '}']);
        let is_impl = is_top && text.starts_with("impl");
        let is_call = MACROS.iter().any(|name| line.starts_with(name));
        let is_variant = is_public_enum && text.starts_with(|c: char| c.is_ascii_uppercase());
        if !(is_item || is_impl || is_call || is_variant) {
            is_public_enum &= line != "}";
            derived = if text.starts_with('#') { derived } else { "" };
            continue;
        }
        let mut item = text.to_owned();
        let is_list = is_call || item.starts_with("pub use");
        let ends: &[char] = if is_list { &[';'] } else { &[';', '{', ','] };
        while !item.contains(ends) || item.matches('(').count() > item.matches(')').count() {
            let Some(next) = lines.next() else { break };
            item = format!("{item} {}", next.trim());
        }
        let item = if is_list { &item[..] } else { item.split(" {").next().unwrap_or_default() };
        let item = item.trim_end_matches([',', ';']);
        let item =
            item.replace("( ", "(").replace(", )", ")").replace(" )", ")").replace(" where", "");
        if let Some(name) = name_of_type(&item).filter(|_| !derived.is_empty()) {
            items.push(format!("impl {derived} for {name}"));
            derived = "";
        }
        if is_top {
            within.clone_from(&item);
            is_public_enum = item.starts_with("pub enum");
        }
        match () {
            () if is_impl && !item.contains(" for ") => {}
            () if is_top => items.push(item),
            () => items.push(format!("{within}: {item}")),
        }
    }
    items
}

fn name_of_module(file: &Path) -> String {
    let named = if file.ends_with("mod.rs") { file.parent().unwrap_or(file) } else { file };
    named.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn name_of_type(item: &str) -> Option<String> {
    let rest = item.strip_prefix("pub struct ").or_else(|| item.strip_prefix("pub enum "))?;
    Some(rest.split(['<', '(', ':', ';']).next()?.to_owned())
}

#[test]
fn the_public_interface_is_as_listed() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    files_under(&source, &mut files);
    let read = |file| fs::read_to_string(file).unwrap();
    let sources: Vec<_> =
        files.into_iter().map(|file| (name_of_module(&file), read(file))).collect();
    let has_line = |line: &str| sources.iter().any(|(_, it)| it.lines().any(|it| it == line));
    let mut items = Vec::new();
    for (module, source) in &sources {
        let is_public = module == "lib" || has_line(&format!("pub mod {module};"));
        // What a private module re-exports has no path there.
        let is_listed = |item: &String| is_public || !item.starts_with("pub use");
        items.extend(public_items(source).into_iter().filter(is_listed));
    }
    // Implementations for types that are not public do not show.
    let types: Vec<_> = items.iter().filter_map(|item| name_of_type(item)).collect();
    let is_public = |item: &String| match item.split_once(" for ") {
        Some((trait_, of)) if trait_.starts_with("impl") => {
            let of = of.split(['<', ' ']).next().unwrap_or_default();
            let trait_ = trait_.rsplit(' ').next().unwrap_or_default();
            let is_private = has_line(&format!("pub(crate) trait {trait_}: Sized {{"));
            trait_ == "Key" || types.iter().any(|name| name == of) && !is_private
        }
        _ => true,
    };
    items.retain(is_public);
    items.sort();
    items.dedup();
    let found = items.join("\n") + "\n";
    if std::env::var_os("COUA_WRITE_API").is_some() {
        fs::write(LISTING, &found).unwrap();
    }
    let listed = fs::read_to_string(LISTING).unwrap();
    let missing = listed.lines().filter(|line| !found.lines().any(|item| item == *line));
    let new = found.lines().filter(|item| !listed.lines().any(|line| line == *item));
    let changes: Vec<_> = missing
        .map(|line| format!("- {line}"))
        .chain(new.map(|item| format!("+ {item}")))
        .collect();
    assert!(changes.is_empty(), "the public interface changed:\n{}", changes.join("\n"));
}
