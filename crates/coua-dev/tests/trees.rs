//! Layers, names and walks of small made-up trees.

use std::collections::BTreeMap;
use std::fs;

use coua_dev::{Graph, Layers, Sources, missing_files, name_faults, walks};

fn sources(files: &[(&str, &str)]) -> Sources {
    let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Sources::parse(&texts.collect::<BTreeMap<_, _>>())
}

fn faults(files: &[(&str, &str)], rows: &[&[&str]], known: &[(&str, &str)]) -> Vec<String> {
    Layers { rows, known }.faults(&Graph::new(&sources(files)))
}

/// A type whose methods are in two files, which call each other.
const KNOT: [(&str, &str); 4] = [
    ("lib.rs", "mod filter;"),
    ("filter/mod.rs", "mod grow; mod insert; pub struct Filter { used: u64 }"),
    (
        "filter/insert.rs",
        "use super::Filter;\nimpl Filter {\n pub fn insert(&mut self) {\n  self.grow_more();\n }\n}",
    ),
    (
        "filter/grow.rs",
        "use super::Filter;\nimpl Filter {\n pub fn grow_more(&mut self) { Self::insert(self) }\n}",
    ),
];

#[test]
fn methods_that_call_each_other_are_a_circle_of_their_files() {
    let found = faults(&KNOT, &[], &[]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        found[0],
        "circle: filter/grow -> filter/insert -> filter/grow\n  \
         filter/grow -> filter/insert: grow_more calls Filter::insert (filter/grow:3)\n  \
         filter/insert -> filter/grow: insert calls Filter::grow_more (filter/insert:4)\n"
    );
}

#[test]
fn a_known_dependency_is_no_fault_until_it_is_not_needed() {
    assert!(faults(&KNOT, &[], &[("filter/grow", "filter/insert")]).is_empty());
    let both = [("filter/grow", "filter/insert"), ("filter/insert", "filter/grow")];
    assert_eq!(faults(&KNOT, &[], &both).len(), 2, "one of them is enough");
    let gone = [("filter/grow", "filter/insert"), ("filter", "filter/insert")];
    let found = faults(&KNOT, &[], &gone);
    assert_eq!(found, ["filter -> filter/insert is known, and no fault"]);
}

#[test]
fn rows_name_files() {
    let rows: [&[&str]; 2] = [&["filter", "gone"], &["lib"]];
    let found = faults(&[("lib.rs", "mod filter;"), ("filter.rs", "")], &rows, &[]);
    assert_eq!(found, ["gone is in a row, and is no file"]);
}

#[test]
fn an_impl_block_does_not_depend_on_its_type() {
    let files = [
        ("lib.rs", "mod filter; pub fn ask(filter: &filter::Filter) -> bool { filter.has_key() }"),
        ("filter/mod.rs", "mod ask; pub struct Filter; fn get(it: &Filter) { it.has_key(); }"),
        (
            "filter/ask.rs",
            "use super::Filter; impl Filter { pub fn has_key(&self) -> bool { true } }",
        ),
    ];
    assert_eq!(faults(&files, &[&["filter"], &["lib"]], &[]), [""; 0]);
    let upward = faults(&files, &[&["lib"], &["filter"]], &[]);
    assert_eq!(upward.len(), 2, "{upward:#?}");
    assert!(upward[1].contains("ask calls Filter::has_key (lib:1)"), "{upward:#?}");
}

