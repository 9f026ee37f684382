//! One output for each input: users keep their shards.

use crate::packed::COMPRESSIONS;
use crate::support::{Folder, Repeats, coua, expected, lines, run_as_is, run_in, shell};
use coua_dev::cases::few_usual_or_all;
use coua_dev::random::Random;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// All files below a folder, by relative name.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The content of a file, decompressed as its name says.
pub(crate) fn unpacked(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let read = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("gz") => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text),
        Some("zst") => zstd::Decoder::new(bytes).unwrap().read_to_end(&mut text),
        _ => return bytes.to_vec(),
    };
    // An empty compressed file is broken.
    assert!(read.is_ok() && !bytes.is_empty(), "{name}: {read:?}");
    text
}

fn pack(name: &str, text: &str) -> Vec<u8> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let compress = COMPRESSIONS.iter().find(|(other, _)| *other == ending);
    compress.map_or_else(|| text.into(), |(_, compress)| compress(text.as_bytes()))
}

/// An input.
struct Shard {
    name: String,
    header: Option<&'static str>,
    records: Vec<String>,
    /// Whether it lacks its last newline.
    is_open: bool,
}

impl Shard {
    fn random(random: &mut Random, number: usize, headers: &[&'static str], most: u64) -> Self {
        let folder = random.pick(&["in", "in/a", "in/a/b", "in/c d"]);
        let ending = random.pick(&["", ".txt", ".gz", ".txt.zst"]);
        let header = (!headers.is_empty()).then(|| random.pick(headers));
        let count = if random.once_in(4) { 0 } else { random.below(most) };
        let record = |_| {
            let key = match random.below(8) {
                0 => "hot".to_owned(),
                1 => format!("alone{}", random.next()),
                _ => format!("key{}", random.below(most)),
            };
            match header {
                None => key,
                // A header in the middle, as in concatenated files.
                Some(header) if random.once_in(20) => header.to_owned(),
                Some("id,x") => format!("{key},{number}"),
                Some(_) => format!("{number},{key}"),
            }
        };
        let records: Vec<String> = (0..count).map(record).collect();
        let is_empty = header.is_none() && records.is_empty();
        let is_open = !is_empty && random.once_in(3);
        Self { name: format!("{folder}/part{number}{ending}"), header, records, is_open }
    }

    fn text(&self) -> String {
        let lines = self.header.into_iter().chain(self.records.iter().map(String::as_str));
        let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
        if self.is_open {
            text.pop();
        }
        text
    }

    /// The key of a record; `None` for a header.
    fn key<'a>(&self, record: &'a str) -> Option<&'a str> {
        match self.header {
            None => Some(record),
            Some(header) if header == record => None,
            Some("id,x") => record.split(',').next(),
            Some(_) => record.split(',').nth(1),
        }
    }
}

/// A command line over some shards.
struct Run {
    shards: Vec<Shard>,
    keep: Option<&'static str>,
    repeats: bool,
    counts: bool,
    known: Vec<String>,
    compress: Option<&'static str>,
}

impl Run {
    fn random(random: &mut Random) -> Self {
        let (is_csv, is_large) = (random.once_in(2), random.once_in(8));
        let headers = if is_csv { &["id,x", "x,id"][..] } else { &[] };
        let most = if is_large { 60_000 } else { 30 };
        let count = random.below(if is_large { 3 } else { 7 }) as usize + 1;
        let shards: Vec<Shard> =
            (0..count).map(|number| Shard::random(random, number, headers, most)).collect();
        Self {
            keep: random.pick(&[None, None, Some("last"), Some("none")]),
            repeats: random.once_in(4),
            counts: random.once_in(4),
            known: if random.once_in(4) { vec!["hot".into(), "key3".into()] } else { Vec::new() },
            compress: random.pick(&[None, None, Some("zst:1"), Some("gz"), Some("none")]),
            shards,
        }
    }

