//! Random records in all formats that the program reads, and their keys.

use crate::packed::COMPRESSIONS;
use crate::support::strings;
use coua_dev::random::Random;

const NAMES: [&str; 4] = ["id", "n", "v", "w"];
const WORDS: [&str; 18] = [
    "", " ", "a", "A", " a", "a ", "b", "B", "ab", "a b", "7", "70", "\u{e9}", "x,y", "x;y",
    "q\"q", "\"", "l\nm",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finder {
    Record,
    Blanks,
    Fields,
    Csv,
    Tsv,
    Json,
    Regex,
}

use Finder::{Blanks, Csv, Fields, Json, Record, Regex, Tsv};

/// The format of a world's records, and the cells that make the key.
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Format {
    pub(crate) finder: Finder,
    pub(crate) separator: &'static str,
    pub(crate) end: &'static str,
    has_carriage_return: bool,
    pub(crate) has_header: bool,
    has_comments: bool,
    wanted: Vec<usize>,
    /// The key consists of all cells except these.
    excepted: Option<Vec<usize>>,
    /// The key includes all cells after the last wanted one; with a regular expression, the first one present.
    is_open: bool,
    words: Vec<String>,
    pub(crate) options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    /// A comment among the records.
    Comment,
    /// A line before the header.
    Before,
    Header,
    HeaderAgain,
}

pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) cells: Vec<Option<String>>,
}

/// One input; its last record may lack its end.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) is_ended: bool,
    is_packed: bool,
}

/// The parts of a key; a group of a regular expression may be missing.
pub(crate) type Key = Vec<Option<String>>;

