//! Which records with the same key are printed, and their counts: compared with a model, for all ways to select keys,
//! all kinds of inputs and any number of threads.

use crate::packed::{gzip, zstd, zstd_frames};
use crate::support::{Folder, run, run_with};
use coua_dev::cases::few_usual_or_all;
use coua_dev::random::Random;
use std::collections::{HashMap, HashSet};

const THREADS: [&str; 4] = ["1", "2", "3", "8"];

/// The format of records, and the options that select their keys.
#[derive(Clone, Copy)]
struct Form {
    options: &'static [&'static str],
    header: Option<&'static str>,
    separator: char,
    /// Formats a record from a number and a key.
    write: fn(u64, &str) -> String,
}

const LINES: Form =
    Form { options: &[], header: None, separator: '\t', write: |_, key| key.to_owned() };

const FIELDS: Form =
    Form { options: &["-k2"], write: |number, key| format!("{number} {key}"), ..LINES };

const ANY_CASE: Form = Form {
    options: &["--ignore-case"],
    write: |number, key| {
        let letters = key.chars().enumerate();
        let is_upper = |nth: usize| number >> (nth % 7) & 1 == 1;
        let change = |(nth, it): (usize, char)| {
            if is_upper(nth) { it.to_ascii_uppercase() } else { it }
        };
        letters.map(change).collect()
    },
    ..LINES
};

const JSON: Form = Form {
    options: &["--json", "/id"],
    write: |number, key| format!("{{\"n\":{number},\"id\":\"{key}\"}}"),
    ..LINES
};

const CSV: Form = Form {
    options: &["--csv", "id"],
    header: Some("n,id"),
    separator: ',',
    write: |number, key| format!("{number},\"{key}\""),
};

/// Keys, many of them repeated: some once, most a few times, and a hot one.
fn keys(random: &mut Random, count: u64) -> Vec<String> {
    let key = |_| match random.below(10) {
        0 => "hot".to_owned(),
        1..4 => format!("alone-{}", random.next()),
        _ => format!("key-{}", random.below(count / 4 + 1)),
    };
    (0..count).map(key).collect()
}

/// The expected output for these keys: the places of the records, and the number with the same key.
struct Model {
    kept: Vec<(usize, u64)>,
    others: Vec<(usize, u64)>,
}

impl Model {
    fn new(keys: &[String], keep: &str) -> Self {
        let mut totals: HashMap<&str, u64> = HashMap::new();
        for key in keys {
            *totals.entry(key).or_default() += 1;
        }
        let mut before: HashMap<&str, u64> = HashMap::new();
        let (kept, others) = keys
            .iter()
            .enumerate()
            .map(|(place, key)| {
                let (total, before) = (totals[&**key], before.entry(key).or_default());
                *before += 1;
                let is_kept = match keep {
                    "first" => *before == 1,
                    "last" => *before == total,
                    _ => total == 1,
                };
                (is_kept, (place, total))
            })
            .partition::<Vec<_>, _>(|(is_kept, _)| *is_kept);
        let records = |of: Vec<(bool, (usize, u64))>| of.into_iter().map(|(_, it)| it).collect();
        Self { kept: records(kept), others: records(others) }
    }
}

/// The same records as a file, as a pipe, compressed, and in pieces.
struct Inputs {
    files: Vec<Vec<String>>,
    pipes: Vec<Vec<u8>>,
}

impl Inputs {
    fn new(folder: &Folder, header: &str, records: &[String]) -> Self {
        let text = |records: &[String]| [header, &records.concat()].concat().into_bytes();
        let (head, tail) = records.split_at(records.len() / 3);
        let (all, head, tail) = (text(records), text(head), text(tail));
        let files = vec![
            vec![folder.file("plain", &all)],
            vec![folder.file("packed.gz", gzip(&all))],
            vec![folder.file("frames.zst", zstd_frames(&all))],
            vec![folder.file("head", head), folder.file("tail.zst", zstd(&tail))],
        ];
        Self { files, pipes: vec![gzip(&all), all] }
    }

    fn len(&self) -> usize {
        self.files.len() + self.pipes.len()
    }

    fn run(&self, nth: usize, command: &[&str]) -> String {
        let run = match self.files.get(nth) {
            Some(files) => run(command.iter().copied().chain(files.iter().map(String::as_str))),
            None => run_with(&self.pipes[nth - self.files.len()], command),
        };
        String::from_utf8(run.good()).unwrap()
    }
}

/// Few records as every kind of input, several blocks of records as two kinds; each with one number of threads, or where
/// all cases are tried with every number.
fn agrees_with_the_model(form: Form) {
    let mut random = Random::new(5);
    for count in [0, 1, 300, few_usual_or_all([20_000, 100_000, 150_000])] {
        let (folder, keys) = (Folder::new(), keys(&mut random, count));
        let records: Vec<String> =
            keys.iter().zip(0..).map(|(key, nth)| (form.write)(nth, key) + "\n").collect();
        let header = form.header.map_or_else(String::new, |header| format!("{header}\n"));
        let inputs = Inputs::new(&folder, &header, &records);
        let mut answers = HashSet::new();
        for keep in ["first", "last", "none"] {
            let Model { kept, others } = Model::new(&keys, keep);
            for (options, places, counts) in [
                (&[][..], &kept, false),
                (&["-d"], &others, false),
                (&["-c"], &kept, true),
                (&["-d", "-c"], &others, true),
            ] {
                let number = |total: &dyn std::fmt::Display| {
                    if counts { format!("{total}{}", form.separator) } else { String::new() }
                };
                let header = form.header.map(|header| number(&"count") + header + "\n");
                let rows = places.iter().map(|(nth, total)| number(total) + &records[*nth]);
                let expected = header.into_iter().chain(rows).collect::<String>();
                let trials =
                    if count > 300 { 2 } else { few_usual_or_all([2, inputs.len(), inputs.len()]) };
                let first = random.below(inputs.len() as u64) as usize;
                for nth in (first..first + trials).map(|nth| nth % inputs.len()) {
                    let one = [random.pick(&THREADS)];
                    for threads in few_usual_or_all([&one[..], &one, &THREADS]) {
                        let command =
                            [&["dedup", "-j", threads, "--keep", keep], options, form.options]
                                .concat();
                        let ours = inputs.run(nth, &command);
                        assert!(ours == expected, "{command:?}: {count}, input {nth}");
                    }
                }
                answers.insert(expected);
            }
        }
        assert!(count < 300 || answers.len() == 12, "no two of them are the same");
    }
}

#[test]
fn of_lines() {
    agrees_with_the_model(LINES);
}

#[test]
fn of_fields() {
    agrees_with_the_model(FIELDS);
}

#[test]
fn of_lines_in_any_case() {
    agrees_with_the_model(ANY_CASE);
}

#[test]
fn of_json() {
    agrees_with_the_model(JSON);
}

#[test]
fn of_csv() {
    agrees_with_the_model(CSV);
}