/// `low` calls a method of `high` by what stands here in place of `CALL`, `low` below `high`.
fn calls_upward(call: &str) -> bool {
    let low = "use crate::high::{High, make};\n#[derive(Default)]\npub struct Low { high: Vec<High>, one: Box<High> }\n\
               pub enum Either { Left(High), Right(u32) }\n\
               impl Low {\n fn run(&self, given: Option<&High>, either: Either) { CALL }\n}\n";
    let low = low.replace("CALL", call);
    let high = "pub struct High; impl High { pub fn new() -> Self { High } pub fn len(&self) -> usize { 0 } \
                pub fn evict_one(&self) {} pub fn twin(&self) -> High { High } }\n\
                pub fn make() -> Result<High, ()> { Ok(High) }";
    let files = [("lib.rs", "mod low; mod high;"), ("low.rs", &low), ("high.rs", high)];
    let found = faults(&files, &[&["low"], &["high"], &["lib"]], &[]);
    let all = found.join("\n");
    // The imports are upward too, and come first or last.
    Graph::new(&sources(&files)).reasons("low", "high").iter().any(|it| it.contains("calls High::"))
        && all.contains("upward")
}

#[test]
fn receivers_are_known_by_fields_parameters_locals_and_results() {
    for call in [
        "self.one.len();",
        "self.high[0].len();",
        "for it in &self.high { it.len(); }",
        "self.high.iter().for_each(|it| { it.len(); });",
        "self.high.iter().map(High::len);",
        "if let Some(it) = given { it.len(); }",
        "given.unwrap().len();",
        "match either { Either::Left(it) => { it.len(); } _ => {} }",
        "match given { Some(it) if it.len() > 0 => {} _ => {} }",
        "let it = High::new(); it.len();",
        "let it: High = todo!(); it.len();",
        "let it = make().unwrap(); it.twin().len();",
        "let it = make()?.twin(); assert!(it.len() == 0);",
        "unknown().evict_one();",
        "High::evict_one(&High);",
    ] {
        assert!(calls_upward(call), "{call}");
    }
}

#[test]
fn common_names_need_a_known_receiver_and_tests_do_not_count() {
    for call in [
        "unknown().len();",
        "self.high.len();",
        "given.iter().len();",
        "#[cfg(test)] let it = self.one.len();",
        "\"text\".evict_one;",
    ] {
        assert!(!calls_upward(call), "{call}");
    }
    let files = [
        ("lib.rs", "pub mod low; pub fn top() {} #[cfg(test)] mod missing;"),
        ("low.rs", "#[cfg(test)] mod tests { use crate::top; } #[test] fn it() { crate::top(); }"),
    ];
    assert_eq!(faults(&files, &[&["low"], &["lib"]], &[]), [""; 0]);
}

#[test]
fn what_a_module_exports_again_it_does_not_use() {
    let files = [
        ("lib.rs", "mod table; pub use table::Slot;"),
        ("table/mod.rs", "mod slot; mod user; pub use slot::Slot;"),
        ("table/slot.rs", "pub struct Slot;"),
        ("table/user.rs", "use super::Slot; use crate::Slot as Same; fn it(a: Slot, b: Same) {}"),
    ];
    assert_eq!(faults(&files, &[&["table"], &["lib"]], &[]), [""; 0]);
}

#[test]
fn one_method_for_each_argument_of_a_type_is_no_certain_call() {
    let files = [
        ("lib.rs", "mod value; mod a; mod b;"),
        ("value.rs", "pub struct Value<T>(T);"),
        ("a.rs", "use crate::value::Value; impl Value<u8> { fn put(&self) {} }"),
        (
            "b.rs",
            "use crate::value::Value; impl Value<u16> { fn put(&self) {} }\n\
             fn run(it: &Value<u16>) { it.put(); }",
        ),
    ];
    assert_eq!(faults(&files, &[&["value"], &["a", "b"], &["lib"]], &[]), [""; 0]);
}

#[test]
fn names_that_stand_twice_are_found() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(x)] struct Here; #[cfg(not(x))] struct Here;"),
        ("a/mod.rs", "mod error; struct Row;"),
        ("a/error.rs", "enum Kind {}"),
        ("b/mod.rs", "mod error; type Row = u8;"),
        ("b/error.rs", "trait Kind {}"),
    ];
    let sources = sources(&files);
    assert_eq!(name_faults(&sources, &["error", "Kind"]), ["Row: a type in a, a type in b"]);
    assert_eq!(
        name_faults(&sources, &["error", "Kind", "Row", "Here"]),
        ["Here is known, and stands once"]
    );
}