impl Format {
    pub(crate) fn random(random: &mut Random) -> Self {
        let finder = random.pick(&[Record, Blanks, Fields, Csv, Csv, Tsv, Json, Regex]);
        let separator = match finder {
            Record | Json => "",
            Blanks => " ",
            Fields => random.pick(&[",", "::", "\t"]),
            Csv => random.pick(&[",", ";", "|"]),
            Tsv => random.pick(&["\t", "|"]),
            Regex => ";",
        };
        let is_table = matches!(finder, Csv | Tsv);
        let end = if !is_table && random.once_in(4) { "\0" } else { "\n" };
        let lists: &[&[usize]] = match finder {
            Record => &[&[0]],
            Regex => &[&[0], &[1], &[0, 1]],
            _ => &[&[0], &[1], &[0, 1], &[2, 0], &[0, 1, 2]],
        };
        let wanted = random.pick(lists);
        let excepted: &[&[usize]] = &[&[], &[0], &[2], &[3, 1]];
        let excepted = (is_table && random.once_in(3)).then(|| random.pick(excepted));
        let may_be_open = matches!(finder, Blanks | Fields) || finder == Regex && wanted.len() > 1;
        let is_open = may_be_open && random.once_in(3);
        let mut format = Self {
            finder,
            separator,
            end,
            has_carriage_return: end == "\n" && random.once_in(5),
            // If the key has all columns, no header is expected.
            has_header: is_table && excepted != Some(&[]) && !random.once_in(4),
            has_comments: random.once_in(4),
            wanted: wanted.to_vec(),
            excepted: excepted.map(<[usize]>::to_vec),
            is_open,
            words: Vec::new(),
            options: Vec::new(),
        };
        let variety = random.magnitude(60);
        for _ in 0..variety + 2 {
            let number = random.below(variety);
            let number = if number < 4 { String::new() } else { number.to_string() };
            let word = random.pick(&WORDS).to_owned() + &number;
            format.words.extend(Some(word).filter(|word| format.can_have(word)));
        }
        format.words.push("z".to_owned());
        format.options = format.options(random);
        format
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.finder, Csv | Tsv)
    }

    fn can_have(&self, word: &str) -> bool {
        let has = |text: &str| !text.is_empty() && word.contains(text);
        match self.finder {
            Csv | Json => true,
            Blanks => !word.is_empty() && !has(" ") && !has(self.end),
            _ => !has(self.separator) && !has(self.end),
        }
    }

    fn options(&self, random: &mut Random) -> Vec<String> {
        let named = self.excepted.as_ref().unwrap_or(&self.wanted);
        let list = |name: &dyn Fn(usize) -> String, between: &str| {
            named.iter().map(|column| name(*column)).collect::<Vec<_>>().join(between)
        };
        let number = |column: usize| (column + 1).to_string();
        let name = |column: usize| NAMES[column].to_owned();
        let fields = list(&number, ",") + if self.is_open { "-" } else { "" };
        let match_of = |column: usize| format!("{}=([^;]*)", NAMES[column]);
        let pattern = list(&match_of, if self.is_open { "|" } else { ";" });
        let named = if self.has_header { list(&name, ",") } else { list(&number, ",") };
        let columns = if self.excepted.is_some() { "*" } else { &named };
        let mut options = match self.finder {
            Record => Vec::new(),
            Blanks => strings(&["-k", &fields]),
            Fields => strings(&["-k", &fields, "-t", self.separator]),
            Csv if self.separator == "," => strings(&["--csv", columns]),
            Csv => strings(&["--csv", columns, "-t", self.separator]),
            Tsv if self.separator == "\t" => strings(&["--tsv", columns]),
            Tsv => strings(&["--tsv", columns, "-t", self.separator]),
            Json => self
                .wanted
                .iter()
                .flat_map(|it| ["--json".to_owned(), format!("/{}", NAMES[*it])])
                .collect(),
            Regex => strings(&["--regex", &pattern]),
        };
        if self.end == "\0" {
            options.push(random.pick(&["-0", "-z", "--null"]).to_owned());
        }
        if self.has_comments {
            options.extend(strings(&["--comment", "##"]));
        }
        if self.excepted.as_ref().is_some_and(|it| !it.is_empty()) {
            options.extend(strings(&["--except", &named]));
        }
        options
    }

    fn row(&self, random: &mut Random) -> Row {
        let count = if self.finder == Record { 1 } else { 1 + random.below(4) };
        let may_lack = matches!(self.finder, Json | Regex);
        let cell = |_| {
            let word = &self.words[random.below(self.words.len() as u64) as usize];
            (!may_lack || !random.once_in(5)).then(|| word.clone())
        };
        let mut cells: Vec<_> = (0..count).map(cell).collect();
        if self.finder == Tsv && cells == [Some(String::new())] {
            cells = vec![Some("z".to_owned())];
        }
        Row { kind: Kind::Data, text: self.render(random, &cells), cells }
    }

    fn render(&self, random: &mut Random, cells: &[Option<String>]) -> String {
        let there =
            NAMES.iter().zip(cells).filter_map(|(name, cell)| Some((*name, cell.as_ref()?)));
        let mut cells = Vec::new();
        for (name, cell) in there {
            cells.push(match self.finder {
                Regex => format!("{name}={cell}"),
                Csv if cell.contains(['"', '\n'])
                    || cell.contains(self.separator)
                    || cell.is_empty()
                    || random.once_in(5) =>
                {
                    format!("\"{}\"", cell.replace('"', "\"\""))
                }
                Json if cell.parse::<u64>().is_ok() && random.once_in(2) => {
                    format!("\"{name}\":{cell}")
                }
                Json => {
                    let quoted = serde_json::to_string(cell).unwrap();
                    let quoted =
                        if random.once_in(4) { quoted.replace('a', "\\u0061") } else { quoted };
                    format!("\"{name}\":{}{quoted}", random.pick(&["", " "]))
                }
                _ => cell.clone(),
            });
        }
        match self.finder {
            Json => {
                cells.extend(random.once_in(3).then(|| "\"other\":[1,null]".to_owned()));
                let turned = random.below(cells.len() as u64 + 1);
                cells.rotate_left(turned as usize);
                format!("{{{}}}", cells.join(random.pick(&[",", " , "])))
            }
            Blanks => {
                random.pick(&["", " ", "\t"]).to_owned()
                    + &cells.join(random.pick(&[" ", "\t ", "  "]))
            }
            _ => cells.join(self.separator),
        }
    }

    pub(crate) fn input(&self, random: &mut Random, name: String) -> Input {
        let mut rows = Vec::new();
        if self.has_header && !random.once_in(10) {
            let line = match random.below(4) {
                0 => "sep=".to_owned() + self.separator,
                1 if self.has_comments => "##\"x".to_owned(),
                _ => String::new(),
            };
            rows.extend(random.once_in(6).then(|| Row {
                kind: Kind::Before,
                text: line,
                cells: Vec::new(),
            }));
            let cells: Vec<_> = NAMES.map(|name| Some(name.to_owned())).to_vec();
            rows.push(Row { kind: Kind::Header, text: self.render(random, &cells), cells });
        }
        let header = rows.last().map(|row| row.text.clone());
        let count = if self.has_header && rows.is_empty() { 0 } else { random.magnitude(300) - 1 };
        for _ in 0..count {
            if self.has_comments && random.once_in(20) {
                let text = "##".to_owned() + random.pick(&["", " a", "\"x", "x,\"y"]);
                rows.push(Row { kind: Kind::Comment, text, cells: Vec::new() });
            }
            rows.push(match header.clone().filter(|_| random.once_in(40)) {
                Some(text) => Row { kind: Kind::HeaderAgain, text, cells: Vec::new() },
                None => self.row(random),
            });
        }
        let is_ended = random.below(3) > 0 || rows.last().is_none_or(|row| row.text.is_empty());
        let last = rows.len().saturating_sub(usize::from(!is_ended));
        if self.has_carriage_return {
            rows[..last]
                .iter_mut()
                .filter(|_| random.once_in(2))
                .for_each(|row| row.text.push('\r'));
        }
        Input { name, rows, is_ended, is_packed: random.once_in(6) }
    }

    pub(crate) fn bytes(&self, input: &Input) -> Vec<u8> {
        let mut text: String = input.rows.iter().map(|row| row.text.clone() + self.end).collect();
        text.truncate(text.len() - if input.is_ended { 0 } else { self.end.len() });
        if input.is_packed { COMPRESSIONS[0].1(text.as_bytes()) } else { text.into_bytes() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Normalize {
    pub(crate) trim: bool,
    pub(crate) ignore_case: bool,
}

/// The options that determine the key of a record, apart from its place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyRules {
    pub(crate) normalize: Normalize,
    /// What is absent or empty is an empty value.
    pub(crate) missing_is_value: bool,
}

impl KeyRules {
    /// The command-line options of the normalizers.
    pub(crate) fn options(self) -> impl Iterator<Item = String> {
        let all = [(self.normalize.trim, "--trim"), (self.normalize.ignore_case, "-i")];
        all.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option.to_owned())
    }

    /// The key of a record, if it has one.
    pub(crate) fn key(self, format: &Format, row: &Row) -> Option<Key> {
        let mut columns = format.wanted.clone();
        if let Some(excepted) = &format.excepted {
            let named = excepted.iter().max().map_or(0, |highest| highest + 1);
            let fewest = if format.has_header { NAMES.len() } else { named };
            let all = 0..fewest.max(row.cells.len());
            columns = all.filter(|column| !excepted.contains(column)).collect();
        }
        if format.is_open && format.finder != Regex {
            columns.extend(columns[columns.len() - 1] + 1..row.cells.len());
        }
        let part = |column: &usize| {
            let cell = row.cells.get(*column)?.as_ref()?;
            let cell = if self.normalize.trim { cell.trim_ascii() } else { cell };
            let lower = self.normalize.ignore_case.then(|| cell.to_ascii_lowercase());
            Some(lower.unwrap_or_else(|| cell.to_owned()))
        };
        let mut key: Key = columns.iter().map(part).collect();
        let empty = || Some(String::new());
        // A key with nothing in it.
        let nothing = || Some(vec![empty()]).filter(|_| self.missing_is_value);
        if format.finder == Regex {
            if format.is_open {
                let Some(first) = key.iter().position(Option::is_some) else { return nothing() };
                key[first + 1..].fill(None);
            } else if key.contains(&None) {
                return nothing();
            }
            let lacks = key.iter().flatten().any(String::is_empty);
            return Some(key).filter(|_| self.missing_is_value || !lacks);
        }
        if key.is_empty() {
            return nothing();
        }
        let is_whole = format.finder == Record || format.excepted.is_some();
        if is_whole || self.missing_is_value {
            return Some(key.into_iter().map(|part| part.or_else(empty)).collect());
        }
        let lacks = key.iter().any(|part| part.as_ref().is_none_or(String::is_empty));
        (!lacks).then_some(key)
    }
}