    fn args(&self, random: &mut Random, folder: &Folder) -> Vec<String> {
        let mut args = vec!["dedup".to_owned()];
        let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
        self.keep.iter().for_each(|keep| add(&["--keep", keep]));
        self.compress.iter().for_each(|compress| add(&["--compress", compress]));
        if self.repeats {
            add(&["-d"]);
        }
        if self.counts {
            add(&["-c"]);
        }
        if self.shards[0].header.is_some() {
            add(&["--csv", "id"]);
        }
        if !self.known.is_empty() {
            let header = if self.shards[0].header.is_some() { "id\n" } else { "" };
            folder.file("known", format!("{header}{}\n", self.known.join("\n")));
            add(&["--known", "known"]);
        }
        if self.keep.is_none() && !self.counts && random.once_in(2) {
            add(&["--filter", "seen"]);
        }
        let names: Vec<&str> = self.shards.iter().map(|shard| shard.name.as_str()).collect();
        if random.once_in(3) {
            folder.file("list", names.join("\n"));
            add(&["--files-from", "list"]);
        } else {
            add(&names);
        }
        args
    }

    /// The expected outputs, by name.
    fn model(&self) -> BTreeMap<String, String> {
        let keys = || self.shards.iter().flat_map(|it| it.records.iter().filter_map(|r| it.key(r)));
        let (mut totals, mut before) = (HashMap::new(), HashMap::new());
        keys().for_each(|key| *totals.entry(key).or_insert(0) += 1);
        let mut outputs = BTreeMap::new();
        for shard in &self.shards {
            let comma = if shard.header.is_some() { ',' } else { '\t' };
            let with = |number: &str, record: &str| {
                if self.counts { format!("{number}{comma}{record}") } else { record.to_owned() }
            };
            let mut lines: Vec<String> = shard.header.iter().map(|it| with("count", it)).collect();
            for record in &shard.records {
                let Some(key) = shard.key(record) else { continue };
                let (total, before) = (totals[key], before.entry(key).or_insert(0));
                let is_kept = match self.keep {
                    _ if self.known.iter().any(|known| known == key) => false,
                    None => *before == 0,
                    Some("last") => *before + 1 == total,
                    Some(_) => total == 1,
                };
                *before += 1;
                if is_kept != self.repeats {
                    lines.push(with(&total.to_string(), record));
                }
            }
            let text = lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
            outputs.insert(self.output_name(&shard.name), text);
        }
        outputs
    }

    fn output_name(&self, name: &str) -> String {
        let folders: Vec<_> = self
            .shards
            .iter()
            .map(|shard| Path::new(&shard.name).parent().unwrap().components().collect::<Vec<_>>())
            .collect();
        let is_common = |depth: &usize| {
            folders.iter().all(|it| it.len() > *depth && it[*depth] == folders[0][*depth])
        };
        let depth = (0..9).take_while(is_common).count();
        let below: PathBuf = Path::new(name).components().skip(depth).collect();
        let below = below.to_str().unwrap();
        let Some(compress) = self.compress else { return below.to_owned() };
        let plain = below.trim_end_matches(".gz").trim_end_matches(".zst");
        match compress.split(':').next() {
            Some("none") | None => plain.to_owned(),
            Some(ending) => format!("{plain}.{ending}"),
        }
    }
}

