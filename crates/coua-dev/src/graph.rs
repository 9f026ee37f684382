//! The dependencies between files, and which are allowed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::Path;

use crate::calls::Uses;
use crate::index::Index;
use crate::source::Sources;

/// The allowed dependencies between the files of a crate. Files are named by their paths below `src`, without `.rs` and
/// `/mod`; the name of a folder means everything in it.
///
/// A file depends on another if it imports from it, or if one of its functions calls a function that the other defines.
/// An `impl` block for a type of another file is not a dependency.
pub struct Layers<'a> {
    /// Lowest layer first. Files may depend on rows below theirs, and on their own folder. Without rows, only cycles
    /// are faults.
    pub rows: &'a [&'a [&'a str]],
    /// Existing dependencies that should not exist: each from one file to another.
    pub known: &'a [(&'a str, &'a str)],
}

/// The dependencies of files, each with the places that cause it.
pub struct Graph {
    files: Vec<String>,
    edges: BTreeMap<(usize, usize), Vec<String>>,
}

impl Layers<'_> {
    /// Fails unless the sources in `folder` follow these layers.
    ///
    /// # Panics
    ///
    /// If a file depends on a row above its own or on another folder of its row, if files depend on each other in a
    /// cycle, or if a known dependency is not a fault (any more).
    pub fn check(&self, folder: &str) {
        let faults = self.faults(&Graph::new(&Sources::read(Path::new(folder))));
        assert!(faults.is_empty(), "{folder}:\n{}", faults.join("\n"));
    }

    /// The violations, as messages.
    pub fn faults(&self, graph: &Graph) -> Vec<String> {
        let mut faults = Vec::new();
        for name in self.rows.iter().copied().flatten() {
            if !graph.files.iter().any(|file| is_in(file, name)) {
                faults.push(format!("{name} is in a row, and is no file"));
            }
        }
        let known = self.known.iter().map(|(from, to)| (graph.file(from), graph.file(to)));
        let known: Vec<_> = known.collect();
        let edges: BTreeSet<_> = graph.edges.keys().copied().collect();
        let left: BTreeSet<_> =
            edges.iter().filter(|(from, to)| !known.contains(&(Some(*from), Some(*to)))).collect();
        for &&(from, to) in &left {
            if self.is_upward(graph, from, to) {
                faults.push(format!("upward: {}", graph.arrow(from, to)));
            }
        }
        let left: BTreeSet<_> = left.into_iter().copied().collect();
        faults.extend(knots(graph.files.len(), &left).iter().map(|knot| graph.show(knot, &left)));
        for (names, edge) in self.known.iter().zip(&known) {
            let is_needed = match *edge {
                (Some(from), Some(to)) if edges.contains(&(from, to)) => {
                    self.is_upward(graph, from, to) || way(&left, to, from).is_some()
                }
                _ => false,
            };
            if !is_needed {
                faults.push(format!("{} -> {} is known, and no fault", names.0, names.1));
            }
        }
        faults
    }

    fn is_upward(&self, graph: &Graph, from: usize, to: usize) -> bool {
        if self.rows.is_empty() {
            return false;
        }
        let (from, to) = (&graph.files[from], &graph.files[to]);
        let (below, above) = (self.row(to), self.row(from));
        let top = |file: &str| file.split('/').next().map(str::to_owned);
        below > above || below == above && top(from) != top(to)
    }

    fn row(&self, file: &str) -> usize {
        let found = self.rows.iter().enumerate().filter_map(|(row, names)| {
            names.iter().filter(|name| is_in(file, name)).map(|name| (name.len(), row)).max()
        });
        found.max().unwrap_or_else(|| panic!("{file} is in no row")).1
    }
}

