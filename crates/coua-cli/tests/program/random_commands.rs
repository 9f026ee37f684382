//! Random command lines, each compared with a simple model.
//!
//! A world is a folder with one record format and at most one filter file, in which a few commands run in turn.
//! `COUA_TEST_SEED=N` starts with the world of this seed.

use crate::random_model::{Act, Dedup, Model, Outcome, Step};
use crate::random_records::{Format, KeyRules, Normalize};
use crate::support::{Folder, Run, coua, fed, json, run_in, strings};
use coua_dev::cases::few_usual_or_all;
use coua_dev::random::Random;
use std::collections::HashSet;
use std::env;

struct World {
    seed: u64,
    folder: Folder,
    model: Model,
    /// Files of a failed run with the filter, which must be resumed or started over.
    blocked: HashSet<String>,
}

impl World {
    fn new(seed: u64, random: &mut Random) -> Self {
        let format = Format::random(random);
        let (copies, normalize, sinks, blocked) = Default::default();
        let model = Model { format, copies, normalize, sinks };
        Self { seed, folder: Folder::new(), model, blocked }
    }

    fn act(&self, random: &mut Random, nth: usize) -> Act {
        let is_rare = self.model.copies.is_some() || random.once_in(12);
        match random.below(if is_rare { 9 } else { 5 }) {
            0..4 => Act::Dedup(self.dedup(random, nth)),
            4 => Act::Add { is_unique: random.once_in(2) },
            5 => Act::Count,
            6 => Act::Remove,
            _ => Act::Check { is_inverted: random.once_in(2), counts: random.once_in(3) },
        }
    }

    fn dedup(&self, random: &mut Random, nth: usize) -> Dedup {
        let has_filter = random.once_in(2);
        let may_be_twice = !has_filter || random.once_in(8);
        let keeps = [None, None, Some("first"), Some("last"), Some("none")];
        let mut dedup = Dedup {
            keep: random.pick(&keeps[..if may_be_twice { 5 } else { 3 }]),
            counts: may_be_twice && random.once_in(3),
            repeats: random.once_in(4),
            has_filter,
            ..Dedup::default()
        };
        let has_output = random.once_in(2);
        dedup.appends = has_output && random.once_in(2);
        let is_old = dedup.appends || random.once_in(3);
        let named = |name: &str| {
            let is_old = is_old && !self.blocked.contains(name);
            if is_old { name.to_owned() } else { format!("{name}{nth}") }
        };
        if has_output {
            dedup.output = Some(if random.once_in(10) { "-".to_owned() } else { named("out") });
        }
        dedup
    }

    /// The options of an act, with their values.
    fn options(act: &Act) -> Vec<String> {
        let mut options = Vec::new();
        let mut given =
            |is_given: bool, option: &str| options.extend(is_given.then(|| option.to_owned()));
        match act {
            Act::Add { is_unique } => given(*is_unique, "--unique"),
            Act::Check { is_inverted, counts } => {
                given(*is_inverted, "-v");
                given(*counts, "-c");
            }
            Act::Remove | Act::Count => {}
            Act::Dedup(dedup) => {
                given(dedup.counts, "-c");
                given(dedup.repeats, "-d");
                given(dedup.appends, "--append");
                let filter = dedup.has_filter.then_some("f");
                let output = dedup.output.as_deref();
                for (option, value) in
                    [("--keep", dedup.keep), ("--filter", filter), ("-o", output)]
                {
                    options.extend(value.iter().flat_map(|value| strings(&[option, value])));
                }
            }
        }
        options
    }

    /// An option that conflicts with the others.
    fn spoiling(&self, random: &mut Random, act: &Act) -> Vec<String> {
        let mut all: Vec<&[&str]> = vec![
            &["-j", "0"],
            &["--missing", "no"],
            &["--bogus"],
            &["-k", "0"],
            &["--regex", "("],
            &["nowhere"],
            &["--files-from", "nowhere"],
            &["--stats=xml"],
            &["--except", "x", "--json", "/x"],
            &["--shard", "3/2"],
        ];
        if self.model.format.is_table() {
            all.extend([&["-0"][..], &["--delimiter", "x"]]);
        }
        if let Act::Dedup(dedup) = act {
            all.extend([&["-c", "--filter", "x"][..], &["--known", "nowhere"]]);
            all.extend([&["--rate", "2"][..], &["--known", "."]]);
            if dedup.output.is_none() {
                all.extend([&["--append"][..], &["-o", "."], &["-o", "no/out"]]);
            }
        }
        strings(random.pick(&all))
    }

