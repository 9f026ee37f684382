//! Threads that share a filter file run ahead of the answers, but the file contains exactly what was answered, wherever
//! a run stopped.

use crate::support::{Folder, Repeats, coua, expected, lines, run_in, send, shell, until, wait};
use coua::KeyHasher;
use coua_dev::cases::{few_usual_or_all, sample};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::process::Stdio;

const THREADS: [&str; 6] = ["1", "2", "3", "4", "8", "16"];

/// With these, a new filter is shared from its first block on.
const SHARED: [&str; 2] = ["--capacity", "400000"];

fn numbers(range: std::ops::Range<u32>) -> String {
    let numbers = range.map(|number| format!("{}\n", number.wrapping_mul(0x9e37_79b9)));
    numbers.collect::<Vec<_>>().concat()
}

/// The number of items of a filter, and of lines of a file.
fn items_and_lines(folder: &Folder, output: &str) -> (u64, u64) {
    let info = run_in(folder, &["info", "--json", "seen"]).json();
    let lines = String::from_utf8(folder.read(output)).unwrap().lines().count();
    (info["items"].as_u64().unwrap(), lines as u64)
}

/// Filters with logs, with keys that share the first bits of their hashes, with records of all lengths, and with limits
/// that are reached anywhere in a block.
#[test]
fn files_and_answers_depend_on_no_threads() {
    let folder = Folder::new();
    let hasher = KeyHasher::default();
    let is_crowded = |text: &str| hasher.hash(text).to_u64() >> 54 == 0x155;
    let crowd = (0..4_000_000u32).map(|n| n.to_string()).filter(|text| is_crowded(text));
    let crowd: Vec<_> = crowd.collect();
    assert!(crowd.len() > 3_000);
    let mixed = (0..300_000).map(|n: usize| match n % 100 {
        0 => format!("{}\n", crowd[n / 100 % crowd.len()]),
        1 => format!("{}{n}\n", "long ".repeat(n * 7_919 % 3_000)),
        _ => format!("{}\n", (n / 2).wrapping_mul(0x9e37_79b9) % 9_999_991),
    });
    folder.file("mixed", mixed.collect::<String>());
    folder.file("more", numbers(0..60_000));
    let tiny = (0..400_000).map(|n| format!("{:x}\n", n % 0xfff)).collect::<Vec<_>>();
    folder.file("tiny", tiny.concat());
    let base = folder.join("base");
    folder.file("many", numbers(100_000..600_000));
    run_in(&folder, &["add", &base, "many"]).good();
    let limited = ["--rate", "0.0001", "--capacity", "170000", "--when-full", "stop"];
    let dedup = ["dedup", "--filter", "seen", "-o", "out"];
    let cases = [
        (Some(&base), [&dedup[..], &["more", "mixed", "tiny"]].concat()),
        (Some(&base), vec!["dedup", "--filter", "seen", "-o", "out", "more"]),
        (Some(&base), vec!["add", "seen", "tiny", "mixed"]),
        (Some(&base), vec!["remove", "seen", "many", "more"]),
        (None, [&dedup[..], &SHARED, &["mixed", "tiny", "mixed"]].concat()),
        (None, [&dedup[..], &limited, &["mixed", "tiny", "more"]].concat()),
        (None, [&["add", "seen"][..], &limited, &["mixed", "more"]].concat()),
        (None, [&["add", "seen", "--unique"][..], &limited, &["more", "mixed"]].concat()),
    ];
    for (before, command) in sample(cases, [3, 1]) {
        let results = THREADS.map(|threads| {
            for name in ["seen", "out"] {
                fs::remove_file(folder.join(name)).ok();
            }
            if let Some(before) = before {
                fs::copy(before, folder.join("seen")).unwrap();
            }
            let common = ["-j", threads, "--stats=json", "--checkpoint-every", "1000"];
            let run = run_in(&folder, &[&command[..], &common].concat());
            assert!(matches!(run.code, Some(0 | 3)), "{command:?}: {}", run.stderr);
            let figures = run.stderr.lines().find(|line| line.starts_with('{')).map(|line| {
                let figures = crate::support::json(line);
                ["records", "unique", "duplicates", "added", "expected_wrongly_dropped"]
                    .map(|name| figures[name].clone())
            });
            (folder.read("seen"), fs::read(folder.join("out")).ok(), run.code, figures)
        });
        for (threads, result) in THREADS.iter().zip(&results) {
            assert!(result.0 == results[0].0, "{command:?} -j {threads}: another filter");
            assert!(result.1 == results[0].1, "{command:?} -j {threads}: another output");
            assert_eq!((result.2, &result.3), (results[0].2, &results[0].3), "{command:?}");
        }
    }
}

