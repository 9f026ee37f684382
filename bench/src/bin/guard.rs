//! Checks whether the filter's calls have become more expensive. Instructions are counted instead of time, so that a
//! busy machine gives the same answer.
//!
//! ```text
//! guard           compare with guard.txt; fail if a count is more than 5 % above its record
//! guard record    write the counts to guard.txt
//! guard only WORD compare the cases whose names contain the word
//! guard play CASE run one case: the command for valgrind
//! ```
//!
//! Counts belong to a compiler: with another compiler than the recorded one, differences are printed and nothing fails.
//! With `CARGO_INCREMENTAL=1` the compiler inlines less, and single calls take up to 15 % more instructions.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to people")]

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::hint::black_box;
use std::io;
use std::ops::Range;
use std::process::{Command, ExitCode};
use std::thread;

use coua::window::When;
use coua::{
    BuildError, CuckooFilter, CuckooFilterBuilder, Filter, IfPresent, Key, KeyHash, WhenFull,
};
use coua_bench::keys::{ABSENT, mix};
use coua_bench::timing::BLOCK;

/// The file of recorded counts.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/guard.txt");
/// The largest share by which a count may exceed its record.
const SLACK: f64 = 0.05;
/// The function in which callgrind counts, as callgrind prints its name.
const SYMBOL: &str = "*guard::counted*";
/// Items in the filter: enough for at least 8 segments, because interleaved eviction chains need several.
const ITEMS: u64 = 300_000;
/// Items in the filter at 90 % load, if all items make 95 %.
const BEFORE_THE_STRETCH: u64 = ITEMS * 90 / 95;
/// Items in a growing filter some of whose segments have split once more than the others.
const TWO_LEVELS: u64 = 955_000;
/// Keys of a stream with 57 % repeats.
const STREAM: u64 = ITEMS * 100 / 43;

/// Counts by case name.
type Counts = BTreeMap<String, f64>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *arguments {
        [] => check(""),
        ["only", word] => check(word),
        ["record"] => record(),
        ["play", name] => match Case::all().find(|case| case.to_string() == name) {
            Some(case) => case.play().map_err(|why| why.to_string()),
            None => Err(format!("{name}: no such case")),
        },
        _ => Err("usage: guard [record | only WORD | play CASE]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("guard: {why}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<String, String> {
    fs::read_to_string(FILE).map_err(|why| format!("{FILE}: {why}"))
}

fn check(word: &str) -> Result<(), String> {
    let (then, known) = parse(&read()?)?;
    let (now, counts) = (compiler()?, count(word)?);
    println!("{:56} {:>10} {:>10} {:>10}", "instructions a key", "recorded", "now", "change");
    let mut more = 0;
    for (name, &count) in &counts {
        let base = known.get(name).copied().unwrap_or(f64::NAN);
        let verdict = verdict(base, count);
        more += u32::from(matches!(verdict, Verdict::More | Verdict::NotRecorded));
        let change = (count / base - 1.0) * 100.0;
        println!("{name:56} {base:>10.1} {count:>10.1} {change:>+8.1} % {verdict:?}");
    }
    if then != now {
        println!("Recorded with {then}, counted with {now}: differences decide nothing.");
    } else if more > 0 {
        return Err(format!(
            "{more} counts lie more than 5 % above their record, or have none; if that is meant, record \
             them with `bench/guard record`"
        ));
    }
    Ok(())
}

/// Replaces everything except the comment at the start of the file.
fn record() -> Result<(), String> {
    let (text, compiler) = (read()?, compiler()?);
    let head = text.split_inclusive('\n').take_while(|line| line.starts_with('#'));
    let rows = count("")?.into_iter().map(|(name, count)| format!("{name}\t{count:.1}\n"));
    let text =
        format!("{}compiler\t{compiler}\n{}", head.collect::<String>(), rows.collect::<String>());
    fs::write(FILE, text).map_err(|why| format!("{FILE}: {why}"))
}

/// Parses the text of the file into the compiler and the counts.
fn parse(text: &str) -> Result<(String, Counts), String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut fields = lines.map(|line| line.rsplit_once('\t').ok_or(line));
    let Some(Ok(("compiler", compiler))) = fields.next() else {
        return Err(format!("{FILE}: the first line does not name the compiler"));
    };
    let counts = fields.map(|field| {
        let (name, count) = field?;
        Ok((name.to_owned(), count.parse().map_err(|_| name)?))
    });
    let counts: Result<_, &str> = counts.collect();
    let counts = counts.map_err(|line| format!("{FILE}: {line}: expected a name, a tab, a count"));
    Ok((compiler.to_owned(), counts?))
}

/// A count compared with its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    /// Must be recorded, or it would hide a later loss.
    Fewer,
    More,
    NotRecorded,
}