impl Graph {
    /// The graph of a crate.
    pub fn new(sources: &Sources) -> Self {
        let index = Index::new(sources);
        let uses = Uses::of(sources, &index);
        let mut edges: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let files = &sources.files;
        for call in uses.calls.iter().filter(|call| call.is_certain) {
            let (from, to) = (&index.functions[call.from], &index.functions[call.to]);
            if from.file != to.file {
                let at = format!("{}:{}", files[from.file], call.line);
                let why = format!("{} calls {} ({at})", from.name, index.shown(call.to));
                edges.entry((from.file, to.file)).or_default().push(why);
            }
        }
        for mention in uses.mentions {
            let why = format!("names {} ({}:{})", mention.what, files[mention.from], mention.line);
            edges.entry((mention.from, mention.to)).or_default().push(why);
        }
        Self { files: files.clone(), edges }
    }

    /// The cycles of all files, as messages.
    pub fn knots(&self) -> Vec<String> {
        let edges = self.edges.keys().copied().collect();
        knots(self.files.len(), &edges).iter().map(|knot| self.show(knot, &edges)).collect()
    }

    /// The reasons why one file depends on another; empty if it does not.
    pub fn reasons(&self, from: &str, to: &str) -> &[String] {
        let edge = self.file(from).zip(self.file(to));
        edge.and_then(|edge| self.edges.get(&edge)).map_or(&[], Vec::as_slice)
    }

    fn file(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file == name)
    }

    /// A dependency, and its reason.
    fn arrow(&self, from: usize, to: usize) -> String {
        let reasons = &self.edges[&(from, to)];
        let more = match reasons.len() {
            1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        format!("{} -> {}: {}{more}", self.files[from], self.files[to], reasons[0])
    }

    /// A set of files in a cycle: its shortest cycle, then its other dependencies.
    fn show(&self, knot: &BTreeSet<usize>, edges: &BTreeSet<(usize, usize)>) -> String {
        let inner: BTreeSet<_> = edges
            .iter()
            .filter(|(from, to)| knot.contains(from) && knot.contains(to))
            .copied()
            .collect();
        let circles = inner.iter().filter_map(|&(from, to)| {
            way(&inner, to, from).map(|way| {
                let mut circle = vec![from];
                circle.extend(way);
                circle
            })
        });
        let circle = circles.min_by_key(Vec::len).expect("a circle");
        let names: Vec<_> = circle.iter().map(|file| &*self.files[*file]).collect();
        let mut text = format!("circle: {}\n", names.join(" -> "));
        let shown: BTreeSet<_> = circle.windows(2).map(|it| (it[0], it[1])).collect();
        for &(from, to) in shown.iter().chain(inner.difference(&shown)) {
            let also = if shown.contains(&(from, to)) { "" } else { "also " };
            writeln!(text, "  {also}{}", self.arrow(from, to)).expect("text");
        }
        text
    }
}

/// Whether a file has this name, or is in a folder with this name.
fn is_in(file: &str, name: &str) -> bool {
    file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The sets of files that all depend on each other, directly or not.
fn knots(files: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<_>> = (0..files).map(|file| reached(edges, file)).collect();
    let mut knots: Vec<_> = (0..files)
        .filter(|file| reached[*file].contains(file))
        .map(|file| {
            (0..files)
                .filter(|it| reached[file].contains(it) && reached[*it].contains(&file))
                .collect()
        })
        .collect();
    knots.sort();
    knots.dedup();
    knots
}

fn reached(edges: &BTreeSet<(usize, usize)>, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for &(_, to) in edges.range((file, 0)..(file + 1, 0)) {
            if reached.insert(to) {
                next.push(to);
            }
        }
    }
    reached
}

/// The shortest path from one file to another, both included.
fn way(edges: &BTreeSet<(usize, usize)>, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut came = BTreeMap::from([(from, from)]);
    let mut next = VecDeque::from([from]);
    while let Some(file) = next.pop_front() {
        if file == to {
            let mut way = vec![to];
            while way[0] != from {
                way.insert(0, came[&way[0]]);
            }
            return Some(way);
        }
        for &(_, further) in edges.range((file, 0)..(file + 1, 0)) {
            came.entry(further).or_insert_with(|| {
                next.push_back(further);
                file
            });
        }
    }
    None
}
