//! Compressed inputs with any number of threads: only the time may depend on it.

use crate::packed::{COMPRESSIONS, Compress, bgzip, zstd_frames};
use crate::support::{
    Folder, PATIENCE, Repeats, coua, expected, fed, has_read, lines, messages, run_as_is, run_in,
    send, try_send, until, wait,
};
use coua_dev::cases::{few_usual_or_all, sample};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: [&str; 4] = ["1", "2", "3", "8"];

/// All compressions, including those that make files with several parts.
fn all() -> Vec<(&'static str, Compress)> {
    let cut: [(&str, Compress); 2] = [("bgzip", bgzip), ("zstd-frames", zstd_frames)];
    COMPRESSIONS.into_iter().chain(cut).collect()
}

fn mkfifo(folder: &Folder, name: &str) {
    let made = Command::new("mkfifo").arg(folder.join(name)).status();
    assert!(made.unwrap().success());
}

/// A program that waits for the end of its first input, which is standard input.
fn waiting(folder: &Folder, options: &[&str], inputs: &[&str]) -> (Child, ChildStdin) {
    let args = [&["dedup"], options, &["-"], inputs].concat();
    let mut command = coua(args);
    let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"first\n").unwrap();
    until(|| has_read(&stdin));
    (child, stdin)
}

#[test]
fn the_output_is_that_of_one_thread() {
    let folder = Folder::new();
    let text = lines(120_000, Repeats::Few);
    let mut inputs = Vec::new();
    for (number, (name, compress)) in all().into_iter().enumerate() {
        // The parts begin and end within lines, and share records.
        let from = number * 100_003;
        folder.file(name, compress(&text[from..from + text.len() / 2]));
        folder.file(&format!("{name}.plain"), &text[from..from + 1_000]);
        inputs.extend([name.to_owned(), format!("{name}.plain")]);
    }
    folder.file("empty", "");
    folder.file("empty.bgzip", bgzip(b""));
    mkfifo(&folder, "fifo");
    inputs.extend(["fifo", "empty", "empty.bgzip", "-", "gz"].map(str::to_owned));
    let result = |command: &[&str], threads: &str| {
        let fifo = folder.join("fifo");
        let packed = bgzip(b"in\na fifo\n");
        let writer = thread::spawn(move || fs::write(fifo, packed).unwrap());
        let inputs = inputs.iter().map(String::as_str);
        let args = command.iter().copied().chain(["-j", threads]).chain(inputs);
        let output = fed(coua(args).current_dir(folder.path()), b"from a pipe\n").good();
        writer.join().unwrap();
        output
    };
    for command in [&["dedup"][..], &["dedup", "-d"]] {
        let one = result(command, THREADS[0]);
        assert!(one.len() > 100_000);
        for threads in &THREADS[1..] {
            assert!(result(command, threads) == one, "{command:?} -j {threads}");
        }
    }
}

/// Each compression, damaged in some place, between two good files.
#[test]
fn damage_is_met_where_one_thread_meets_it() {
    let folder = Folder::new();
    let text = lines(120_000, Repeats::Few);
    folder.file("before", COMPRESSIONS[0].1(&text[..1_000_000]));
    folder.file("after", COMPRESSIONS[0].1(b"after\n"));
    for (name, compress) in sample(all(), [4, 1]) {
        let good = compress(&text);
        let flip = |place: usize| {
            let mut bad = good.clone();
            bad[place] ^= 0x55;
            bad
        };
        let half = good.len() / 2;
        let other_end = [&good[..], b"garbage"].concat();
        let bad = [good[..half].to_vec(), flip(half), flip(half + half / 2), flip(3), other_end];
        for (number, bad) in bad.into_iter().enumerate() {
            folder.file("bad", bad);
            let result = |threads| {
                let run = run_in(&folder, &["dedup", "-j", threads, "before", "bad", "after"]);
                (run.code, run.stderr, run.stdout)
            };
            let one = result("1");
            // Some are no longer recognized as compressed.
            let code = if number == 4 && name.contains("gz") { 0 } else { 2 };
            let is_told = one.0 == Some(code) && one.1.starts_with("coua: bad: ");
            assert!(is_told || number == 3, "{name} {number}: {}", one.1);
            for threads in sample(&THREADS[1..], [3, 2]) {
                let more = result(threads);
                assert_eq!((&more.0, &more.1), (&one.0, &one.1), "{name} {number} -j {threads}");
                assert!(more.2 == one.2, "{name} {number} -j {threads}: another output");
            }
        }
    }
}