fn verdict(known: f64, count: f64) -> Verdict {
    match count / known - 1.0 {
        change if change.is_nan() => Verdict::NotRecorded,
        change if change > SLACK => Verdict::More,
        change if change < -SLACK => Verdict::Fewer,
        _ => Verdict::Same,
    }
}

/// The compiler and target that `rustc` reports.
fn compiler() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let done = Command::new(rustc).args(["--version", "--verbose"]).output();
    let text = done.map_err(|why| format!("rustc --version: {why}"))?.stdout;
    let text = String::from_utf8_lossy(&text);
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    Ok(format!("rustc {} for {}", field("release: "), field("host: ")))
}

/// Counts the cases whose names contain the word, one per processor at a time.
fn count(word: &str) -> Result<Counts, String> {
    let cases: Vec<Case> = Case::all().filter(|case| case.to_string().contains(word)).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let counted = |case: &Case| match instructions(*case) {
        Ok(count) => Ok((case.to_string(), count)),
        Err(why) => Err(format!("{case}: {why}; counting needs valgrind")),
    };
    let counts: Result<Vec<Counts>, String> = thread::scope(|scope| {
        let start = |worker| {
            let own = cases.iter().skip(worker).step_by(workers);
            scope.spawn(move || own.map(counted).collect::<Result<Counts, String>>())
        };
        let running: Vec<_> = (0..workers).map(start).collect();
        running.into_iter().map(|worker| worker.join().expect("a worker lives")).collect()
    });
    Ok(counts?.into_iter().flatten().collect())
}

/// Instructions per key: this program runs the case under callgrind.
fn instructions(case: Case) -> io::Result<f64> {
    let file = tempfile::NamedTempFile::new()?;
    let mut valgrind = Command::new("valgrind");
    if case.is_portable {
        valgrind.env("COUA_TEST_INSTRUCTIONS", "portable");
    }
    let done = valgrind
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--toggle-collect={SYMBOL}"))
        .arg(format!("--callgrind-out-file={}", file.path().display()))
        .arg(env::current_exe()?)
        .args(["play", &case.to_string()])
        .output()?;
    if !done.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    let text = fs::read_to_string(file.path())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    match total.and_then(|total| total.trim().parse::<u64>().ok()) {
        Some(count) if count >= case.keys() => Ok(count as f64 / case.keys() as f64),
        _ => Err(io::Error::other(format!("callgrind has not found {SYMBOL}"))),
    }
}

/// The kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The bits for a rate of 0.001, planned for 95 % load.
    Narrow,
    /// All 64 bits of the hash: two slots do not fit into a word.
    Wide,
}

/// The measured operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    InsertBatch,
    LastStretch,
    UniqueBatch,
    LookupBatch,
    RemoveBatch,
    Insert,
    InsertFew,
    Lookup,
    LookupInteger,
    LookupString,
    Remove,
    Growing,
    CopiesBatch,
    LookupTwoLevels,
    LookupBatchTwoLevels,
    RemoveTwoLevels,
    RemoveBatchTwoLevels,
}

const CALLS: [(Call, &str); 17] = [
    (Call::InsertBatch, "insert in batches until full"),
    (Call::LastStretch, "insert in batches, the last 5 of 95"),
    (Call::UniqueBatch, "insert_unique in batches, 57 % repeats"),
    (Call::LookupBatch, "look up in batches, half present"),
    (Call::RemoveBatch, "remove in batches"),
    (Call::Insert, "insert one by one until full"),
    (Call::InsertFew, "insert 4 keys a call until full"),
    (Call::Lookup, "look up one by one, half present"),
    (Call::LookupInteger, "look up one by one, integers to be hashed"),
    (Call::LookupString, "look up one by one, strings of 16 bytes"),
    (Call::Remove, "remove one by one"),
    (Call::Growing, "insert in batches while growing"),
    (Call::CopiesBatch, "insert in batches while growing, 57 % repeats"),
    (Call::LookupTwoLevels, "look up one by one, half present, two depths"),
    (Call::LookupBatchTwoLevels, "look up in batches, half present, two depths"),
    (Call::RemoveTwoLevels, "remove one by one, two depths"),
    (Call::RemoveBatchTwoLevels, "remove in batches, two depths"),
];