    fn step(&self, random: &mut Random, nth: usize) -> Step {
        let act = self.act(random, nth);
        let mut args = strings(&[match act {
            Act::Dedup(_) => "dedup",
            Act::Add { .. } => "add",
            Act::Remove => "remove",
            Act::Check { .. } => "check",
            Act::Count => "count",
        }]);
        args.extend((args[0] != "dedup").then(|| "f".to_owned()));
        args.extend(Self::options(&act));
        args.extend(self.model.format.options.iter().cloned());
        let normalize = match random.below(4) {
            0 if self.model.copies.is_some() => {
                Normalize { trim: random.once_in(2), ignore_case: random.once_in(2) }
            }
            _ if self.model.copies.is_some() => {
                random.pick(&[Normalize::default(), self.model.normalize])
            }
            _ => Normalize { trim: random.once_in(3), ignore_case: random.once_in(3) },
        };
        let policies = [None, None, Some("keep"), Some("drop"), Some("error"), Some("value")];
        let on_missing = random.pick(&policies);
        let rules = KeyRules { normalize, missing_is_value: on_missing == Some("value") };
        args.extend(rules.options());
        let threads = random.pick(&["1", "2", "3", "4"]);
        let (has_threads, has_figures) = (random.once_in(2), random.once_in(3));
        for (is_given, option) in [
            (on_missing.is_some(), &["--missing", on_missing.unwrap_or_default()][..]),
            (has_threads, &["-j", threads]),
            (has_figures, &["--stats=json"]),
        ] {
            args.extend(strings(option).into_iter().filter(|_| is_given));
        }
        let mut step = Step {
            act,
            inputs: (0..random.magnitude(3))
                .map(|input| self.model.format.input(random, format!("{nth}in{input}")))
                .collect(),
            known: None,
            knows_filter: false,
            reads_stdin: false,
            is_spoiled: random.once_in(15),
            rules,
            on_missing,
            args,
            stdin: Vec::new(),
        };
        if matches!(step.act, Act::Dedup(_)) && random.once_in(4) {
            step.known = Some(self.model.format.input(random, format!("{nth}known")));
        }
        if step.is_spoiled {
            step.args.extend(self.spoiling(random, &step.act));
        }
        self.name_inputs(random, &mut step, nth);
        step
    }

    /// Writes the inputs, and adds them to the command: as files, as standard input, or in a list.
    fn name_inputs(&self, random: &mut Random, step: &mut Step, nth: usize) {
        let all = step.inputs.len();
        let stdin = random.once_in(2).then(|| random.below(all as u64) as usize);
        let mut names = Vec::new();
        for (number, input) in step.inputs.iter().enumerate() {
            if stdin == Some(number) {
                step.stdin = self.model.format.bytes(input);
                step.reads_stdin = true;
                names.push("-".to_owned());
            } else {
                self.folder.file(&input.name, self.model.format.bytes(input));
                names.push(input.name.clone());
            }
        }
        if let Some(known) = &step.known {
            let is_stdin = stdin.is_none() && random.once_in(3);
            step.args.extend(strings(&["--known", if is_stdin { "-" } else { &known.name }]));
            let bytes = self.model.format.bytes(known);
            if is_stdin {
                step.stdin = bytes;
            } else if random.once_in(3) {
                step.knows_filter = true;
                let policy = if step.rules.missing_is_value { "value" } else { "drop" };
                let mut args = strings(&["add", &known.name, "--missing", policy]);
                args.extend(
                    self.model
                        .format
                        .options
                        .iter()
                        .cloned()
                        .chain(self.model.rules(step).options()),
                );
                let add = fed(coua(args).current_dir(self.folder.path()), &bytes);
                assert_eq!(add.code, Some(0), "COUA_TEST_SEED={}: {}", self.seed, add.stderr);
            } else {
                self.folder.file(&known.name, bytes);
            }
        }
        if random.once_in(5) {
            let listed = names.split_off(random.below(all as u64 + 1) as usize);
            let end = random.pick(&["\n", "\0"]);
            let list: String = listed.iter().map(|name| name.clone() + end).collect();
            let is_stdin = !step.reads_stdin && step.known.is_none() && random.once_in(2);
            let name = if is_stdin { "-".to_owned() } else { format!("{nth}list") };
            step.args.extend(["--files-from".to_owned(), name.clone()]);
            if is_stdin {
                step.stdin = list.into_bytes();
            } else {
                self.folder.file(&name, list);
            }
        } else if names == ["-"] && random.once_in(2) {
            names.clear();
        }
        step.args.extend(names);
    }