const PAGE: &str = "
### The library: `crates/one/src`

#### Walk: an insert

Some words. 1. Not a step.

1. `lib.rs::insert` begins.
   1. `place.rs::locate` finds `place.rs::other`,
2. `slots.rs::Slots::put` puts.

### Another
";

const WALKED: [(&str, &str); 3] = [
    (
        "lib.rs",
        "mod place; mod slots; use slots::Slots;\n\
         pub fn insert(slots: &mut Slots) { place::locate(); run(Job); helper(slots); }\n\
         fn helper(slots: &mut Slots) { slots.put(); }\n\
         fn run(task: impl Task) { task.go(); }\n\
         pub trait Task { fn go(self); } struct Job;\n\
         impl Task for Job { fn go(self) { slots::hidden(); } }",
    ),
    ("place.rs", "pub fn locate() {} pub fn other() {}"),
    ("slots.rs", "pub struct Slots; impl Slots { pub fn put(&mut self) {} } pub fn hidden() {}"),
];

/// What is wrong with the walk of a page, in which one text stands for another.
fn walk_faults(from: &str, to: &str, most: usize) -> Vec<String> {
    let page = PAGE.replace(from, to);
    let [walk] = &walks(&page)[..] else { panic!("one walk") };
    walk.faults(&sources(&WALKED), most)
}

#[test]
fn a_walk_is_read_from_a_page() {
    let walks = walks(PAGE);
    assert_eq!(walks.len(), 1);
    assert_eq!((&*walks[0].name, &*walks[0].sources), ("an insert", "crates/one/src"));
    let steps = walks[0].steps.iter().map(|step| (step.indent, &*step.function));
    let expected = [(0, "lib.rs::insert"), (3, "place.rs::locate"), (0, "slots.rs::Slots::put")];
    assert!(steps.eq(expected), "{:?}", walks[0].steps);
}

#[test]
fn a_walk_leads_through_calls_in_few_files() {
    assert_eq!(walk_faults("", "", 3), [""; 0]);
    assert_eq!(walk_faults("", "", 2), ["an insert: 3 files, and 2 are stated"]);
    // By a value that is made to be run.
    assert_eq!(walk_faults("slots.rs::Slots::put", "slots.rs::hidden", 3), [""; 0]);
    assert_eq!(
        walk_faults("`place.rs::locate`", "`place.rs::other`", 3),
        ["an insert: lib.rs::insert does not call place.rs::other"]
    );
    assert_eq!(
        walk_faults("   1. `place", "2. `place", 3),
        ["an insert: place.rs::locate does not call slots.rs::Slots::put"]
    );
    assert_eq!(
        walk_faults("slots.rs::Slots", "slots.rs::Slot", 3)[0],
        "an insert: there is no slots.rs::Slot::put"
    );
    assert_eq!(
        walk_faults("place.rs::locate", "gone.rs::locate", 3)[0],
        "an insert: there is no gone.rs::locate"
    );
}

#[test]
fn tables_name_files_and_folders() {
    let folder = std::env::temp_dir().join(format!("coua-dev-{}", std::process::id()));
    fs::create_dir_all(folder.join("crates/one/src/table")).expect("a folder");
    for file in ["lib.rs", "table/mod.rs", "table/slot.rs"] {
        fs::write(folder.join("crates/one/src").join(file), "").expect("a file");
    }
    let page = "
| crate | is |
|---|---|
| `crates/one` | `it` |

### It: `crates/one/src`

| `lib`, `error` | words | |
| `table/` | `slot` and `Slot`, `segment` | `table/mod.rs`, `table/gone.rs` |

## Other

| `anything` | |
";
    let missing = missing_files(page, &folder);
    fs::remove_dir_all(&folder).expect("a folder");
    let names: Vec<_> = missing.iter().filter_map(|it| it.split(',').next()).collect();
    assert_eq!(names, ["error", "segment", "table/gone.rs"]);
}