impl Call {
    fn has_two_levels(self) -> bool {
        matches!(
            self,
            Self::LookupTwoLevels
                | Self::LookupBatchTwoLevels
                | Self::RemoveTwoLevels
                | Self::RemoveBatchTwoLevels
        )
    }
}

/// A measured case.
#[derive(Clone, Copy)]
struct Case {
    shape: Shape,
    call: (Call, &'static str),
    /// With only the instructions that every processor has, as on processors other than x86.
    is_portable: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let portable = if self.is_portable { ", portable" } else { "" };
        let shape = format!("{:?}", self.shape).to_lowercase();
        write!(out, "{shape}: {}{portable}", self.call.1)
    }
}

impl Case {
    /// All cases.
    fn all() -> impl Iterator<Item = Self> {
        let of_shapes = |is_portable| {
            let case = move |shape, call| Self { shape, call, is_portable };
            [Shape::Narrow, Shape::Wide]
                .into_iter()
                .flat_map(move |shape| CALLS.map(|call| case(shape, call)))
        };
        let has_portable = |case: &Self| {
            case.call.1.contains("in batches")
                && case.call.0 != Call::LastStretch
                && !case.call.0.has_two_levels()
        };
        let is_counted = |case: &Self| case.shape == Shape::Wide || !case.call.0.has_two_levels();
        of_shapes(false).filter(is_counted).chain(of_shapes(true).filter(has_portable))
    }

    /// The number of keys for which [`play`](Self::play) counts.
    fn keys(self) -> u64 {
        match self.call.0 {
            Call::LastStretch => ITEMS - BEFORE_THE_STRETCH,
            Call::UniqueBatch | Call::CopiesBatch => STREAM,
            _ => ITEMS,
        }
    }

    /// Runs the case; the counted part runs within [`counted`].
    fn play(self) -> Result<(), BuildError> {
        let call = self.call.0;
        let mut filter = builder(self.shape, call).build()?;
        let keys: Vec<KeyHash> = hashes(0..ITEMS).collect();
        if matches!(call, Call::LookupBatch | Call::Remove | Call::RemoveBatch) {
            insert(&mut filter, &keys);
        }
        if call.has_two_levels() {
            insert(&mut filter, &hashes(0..TWO_LEVELS).collect::<Vec<_>>());
            assert!(!filter.segments().is_power_of_two(), "all segments have one depth");
        }
        match call {
            Call::InsertBatch | Call::Growing => counted(&mut || insert(&mut filter, &keys)),
            Call::LastStretch => {
                let (first, last) = keys.split_at(BEFORE_THE_STRETCH as usize);
                insert(&mut filter, first);
                counted(&mut || insert(&mut filter, last));
            }
            Call::UniqueBatch => insert_unique(&mut filter),
            Call::CopiesBatch => {
                let keys = with_repeats();
                counted(&mut || insert(&mut filter, &keys));
            }
            Call::Insert => counted(&mut || {
                for &key in &keys {
                    black_box(filter.insert(key).is_ok());
                }
            }),
            Call::InsertFew => counted(&mut || {
                for few in keys.chunks(4) {
                    black_box(filter.insert_batch(few).is_ok());
                }
            }),
            Call::LookupBatch | Call::LookupBatchTwoLevels => {
                let asked: Vec<KeyHash> = half_present().map(KeyHash::from_u64).collect();
                counted(&mut || {
                    for block in asked.chunks(BLOCK) {
                        let answers = filter.contains_batch(block);
                        black_box(&answers);
                    }
                });
            }
            Call::LookupTwoLevels => ask(&filter, KeyHash::from_u64),
            Call::Lookup => look_up(&mut filter, KeyHash::from_u64),
            Call::LookupInteger => look_up(&mut filter, |n| n),
            Call::LookupString => look_up(&mut filter, text),
            Call::Remove | Call::RemoveTwoLevels => counted(&mut || {
                for &key in &keys {
                    black_box(filter.remove(key));
                }
            }),
            Call::RemoveBatch | Call::RemoveBatchTwoLevels => counted(&mut || {
                for block in keys.chunks(BLOCK) {
                    let answers = filter.remove_batch(block);
                    black_box(&answers);
                }
            }),
        }
        Ok(())
    }
}