    /// Runs a command and compares; false if the world cannot continue.
    fn run(&mut self, random: &mut Random, nth: usize) -> bool {
        let step = self.step(random, nth);
        let expected = self.model.expected(&step);
        let run = fed(coua(&step.args).current_dir(self.folder.path()), &step.stdin);
        let story = format!("COUA_TEST_SEED={} {}\n{}", self.seed, step.args.join(" "), run.stderr);
        assert_eq!(run.code, Some(expected.code), "{story}");
        check_messages(&run, &step, &expected, &story);
        for name in HashSet::from(["-".to_owned(), step.main()]) {
            let is_printed = name == "-";
            let found = if is_printed {
                Some(run.stdout.clone())
            } else {
                self.folder.has(&name).then(|| self.folder.read(&name))
            };
            let before = self.model.sinks.get(&name).filter(|_| !is_printed);
            let sink = expected.sinks.get(&name).or(before).cloned();
            let bytes = sink.as_ref().map(|sink| sink.bytes.clone()).or(is_printed.then(Vec::new));
            // A run that is refused late may have created the file, but has written nothing.
            let found = found.filter(|found| bytes.is_some() || !found.is_empty());
            let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| bytes.escape_ascii().to_string());
            assert_eq!(text(found), text(bytes), "{name}: {story}");
            if expected.code == 2 {
                self.blocked.insert(name.clone());
            }
            self.model.sinks.extend(sink.filter(|_| !is_printed).map(|sink| (name, sink)));
        }
        if step.uses_filter() && expected.code != 2 {
            self.model.normalize = self.model.rules(&step).normalize;
        }
        if expected.code != 2 {
            self.model.copies = expected.copies;
        }
        if expected.code == 0 && random.once_in(3) {
            self.repeat(&step, &story);
        }
        // Before standard input, which may be silent, the records of earlier inputs are saved.
        let may_be_saved = step.reads_stdin && step.inputs.len() > 1 && !step.is_spoiled;
        let is_unknown = expected.code == 2 && may_be_saved;
        !is_unknown && self.model.copies.is_some() == self.folder.has("f")
    }

    /// The same finished command does nothing, if it has files as inputs and as outputs.
    fn repeat(&self, step: &Step, story: &str) {
        let Act::Dedup(Dedup { has_filter: true, appends: false, .. }) = &step.act else {
            return;
        };
        if step.main() == "-" || step.reads_stdin || step.inputs.is_empty() {
            return;
        }
        let files = || step.files().iter().map(|name| self.folder.read(name)).collect::<Vec<_>>();
        let (before, filter) = (files(), self.folder.read("f"));
        let run = fed(coua(&step.args).current_dir(self.folder.path()), &step.stdin);
        assert_eq!((run.code, run.stdout), (Some(0), Vec::new()), "{story}{}", run.stderr);
        let words = ": is finished already; nothing to do\n";
        assert!(run.stderr.contains(words), "{story}{}", run.stderr);
        assert!((files(), self.folder.read("f")) == (before, filter), "{story}{}", run.stderr);
    }
}

impl World {
    /// Compares the filter's own description with the model.
    fn check_filter(&self) {
        let Some(copies) = &self.model.copies else { return };
        let items: u64 = copies.values().sum();
        let info = run_in(&self.folder, &["info", "--json", "f"]).json();
        assert_eq!(info["items"], items, "COUA_TEST_SEED={}", self.seed);
    }
}

/// Each message names a file; the figures are those of the model.
fn check_messages(run: &Run, step: &Step, expected: &Outcome, story: &str) {
    let has_figures = step.args.iter().any(|arg| arg == "--stats=json");
    for line in run.stderr.lines().filter_map(|line| line.strip_prefix("coua: ")) {
        let parts = line.split_once(": ");
        assert!(parts.is_some_and(|(name, what)| !name.is_empty() && !what.is_empty()), "{story}");
    }
    if expected.code == 2 {
        let of_options = run.stderr.starts_with("error: ") && run.stderr.contains("--");
        assert!(of_options || run.stderr.contains("coua: "), "{story}");
    } else if has_figures {
        let figures = json(run.stderr.lines().last().unwrap_or_default());
        for (name, number) in &expected.figures {
            assert_eq!(figures[name], *number, "{name}: {story}");
        }
    }
}

/// Runs worlds until this number of command lines has run.
fn run_worlds(commands: usize) {
    let given = env::var("COUA_TEST_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let (mut seed, mut ran) = (given.unwrap_or(0), 0);
    while ran < commands {
        let mut random = Random::new(seed);
        let mut world = World::new(seed, &mut random);
        let steps = 1 + random.below(6) as usize;
        for nth in 0..steps {
            ran += 1;
            if !world.run(&mut random, nth) {
                break;
            }
            world.check_filter();
        }
        seed += 1;
    }
}

#[test]
fn some() {
    run_worlds(few_usual_or_all([60, 300, 1_000]));
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn many() {
    run_worlds(100_000);
}
