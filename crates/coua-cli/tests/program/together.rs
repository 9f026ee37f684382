//! Several processes on one filter file or one output, and what `verify` finds in a filter.

use crate::compressed::unpacked;
use crate::support::{
    Folder, PATIENCE, Repeats, coua, expected, lines, messages, run, run_with, shell, until, wait,
};
use coua_dev::cases::sample;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The lines of a round; no two rounds have a line in common.
fn round(number: usize) -> Vec<u8> {
    (0..200).map(|line| format!("{number}-{line}\n")).collect::<Vec<_>>().concat().into_bytes()
}

/// Two writers that wait for each other, and three readers that never wait.
fn together_for(time: Duration) {
    let folder = Folder::new();
    let filter = &folder.join("seen.coua");
    // Large enough for a log, which grows until a new snapshot replaces it.
    run_with(&lines(300_000, Repeats::Few), ["add", filter]).good();
    let (begun, done) = (&Mutex::new(0), &Mutex::new(Vec::new()));
    let is_over = &AtomicBool::new(false);
    let write = || {
        while !is_over.load(Ordering::Relaxed) {
            let number = {
                let mut begun = begun.lock().unwrap();
                *begun += 1;
                *begun
            };
            let text = round(number);
            assert!(run_with(&text, ["dedup", "-q", "--filter", filter]).good() == text);
            done.lock().unwrap().push(number);
        }
    };
    let read = || {
        let mut reads = 0;
        while !is_over.load(Ordering::Relaxed) {
            let last = done.lock().unwrap().last().copied();
            if let Some(number) = last {
                let found = run_with(&round(number), ["check", "-c", filter]).good();
                assert_eq!(found, b"200\n", "round {number}");
                run(["verify", filter]).text();
                reads += 1;
            }
        }
        reads
    };
    thread::scope(|scope| {
        let writers = [(); 2].map(|()| scope.spawn(write));
        let readers = [(); 3].map(|()| scope.spawn(read));
        let start = Instant::now();
        // At least one round each, however slow the machine is; a failed writer stops.
        let is_little = || start.elapsed() < PATIENCE && done.lock().unwrap().len() < 4;
        while start.elapsed() < time || is_little() {
            thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(readers.map(|reader| reader.join().unwrap()).iter().sum::<u32>() > 0);
    });
    let all: Vec<u8> = done.lock().unwrap().iter().flat_map(|number| round(*number)).collect();
    let count = format!("{}\n", done.lock().unwrap().len() * 200);
    assert_eq!(run_with(&all, ["check", "-c", filter]).text(), count);
    assert!(run_with(&all, ["dedup", "--filter", filter]).good().is_empty());
}

#[test]
fn two_writers_and_three_readers() {
    together_for(Duration::from_secs(2));
}

#[test]
#[ignore = "one minute"]
fn two_writers_and_three_readers_for_a_minute() {
    together_for(Duration::from_mins(1));
}

/// Without --resume, into a pipe: only printed records are remembered.
#[test]
fn kills_on_a_pipe_lose_nothing() {
    let folder = Folder::new();
    let text = lines(60_000, Repeats::Many);
    let (file, filter) = (folder.file("lines", &text), folder.join("seen.coua"));
    let mut printed = Vec::new();
    for kill in 0..20 {
        let args = ["dedup", "--filter", &filter, "--checkpoint-every", "0", &file];
        let mut child = coua(args).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let reader = thread::spawn(move || {
            let mut part = Vec::new();
            output.read_to_end(&mut part).map(|_| part)
        });
        thread::sleep(Duration::from_micros(700 * kill));
        child.kill().unwrap();
        wait(&mut child);
        let mut part = reader.join().unwrap().unwrap();
        // The kill may have cut a line.
        part.truncate(part.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        printed.extend(part);
    }
    printed.extend(run(["dedup", "--filter", &filter, &file]).good());
    let (mut found, mut wanted) = (expected(&printed), expected(&text));
    for lines in [&mut found, &mut wanted] {
        let mut sorted: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
        sorted.sort_unstable();
        *lines = sorted.concat();
    }
    assert!(found == wanted, "some lines come again, none is missing");
}

#[test]
fn verify_finds_a_flipped_bit_anywhere() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    run_with(&lines(300_000, Repeats::Few), ["add", &filter]).good();
    for number in 0..3 {
        run_with(&round(number), ["add", &filter]).good();
    }
    run(["verify", &filter]).text();
    let good = folder.read("seen.coua");
    let ends = (0..200).chain(good.len() - 100..good.len());
    let places = ends.step_by(3).chain((200..good.len()).step_by(good.len() / 50));
    for at in sample(places, [4, 1]) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&filter, &bytes).unwrap();
        let run = run(["verify", &filter]);
        assert_eq!(run.code, Some(2), "byte {at}");
        assert!(run.stderr.starts_with("coua: ") && run.stderr.contains("seen.coua"));
    }
    fs::write(&filter, &good).unwrap();
    run(["verify", &filter]).text();
}