/// A growing filter starts small; any other has room for exactly all items, or for more if that cannot be chosen.
fn builder(shape: Shape, call: Call) -> CuckooFilterBuilder {
    let is_growing = matches!(call, Call::Growing | Call::CopiesBatch) || call.has_two_levels();
    let builder = CuckooFilter::builder().capacity(if is_growing { 0 } else { ITEMS });
    let builder = match shape {
        Shape::Narrow => builder.rate(0.001),
        Shape::Wide => return builder,
    };
    let most = if call == Call::CopiesBatch { STREAM } else { ITEMS };
    if is_growing { builder.max_items(most) } else { builder.when_full(WhenFull::Refuse) }
}

/// Callgrind counts between entry and return of this function, which it finds by name.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // A statement after the call, which prevents a tail call: the function returns after the work.
    black_box(());
}

fn insert(filter: &mut CuckooFilter, keys: &[KeyHash]) {
    for block in keys.chunks(BLOCK) {
        black_box(filter.insert_batch(block).is_ok());
    }
}

fn hashes(numbers: Range<u64>) -> impl Iterator<Item = KeyHash> {
    numbers.map(|n| KeyHash::from_u64(mix(n)))
}

/// First occurrences of all keys, with repeats of earlier ones in between.
fn with_repeats() -> Vec<KeyHash> {
    let number = |n: u64| {
        let new = n * ITEMS / STREAM;
        if (n + 1) * ITEMS / STREAM > new { new } else { mix(n) % (new + 1) }
    };
    (0..STREAM).map(|n| KeyHash::from_u64(mix(number(n)))).collect()
}

fn insert_unique(filter: &mut CuckooFilter) {
    let keys = with_repeats();
    let mut outcomes = Vec::new();
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            black_box(filter.insert_each(block, When::Now, IfPresent::Skip, &mut outcomes).is_ok());
        }
    });
}

/// Inserts all keys, and looks up keys of which half are present.
fn look_up<K: Key>(filter: &mut CuckooFilter, key: impl Fn(u64) -> K) {
    for n in 0..ITEMS {
        black_box(filter.insert(key(mix(n))).is_ok());
    }
    ask(filter, key);
}

/// Looks up keys of which half are present.
fn ask<K: Key>(filter: &CuckooFilter, key: impl Fn(u64) -> K) {
    let keys: Vec<K> = half_present().map(key).collect();
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            black_box(block.iter().filter(|key| filter.contains(key)).count());
        }
    });
}

/// Keys of which half are present, in an unpredictable order.
fn half_present() -> impl Iterator<Item = u64> {
    (0..ITEMS).map(|n| mix(if mix(!n) & 1 == 1 { n + ABSENT } else { n }))
}

/// A string of 16 hexadecimal digits.
fn text(number: u64) -> [u8; 16] {
    std::array::from_fn(|place| b"0123456789abcdef"[(number >> (4 * place)) as usize % 16])
}

#[cfg(test)]
mod tests {
    use super::{Case, Verdict, parse, verdict};

    #[test]
    fn every_case_is_recorded() {
        let (_, counts) = parse(include_str!("../../guard.txt")).expect("the record");
        assert_eq!(counts.len(), Case::all().count());
        for case in Case::all() {
            assert!(counts.contains_key(&case.to_string()), "{case}");
        }
    }

    #[test]
    fn five_per_cent_more_are_too_many() {
        let verdicts = [94.0, 96.0, 104.9, 105.1].map(|count| verdict(100.0, count));
        assert_eq!(verdicts, [Verdict::Fewer, Verdict::Same, Verdict::Same, Verdict::More]);
        assert_eq!(verdict(f64::NAN, 1.0), Verdict::NotRecorded);
    }

    #[test]
    fn a_broken_record_is_refused() {
        assert!(parse("compiler\trustc\nnarrow\tmany\n").unwrap_err().contains("narrow"));
        assert!(parse("narrow\t1\n").unwrap_err().contains("compiler"));
    }
}
