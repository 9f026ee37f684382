//! Checks that the map of the code, `ARCHITECTURE.md`, is correct: walks whose steps call each other, and files.
//!
//! A walk is a heading `#### Walk: NAME` below a heading that names a crate's sources (`crates/NAME/src`), and a
//! numbered list. Each step begins with a function, `` `folder/file.rs::function` `` or ``
//! `folder/file.rs::Type::function` ``; the rest of the line is free. A step calls the next one. Calls that return
//! before that are indented below the step, which makes each of them itself or through the previous one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::calls::Uses;
use crate::index::{FunctionId, Index};
use crate::source::Sources;

/// A walk in a page.
pub struct Walk {
    /// The operation.
    pub name: String,
    /// The path of its sources, from the repository's root.
    pub sources: String,
    /// The functions in order.
    pub steps: Vec<Step>,
}

/// A function of a walk.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// Its indentation in spaces.
    pub indent: usize,
    /// Its file and function name.
    pub function: String,
}

/// The walks of a page.
pub fn walks(page: &str) -> Vec<Walk> {
    let mut walks: Vec<Walk> = Vec::new();
    let mut sources = "";
    let mut is_in_walk = false;
    for line in page.lines() {
        if line.starts_with('#') {
            let named = code(line).into_iter().find(|it| it.starts_with("crates/"));
            sources = named.unwrap_or(sources);
            let name = line.strip_prefix("#### Walk: ");
            is_in_walk = name.is_some();
            walks.extend(name.map(|name| Walk {
                name: name.to_owned(),
                sources: sources.to_owned(),
                steps: Vec::new(),
            }));
        } else if let Some(walk) = walks.last_mut().filter(|_| is_in_walk)
            && let Some((number, step)) = line.split_once(". ")
            && number.trim_start().parse::<u32>().is_ok()
        {
            let indent = number.len() - number.trim_start().len();
            let function = code(step).first().copied().unwrap_or(step).to_owned();
            walk.steps.push(Step { indent, function });
        }
    }
    walks
}

impl Walk {
    /// The errors of the walk: missing functions, steps that do not lead to the next one, more than `most` files. A
    /// step leads to the next by a call, or by calls through files that the walk has named so far.
    pub fn faults(&self, sources: &Sources, most: usize) -> Vec<String> {
        let index = Index::new(sources);
        let mut calls: BTreeMap<FunctionId, Vec<FunctionId>> = BTreeMap::new();
        for call in Uses::of(sources, &index).calls {
            calls.entry(call.from).or_default().push(call.to);
        }
        let mut faults = Vec::new();
        let mut files = BTreeSet::new();
        // The last step at each indentation, the innermost last.
        let mut before: Vec<(&Step, Vec<FunctionId>)> = Vec::new();
        for step in &self.steps {
            let found = functions(sources, &index, &step.function);
            let Some(first) = found.first() else {
                faults.push(format!("{}: there is no {}", self.name, step.function));
                continue;
            };
            before.retain(|(outer, _)| outer.indent <= step.indent);
            // The previous step, and for an indented step the one above it.
            let mut callers = before.iter().rev().take(if step.indent == 0 { 1 } else { 2 });
            let is_called = callers.any(|(_, from)| leads(&index, &calls, &files, from, &found));
            if let Some((last, _)) = before.last().filter(|_| !is_called) {
                let (from, to) = (&last.function, &step.function);
                faults.push(format!("{}: {from} does not call {to}", self.name));
            }
            files.insert(index.functions[*first].file);
            before.retain(|(outer, _)| outer.indent < step.indent);
            before.push((step, found));
        }
        if self.steps.len() < 2 {
            faults.push(format!("{}: {} steps", self.name, self.steps.len()));
        }
        if files.len() > most {
            faults.push(format!("{}: {} files, and {most} are stated", self.name, files.len()));
        }
        faults
    }
}

/// The functions that a step names.
fn functions(sources: &Sources, index: &Index<'_>, step: &str) -> Vec<FunctionId> {
    let Some((file, function)) = step.split_once(".rs::") else { return Vec::new() };
    let file = file.trim_end_matches("/mod");
    let is_named = |id: &FunctionId| {
        let it = &index.functions[*id];
        let is_it = if function.contains("::") {
            index.shown(*id) == function
        } else {
            it.name == function
        };
        is_it && it.has_body && sources.files[it.file] == file
    };
    (0..index.functions.len()).filter(is_named).collect()
}

/// Whether calls lead from one of some functions to one of others, through `files` only.
fn leads(
    index: &Index<'_>,
    calls: &BTreeMap<FunctionId, Vec<FunctionId>>,
    files: &BTreeSet<usize>,
    from: &[FunctionId],
    to: &[FunctionId],
) -> bool {
    let mut next = from.to_vec();
    let mut seen: BTreeSet<_> = from.iter().copied().collect();
    while let Some(id) = next.pop() {
        for called in calls.get(&id).into_iter().flatten() {
            if to.contains(called) {
                return true;
            }
            if files.contains(&index.functions[*called].file) && seen.insert(*called) {
                next.push(*called);
            }
        }
    }
    false
}

/// Files and folders that the tables of a page name but that do not exist: all paths with a slash, and, in a section
/// whose heading names a crate's sources, the modules of the first column; if that column names a single folder, also
/// those of the second column.
pub fn missing_files(page: &str, root: &Path) -> Vec<String> {
    let mut missing = Vec::new();
    let mut sources = "";
    for line in page.lines() {
        if line.starts_with('#') && !line.starts_with("####") {
            sources = code(line).into_iter().find(|it| it.starts_with("crates/")).unwrap_or("");
        }
        let Some(row) = line.strip_prefix('|') else { continue };
        let cells: Vec<_> = row.split('|').map(code).collect();
        let of_crate = root.join(sources);
        let is_there = |folder: &Path, name: &str| {
            let path = folder.join(name);
            path.exists() || path.with_extension("rs").exists()
        };
        let mut check = |name: &str, is_there: bool| {
            if !is_there {
                missing.push(format!("{name}, in: {line}"));
            }
        };
        let is_module = |name: &str| {
            name != "unsafe" && name.chars().all(|it| it.is_ascii_lowercase() || "_/".contains(it))
        };
        for name in cells[0].iter().filter(|_| !sources.is_empty()) {
            check(name, is_there(&of_crate, name));
        }
        if let ([folder], Some(inner)) = (&cells[0][..], cells.get(1))
            && folder.ends_with('/')
        {
            for name in inner.iter().filter(|name| is_module(name)) {
                check(name, is_there(&of_crate.join(folder), name));
            }
        }
        let is_path = |it: &&&str| it.contains('/') && !it.contains([' ', '*', '<', ':']);
        for name in cells.iter().skip(2).flatten().filter(is_path) {
            check(name, is_there(&of_crate, name) || is_there(root, name));
        }
    }
    missing
}

/// The texts between backticks.
fn code(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}