#[test]
fn all_ways_agree_with_a_model() {
    let mut random = Random::new(11);
    for round in 0..few_usual_or_all([8, 30, 80]) {
        let (run, folder) = (Run::random(&mut random), Folder::new());
        for shard in &run.shards {
            let path = folder.path().join(&shard.name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // An empty file may be compressed or not, too.
            let is_plain = shard.text().is_empty() && random.once_in(2);
            let name = if is_plain { "" } else { &shard.name };
            fs::write(path, pack(name, &shard.text())).unwrap();
        }
        let args = run.args(&mut random, &folder);
        let outputs = run.model();
        let mut first = None;
        for threads in ["-j1", "-j2", "-j3", "-j8"] {
            let what = format!("round {round}: {threads} {args:?}");
            let to = format!("out{threads}/new");
            fs::remove_file(folder.join("seen")).ok();
            let given = ["--output-dir".to_owned(), to.clone(), threads.to_owned()];
            let ended = run_as_is(coua([&args[..], &given].concat()).current_dir(folder.path()));
            assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{what}");
            let found = tree(Path::new(&folder.join(&to)));
            let texts = found.iter().map(|(name, bytes)| {
                (name.clone(), String::from_utf8(unpacked(name, bytes)).unwrap())
            });
            let texts: BTreeMap<_, _> = texts.collect();
            assert!(texts.keys().eq(outputs.keys()), "{what}: {:?}", texts.keys());
            for (name, text) in &outputs {
                assert!(texts[name] == *text, "{what}: {name}: {:?}, {text:?}", texts[name]);
            }
            assert!(*first.get_or_insert_with(|| found.clone()) == found, "{what}");
        }
    }
}

#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    let folder = Folder::new();
    fs::create_dir_all(folder.join("in/b")).unwrap();
    fs::create_dir_all(folder.join("old/b/2")).unwrap();
    for (name, text) in [("in/1", "a\n"), ("in/b/2", "a\nb\n"), ("in/4", "c\n"), ("old/1", "old\n")]
    {
        folder.file(name, text);
    }
    std::os::unix::fs::symlink("../in/4", folder.join("old/4")).unwrap();
    run_in(&folder, &["add", "seen", "in/1"]).good();
    let before = tree(folder.path());
    let inputs = ["in/1", "in/b/2"];
    for (options, words) in [
        (&["--output-dir", "in"][..], "in/1: is also an input; choose another output"),
        (&["--output-dir", "old"], "old/b/2: Is a directory"),
        (&["--output-dir", "old", "in/4"], "old/4: is also an input; choose another output"),
        (&["--output-dir", "new/x/1", "--known", "none"], "none: No such file or directory"),
        (&["--output-dir", "seen/x"], "seen: --output-dir: no folder: File exists"),
        (&["--output-dir", "old", "--filter", "old/1"], "old/1: is also the filter file"),
        (&["--output-dir", "new", "in/../in/1"], "its output would be new/1, like that of"),
        (&["--output-dir", "new", "in/5"], "in/5: No such file or directory"),
        (&["--output-dir", "new", "in"], "in: is a directory"),
        (
            &["--output-dir", "new", "-"],
            "standard input: --output-dir: has no file name for its output",
        ),
        (&["--output-dir", "new", "/dev/null"], "/dev/null: --output-dir: has no file name"),
        (&["--output-dir", "new", "--append"], "cannot be used with '--append'"),
        (&["--output-dir", "new", "-o", "x"], "cannot be used with '--output <FILE>'"),
    ] {
        for keep in [&[][..], &["--keep", "last"]] {
            let is_twice = !keep.is_empty() && options.contains(&"--filter");
            let run = run_in(&folder, &[&["dedup"][..], &inputs, options, keep].concat());
            let words = if is_twice { "--keep: reads the inputs twice" } else { words };
            assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
            assert!(tree(folder.path()) == before, "{options:?}");
            assert!(!folder.has("new"), "{options:?}");
        }
    }
}

/// Outputs of an earlier run are truncated, and other files are kept.
#[test]
fn outputs_that_are_there_are_emptied() {
    let folder = Folder::new();
    for (name, text) in [("a", "1\n2\n"), ("b", "2\n"), ("c", "")] {
        folder.file(name, text);
    }
    fs::create_dir(folder.join("out")).unwrap();
    for name in ["a", "b", "c", "d"] {
        folder.file(&format!("out/{name}"), "something old, and long\n");
    }
    run_in(&folder, &["dedup", "--output-dir", "out", "a", "b", "c"]).good();
    let found = tree(Path::new(&folder.join("out")));
    let expected = [("a", "1\n2\n"), ("b", ""), ("c", ""), ("d", "something old, and long\n")];
    assert!(
        found
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_slice()))
            .eq(expected.iter().map(|(name, text)| (*name, text.as_bytes())))
    );
    // If one output cannot be written, all are unchanged.
    fs::create_dir(folder.join("out/e")).unwrap();
    folder.file("e", "");
    assert_eq!(run_in(&folder, &["dedup", "--output-dir", "out", "b", "a", "e"]).code, Some(2));
    assert!(tree(Path::new(&folder.join("out"))) == found);
}

/// The disk seems full to this process, for the second output.
#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    folder.file("a", "1\n");
    folder.file("b", lines(50_000, Repeats::Few));
    for (options, blocks) in
        [("", 200), ("--keep last", 200), ("--compress zst", 200), ("-j1 --filter seen", 2_000)]
    {
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; $COUA dedup {options} --output-dir out a b");
        let run = shell(folder.path(), &script);
        let name = if options.contains("zst") { "out/b.zst" } else { "out/b" };
        run.failed(2, &format!("coua: {name}: File too large\n"));
    }
}