fn zstd_of_window(log: u32) -> zstd::Encoder<'static, Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(log).unwrap();
    encoder
}

#[test]
fn an_early_end_leaves_nothing_hanging() {
    let folder = Folder::new();
    let mut encoder = zstd_of_window(20);
    for _ in 0..500 {
        encoder.write_all(&lines(20_000, Repeats::Few)).unwrap();
    }
    let large = encoder.finish().unwrap();
    folder.file("large", &large);
    folder.file("other", bgzip(&lines(200_000, Repeats::Few)));
    let inputs = ["large", "other", "large", "other"];
    for threads in sample(THREADS, [3, 1]) {
        let dedup = ["dedup", "-j", threads];
        // A signal while other threads decompress.
        let (mut child, _stdin) = waiting(&folder, &dedup[1..], &inputs);
        send(&child, Signal::TERM);
        let start = Instant::now();
        assert_eq!(wait(&mut child).signal(), Some(15));
        assert!(start.elapsed() < PATIENCE);
        // Nobody reads the output any more.
        let mut child = coua([&dedup[..], &inputs].concat());
        let mut child = child.current_dir(folder.path()).spawn().unwrap();
        let mut some = [0; 1_000];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        assert!(wait(&mut child).success());
        // There is no room.
        let full = ["--filter", "full", "--capacity", "1000", "--when-full", "stop"];
        let run = run_in(&folder, &[&dedup[..], &full, &inputs].concat());
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        fs::remove_file(folder.join("full")).unwrap();
    }
}

/// The positions in compressed inputs are correct wherever a run ends.
#[test]
fn runs_that_are_killed_are_resumed() {
    let text = lines(400_000, Repeats::Few);
    let records: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let part = |range: std::ops::Range<usize>| records[range].concat();
    let wanted = expected(&text);
    let mut killed = 0;
    for (round, (name, compress)) in sample(all(), [4, 1]).enumerate() {
        let folder = Folder::new();
        folder.file("first", compress(&part(0..150_000)));
        folder.file("second", compress(&part(150_000..300_000)));
        folder.file("third", part(300_000..400_000));
        let args = ["-qj3", "--filter", "seen", "-o", "out", "--resume", "--checkpoint-every", "0"];
        let args = [&["dedup"][..], &args, &["first", "second", "third"]].concat();
        for time in (1..).map(|n| n * n * (5 + round as u64)) {
            let mut child = coua(&args).current_dir(folder.path()).spawn().unwrap();
            thread::sleep(Duration::from_millis(time));
            let signal = if time % 2 == 0 { Signal::KILL } else { Signal::TERM };
            try_send(&child, signal);
            let status = wait(&mut child);
            killed += u32::from(status.signal().is_some());
            assert_eq!(messages(&mut child), "", "{name}");
            if status.success() {
                break;
            }
        }
        let out = folder.read("out");
        assert!(out == wanted, "{name}");
        // A second run has nothing to do; one with more input does only that.
        run_as_is(coua(&args).current_dir(folder.path())).good();
        folder.file("second", [folder.read("second"), compress(b"more\n")].concat());
        run_as_is(coua(&args).current_dir(folder.path())).good();
        assert!(folder.read("out") == [out, b"more\n".to_vec()].concat(), "{name}");
    }
    assert!(killed >= few_usual_or_all([2, 6, 6]), "{killed}");
}

/// The notes about a run do not depend on the number of threads.
#[test]
fn filters_that_remember_are_equal() {
    let text = lines(100_000, Repeats::Few);
    let remembered = |threads: &str| {
        let folder = Folder::new();
        let mut inputs = Vec::new();
        for (name, compress) in all() {
            folder.file(name, compress(&text));
            inputs.push(name);
        }
        let args = ["dedup", "--filter", "seen", "-o", "out", "--resume", "-j", threads];
        run_in(&folder, &[&args[..], &inputs].concat()).good();
        let runs = run_in(&folder, &["info", "seen"]).text();
        (folder.read("out"), folder.read("seen").len(), runs.lines().count())
    };
    let one = remembered(THREADS[0]);
    for threads in sample(&THREADS[1..], [3, 1]) {
        assert!(remembered(threads) == one, "-j {threads}");
    }
}