/// Each process repeatedly adds its own number to a filter that did not exist before.
fn twenty_processes(time: Duration) {
    let folder = Folder::new();
    let filter = &folder.join("seen.coua");
    let start = Instant::now();
    let write = |number: usize| {
        let line = format!("{number}\n");
        let mut rounds = 0;
        while rounds == 0 || start.elapsed() < time {
            run_with(line.as_bytes(), ["add", "-q", filter]).good();
            rounds += 1;
        }
        rounds
    };
    let rounds: Vec<u32> = thread::scope(|scope| {
        let writers: Vec<_> = (0..20).map(|number| scope.spawn(move || write(number))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let numbers: String = (0..20).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let wanted = rounds.iter().enumerate().map(|(number, rounds)| format!("{rounds}\t{number}\n"));
    let counts = run_with(numbers.as_bytes(), ["count", filter]).text();
    assert_eq!(counts, wanted.collect::<Vec<_>>().concat());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "one file, and nothing else");
}

#[test]
fn twenty_processes_lose_nothing() {
    twenty_processes(Duration::from_secs(2));
}

#[test]
#[ignore = "one minute"]
fn twenty_processes_lose_nothing_for_a_minute() {
    twenty_processes(Duration::from_mins(1));
}

#[test]
fn two_that_create_a_filter_take_turns() {
    for _ in 0..20 {
        let folder = Folder::new();
        let filter = folder.join("seen.coua");
        let start = |line: &str| {
            let input = folder.file(line, format!("{line}\n"));
            coua(["add", "-q", &filter, &input]).spawn().unwrap()
        };
        for mut child in [start("a"), start("b")] {
            assert!(wait(&mut child).success(), "{}", messages(&mut child));
        }
        assert_eq!(run_with(b"a\nb\n", ["count", &filter]).text(), "1\ta\n1\tb\n");
    }
}

/// Also compressed, and without a common filter. Nothing is emptied or changed before the refusal.
#[test]
fn an_output_is_written_by_one_run_at_a_time() {
    let folder = Folder::new();
    folder.file("in", "x\n");
    fs::create_dir(folder.join("dir")).unwrap();
    for (to, name) in [
        ("-o out", "out"),
        ("-o out.gz", "out.gz"),
        ("--append -o out.zst", "out.zst"),
        ("--keep last -o out", "out"),
        ("--filter f -o out", "out"),
        ("--output-dir dir", "dir/in"),
    ] {
        folder.file(name, "");
        let held = fs::File::open(folder.join(name)).unwrap();
        held.lock().unwrap();
        let dedup = format!("$COUA dedup {to} in");
        let message = format!(
            "{name}: another run is writing to it; wait for its end, or choose another output\n"
        );
        shell(folder.path(), &dedup).failed(2, &format!("coua: {message}"));
        assert!(!folder.has("new") && folder.read(name).is_empty(), "{to}");
        drop(held);
        shell(folder.path(), &format!("{dedup}; rm -f f new")).good();
    }
}

#[test]
fn runs_that_append_to_one_output_take_turns_at_their_filter() {
    let folder = Folder::new();
    let script = "seq 40 | xargs -n1 -P4 sh -c 'seq $0 50 | $COUA dedup -q --filter f --append -o out'; sort -n out";
    let numbers: Vec<_> = (1..=50).map(|number| format!("{number}\n")).collect();
    assert_eq!(shell(folder.path(), script).text(), numbers.concat());
}

/// Others may append to what the shell opened for appending.
#[test]
fn a_file_of_the_shell_is_written_by_one_run_too() {
    let folder = Folder::new();
    let held = fs::File::create(folder.join("out")).unwrap();
    held.lock().unwrap();
    let run = shell(folder.path(), "echo a | $COUA dedup 1<> out");
    let message = "another run is writing to it; wait for its end, or choose another output\n";
    run.failed(2, &format!("coua: standard output: {message}"));
    shell(folder.path(), "echo a | $COUA dedup >> out").good();
    assert_eq!(folder.read("out"), b"a\n");
    drop(held);
    let both = shell(folder.path(), "(echo b | $COUA dedup; echo c | $COUA dedup) > out; cat out");
    assert_eq!(both.text(), "b\nc\n");
}

#[test]
fn the_first_of_two_runs_keeps_its_output() {
    let folder = Folder::new();
    let mut command = coua(["dedup", "-o", "out.gz"]);
    let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\n").unwrap();
    until(|| folder.has("out.gz") && !folder.read("out.gz").is_empty());
    let second = shell(folder.path(), "echo b | $COUA dedup -o out.gz");
    assert!(second.stderr.contains("out.gz: another run is writing to it; "), "{}", second.stderr);
    input.write_all(b"c\n").unwrap();
    drop(input);
    assert!(wait(&mut child).success());
    assert_eq!(unpacked(&folder.read("out.gz")), b"a\nc\n");
}