/// Each input may have grown, even those already done.
#[test]
fn a_run_goes_on_in_each_output() {
    let folder = Folder::new();
    for (name, text) in [("a", "1\n2"), ("b", ""), ("c", "2\n3\n")] {
        folder.file(name, text);
    }
    for (to, options) in [("plain", &[][..]), ("packed", &["--compress", "zst"])] {
        let dedup = ["dedup", "--resume", "--filter", to, "a", "b", "c", "--output-dir"];
        let out = format!("out-{to}");
        let text = |name: &str| {
            let found = tree(Path::new(&folder.join(&out)));
            let of_it = found.iter().find(|(it, _)| it.starts_with(name));
            let (name, bytes) = of_it.unwrap();
            String::from_utf8(unpacked(name, bytes)).unwrap()
        };
        let run = || run_in(&folder, &[&dedup[..], &[&out], options].concat()).good();
        for (name, text) in [("a", "1\n2"), ("b", ""), ("c", "2\n3\n")] {
            folder.file(name, text);
        }
        run();
        assert_eq!(["a", "b", "c"].map(text), ["1\n2\n", "", "3\n"]);
        folder.file("a", "1\n2\n3\n4\n");
        folder.file("b", "4\n5\n");
        run();
        assert_eq!(["a", "b", "c"].map(text), ["1\n2\n4\n", "5\n", "3\n"]);
        folder.file("c", "2\n3\n6");
        run();
        run();
        assert_eq!(["a", "b", "c"].map(text), ["1\n2\n4\n", "5\n", "3\n6\n"]);
        // Data that others have appended is not truncated.
        let path = tree(Path::new(&folder.join(&out))).into_keys().next().unwrap();
        let path = format!("{out}/{path}");
        let longer = [folder.read(&path), b"more".to_vec()].concat();
        folder.file(&path, &longer);
        let refused = run_in(&folder, &[&dedup[..], &[&out], options].concat());
        assert!(
            refused.stderr.contains("has 4 bytes more than the finished run"),
            "{}",
            refused.stderr
        );
        assert!(folder.read(&path) == longer);
    }
}

/// Runs that are killed in each shard in turn, at the limit of the file size.
#[test]
fn a_killed_run_is_resumed() {
    let folder = Folder::new();
    let text = lines(120_000, Repeats::Few);
    let line_end = |at: usize| at + text[at..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (one, two) = (line_end(text.len() / 6), line_end(text.len() / 2));
    let parts = [&text[..one], &text[one..two], &text[two..]];
    for (number, part) in parts.iter().enumerate() {
        folder.file(&format!("part{number}"), part);
    }
    let whole = tree_of(&folder, "whole", "--filter whole.coua");
    assert!(whole.values().flatten().copied().eq(expected(&text)));
    for number in 1..3 {
        let (out, filter) = (format!("out{number}"), format!("seen{number}"));
        let blocks = whole[&format!("part{number}")].len() / 512 - 20;
        let dedup = format!("$COUA dedup -j1 --filter {filter} --output-dir {out} part*");
        let killed = format!("ulimit -c 0; ulimit -f {blocks}; exec {dedup} --checkpoint-every 0");
        assert_eq!(shell(folder.path(), &killed).code, None, "killed");
        let info = run_in(&folder, &["info", "--json", &filter]).json();
        let outputs = info["unfinished_run"]["outputs"].as_array().unwrap();
        let is_begun = |at: usize| outputs[at]["offset"].as_u64().unwrap() > 0;
        assert_eq!([is_begun(0), is_begun(2)], [true, number == 2], "{info}");
        // A run that does not know the output does not truncate it.
        let again = shell(folder.path(), &dedup);
        assert!(
            again.stderr.contains("holds the output of an interrupted `coua dedup`"),
            "{}",
            again.stderr
        );
        shell(folder.path(), &format!("{dedup} --resume")).good();
        assert!(tree(Path::new(&folder.join(&out))) == whole, "{number}");
    }
}

fn tree_of(folder: &Folder, to: &str, options: &str) -> BTreeMap<String, Vec<u8>> {
    shell(folder.path(), &format!("$COUA dedup {options} --output-dir {to} part*")).good();
    tree(Path::new(&folder.join(to)))
}