/// Outputs that fail, or that nobody reads: nothing new is saved.
#[test]
fn an_output_that_fails_leaves_the_file_as_it_was() {
    let folder = Folder::new();
    folder.file("many", numbers(0..500_000));
    run_in(&folder, &[&["add", "seen"], &SHARED[..], &["many"]].concat()).good();
    let before = folder.read("seen");
    folder.file("more", numbers(500_000..1_500_000));
    for threads in sample(THREADS, [4, 1]) {
        let script = format!("$COUA dedup -j {threads} --filter seen more | head -n 7");
        assert_eq!(shell(folder.path(), &script).good(), numbers(500_000..500_007).as_bytes());
        assert!(folder.read("seen") == before, "-j {threads}");
        let script = format!("$COUA dedup -j {threads} --filter seen more > /dev/full");
        assert_eq!(shell(folder.path(), &script).code, Some(2));
        assert!(folder.read("seen") == before, "-j {threads}");
        let script = format!(
            "trap '' XFSZ; ulimit -f 7000; $COUA dedup -j {threads} --filter seen more > out"
        );
        assert_eq!(shell(folder.path(), &script).code, Some(2));
        assert!(folder.read("seen") == before, "-j {threads}");
    }
}

/// Whenever a signal arrives, exactly the printed records are in the filter.
#[test]
fn a_signal_leaves_what_was_printed() {
    let folder = Folder::new();
    let text = lines(600_000, Repeats::Few);
    folder.file("many", &text);
    let whole = expected(&text);
    let (rounds, least) = few_usual_or_all([(6, 2), (18, 6), (18, 6)]);
    let mut stopped = 0;
    for (round, threads) in THREADS.iter().cycle().take(rounds).enumerate() {
        for name in ["seen", "out"] {
            fs::remove_file(folder.join(name)).ok();
        }
        let every = ["0", "0.03", "1000"][round % 3];
        let dedup = ["dedup", "-j", threads, "--checkpoint-every", every, "--filter", "seen"];
        let dedup = [&dedup[..], &SHARED, &["-o", "out", "many"]].concat();
        let mut child = coua(&dedup).current_dir(folder.path()).spawn().unwrap();
        let most = whole.len() as u64 * (round as u64 + 1) / 20;
        let is_written = || fs::metadata(folder.join("out")).is_ok_and(|it| it.len() >= most);
        until(is_written);
        send(&child, Signal::TERM);
        stopped += u32::from(!wait(&mut child).success());
        let (items, lines) = items_and_lines(&folder, "out");
        assert_eq!(items, lines, "-j {threads}, every {every}");
        assert!(whole.starts_with(&folder.read("out")), "-j {threads}, every {every}");
        let resumed = [&dedup[..], &["--resume"]].concat();
        run_in(&folder, &resumed).good();
        assert!(folder.read("out") == whole, "-j {threads}, every {every}");
        assert_eq!(run_in(&folder, &["check", "-v", "-c", "seen", "many"]).stdout, b"0\n");
    }
    assert!(stopped >= least, "{stopped}");
}

/// A new filter is saved as a whole, for which no shard may be ahead, even if no further input lets the shards finish.
#[test]
fn a_silent_stream_is_saved() {
    let folder = Folder::new();
    // The later is after the silence begins. The earlier is before it, and the time to the next checkpoint, which
    // grows with the length of the last, is longer than the pause.
    let cases = [("4", "3"), ("4", "0.05"), ("2", "3"), ("16", "0.05")];
    for (threads, every) in sample(cases, [2, 1]) {
        fs::remove_file(folder.join("seen")).ok();
        let dedup = ["dedup", "-j", threads, "--checkpoint-every", every, "--filter", "seen"];
        let mut command = coua([&dedup[..], &SHARED].concat());
        command.current_dir(folder.path()).stdin(Stdio::piped());
        let output = fs::File::create(folder.join("out")).unwrap();
        let mut child = command.stdout(output).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(numbers(0..300_000).as_bytes()).unwrap();
        until(|| fs::metadata(folder.join("seen")).is_ok_and(|seen| seen.len() > 0));
        until(|| items_and_lines(&folder, "out") == (300_000, 300_000));
        child.kill().unwrap();
        wait(&mut child);
    }
}
