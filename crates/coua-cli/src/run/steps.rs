//! How long each step of `dedup` takes by itself, and what so many cores can give at most: `cargo test --release -p coua-cli --bin coua steps_alone --
//! --ignored --nocapture`. `docs/decisions/0014-dedup-in-parts.md` says what follows for many processors.

use crate::filter::FilterSpec;
use crate::filter::sharded_memory::ShardedMemory;
use crate::input::{BlockReader, Coding, Inputs, Until};
use crate::key::{Finder, Hashing, Keys, Normalize, Seen, Wanted};
use crate::output::{Destination, Destinations, OutputSpec, Outputs, UsedFiles};
use crate::pipeline::{Batch, Prefetch};
use crate::record::{RecordFormat, Separator};
use crate::terminal::CancelToken;
use coua::KeyHasher;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lines, of which a sixth repeats another.
const LINES: u64 = 10_000_000;

/// The steps of a block, and whether blocks take the step one after the other, in order.
const STEPS: [(&str, bool); 6] = [
    ("read", true),
    ("hash", false),
    ("group", false),
    ("shards", false),
    ("answer", true),
    ("write", true),
];

/// What each step of all blocks took.
#[derive(Default)]
struct Times([Duration; STEPS.len()]);

impl Times {
    fn add<T>(&mut self, step: usize, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = work();
        self.0[step] += begin.elapsed();
        result
    }

    /// Nanoseconds a line.
    fn each(&self) -> [f64; STEPS.len()] {
        self.0.map(|time| time.as_nanos() as f64 / LINES as f64)
    }
}

/// What so many cores need for a line at least, and what keeps them from being faster: either all are busy, or one
/// step that takes the blocks in order is.
fn model(each: [f64; STEPS.len()], cores: usize) -> (f64, &'static str) {
    let all_busy = (each.iter().sum::<f64>() / cores as f64, "cores");
    let in_order = each.into_iter().zip(STEPS).filter(|(_, (_, in_order))| *in_order);
    in_order
        .map(|(time, (name, _))| (time, name))
        .fold(all_busy, |most, step| if step.0 > most.0 { step } else { most })
}

fn lines(prefix: &str) -> String {
    let mut text = String::new();
    for line in 0..LINES {
        let number = if line % 3 == 0 { line / 2 } else { line };
        writeln!(text, "{prefix}{:x}", number.wrapping_mul(0x9e37_79b9) & 0xffff_ffff).unwrap();
    }
    text
}

fn measure(prefix: &str, threads: usize) -> Times {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("lines"), folder.path().join("out"));
    fs::write(&path, lines(prefix)).unwrap();
    let inputs = Inputs::new(&[path], Coding::Decompress);
    let survey = inputs.survey(Until::End).unwrap();
    let format = RecordFormat { separator: Separator::Byte(b'\n'), crlf: false };
    let stop = Arc::new(CancelToken::new().unwrap());
    let mut reader = BlockReader::new(inputs, format.clone(), None, stop, Arc::default());
    let mut hashing = Hashing {
        format: format.clone(),
        keys: Keys::new(Finder::Record, Normalize::default(), None),
        hasher: KeyHasher::default(),
        on_missing: None,
        shard: None,
        wanted: Wanted::Hash,
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    let filter = ShardedMemory::new(&FilterSpec::default(), &survey, threads).unwrap();
    let to = Destinations { main: Some(Destination::File(out)), tee: None };
    let spec = OutputSpec { format: &format, to: &to, used: &UsedFiles::default() };
    let mut outputs = Outputs::open(spec).unwrap();
    let (mut times, mut batch) = (Times::default(), Batch::default());
    while times.add(0, || reader.next_block(&mut batch.block)).unwrap() {
        let Batch { block, keys, answers } = &mut batch;
        times.add(1, || hashing.hash(block, keys));
        answers.clear();
        times.add(2, || filter.lookup(keys, answers));
        times.add(3, || {
            for (shard, group) in answers.groups.iter_mut().enumerate() {
                filter.query_shard(shard, group, block.consumed);
            }
        });
        times.add(4, || {
            filter.merge(keys, answers).unwrap();
            let found = answers.found.iter().map(|found| *found == Seen::New);
            keys.spread(found, |_| true, &mut answers.selected);
        });
        times.add(5, || outputs.write(block, keys, answers)).unwrap();
    }
    times
}

#[test]
#[ignore = "takes a minute, and prints a table"]
fn steps_alone() {
    let names = STEPS.map(|(name, _)| format!("{name:>6}")).join(" ");
    println!("bytes cores {names}    all |   ns  M lines/s  GB/s  limit");
    for prefix in ["", "https://site.example/a/path/of/some/length/page/"] {
        let bytes = prefix.len() + 9;
        for cores in [2, 4, 8, 16] {
            let each = measure(prefix, cores).each();
            let (least, limit) = model(each, cores);
            let steps = each.map(|time| format!("{time:6.1}")).join(" ");
            let (all, lines, rate) = (each.iter().sum::<f64>(), 1e3 / least, bytes as f64 / least);
            println!(
                "{bytes:5} {cores:5} {steps} {all:6.1} | {least:4.1} {lines:10.0} {rate:5.2}  {limit}"
            );
        }
    }
}
