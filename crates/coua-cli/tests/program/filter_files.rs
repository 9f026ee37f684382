//! Filter files: remembered across runs, shared by processes, full.

use crate::support::{
    Folder, Repeats, coua, expected, json, lines, messages, run, run_in, run_with, shell, wait,
};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

#[test]
fn it_remembers_across_runs() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    assert_eq!(run_with(b"a\nb\n", ["dedup", "--filter", &filter]).good(), b"a\nb\n");
    assert_eq!(run_with(b"b\nc\n", ["dedup", "--filter", &filter]).good(), b"c\n");
    assert_eq!(run_with(b"a\nb\nc\n", ["dedup", "--filter", &filter]).good(), b"");
    let text = lines(300_000, Repeats::Few);
    let half =
        text.len() / 2 + text[text.len() / 2..].iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut both = run_with(&text[..half], ["dedup", "--filter", &filter]).good();
    both.extend(run_with(&text[half..], ["dedup", "--filter", &filter]).good());
    assert!(both == expected(&text));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "one file, and nothing else");
}

#[test]
fn an_output_is_complete_before_it_is_remembered() {
    let folder = Folder::new();
    let (filter, output) = (folder.join("seen.coua"), folder.join("output"));
    let text = lines(100_000, Repeats::Many);
    let file = folder.file("lines", &text);
    run(["dedup", "--filter", &filter, &file, "-o", &output]).good();
    assert!(folder.read("output") == expected(&text));
}

#[test]
fn one_writer_at_a_time_and_the_next_continues() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let mut first = coua(["dedup", "--filter", &filter]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"a\nb\n").unwrap();
    let mut stdout = BufReader::new(first.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();

    let mut second = coua(["dedup", "--quiet", "--filter", &filter]);
    let mut second = second.stdin(Stdio::piped()).spawn().unwrap();
    second.stdin.take().unwrap().write_all(b"b\nc\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(second.try_wait().unwrap().is_none(), "it waits");
    drop(stdin);
    assert!(wait(&mut first).success());
    let second = second.wait_with_output().unwrap();
    assert_eq!((second.status.code(), second.stdout.as_slice()), (Some(0), b"c\n".as_slice()));
    assert_eq!(second.stderr, b"");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "one file, and nothing else");
}

#[test]
fn readers_need_not_wait() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    run_with(b"a\n", ["add", &filter]).good();
    let mut writer = coua(["dedup", "--filter", &filter]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = writer.stdin.take().unwrap();
    stdin.write_all(b"b\n").unwrap();
    BufReader::new(writer.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(run_with(b"a\nb\n", ["check", &filter]).good(), b"a\n", "as before");
    assert!(run(["info", &filter]).text().contains("items"));
    drop(stdin);
    assert!(wait(&mut writer).success());
    assert_eq!(run_with(b"a\nb\n", ["check", &filter]).good(), b"a\nb\n");
}

#[test]
fn many_processes_on_one_file_lose_nothing() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let text = lines(20_000, Repeats::Few);
    let file = folder.file("lines", &text);
    let parts: Vec<String> = (0..8).map(|number| folder.join(&format!("part{number}"))).collect();
    let start = |part: &String| {
        let args = ["dedup", "--quiet", "--filter", &filter, &file, "-o", part];
        coua(args).spawn().unwrap()
    };
    let children: Vec<_> = parts.iter().map(start).collect();
    for mut child in children {
        assert!(wait(&mut child).success());
        assert_eq!(messages(&mut child), "");
    }
    let shown: Vec<u8> = parts.iter().flat_map(|part| fs::read(part).unwrap()).collect();
    assert!(shown == expected(&text), "each line was shown by exactly one of them");
}

/// Large enough for a few records to go to the log, which every command reads.
#[test]
fn few_changes_of_a_large_filter_are_appended() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let text = (0..1_000_000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let file = folder.file("lines", &text);
    run(["add", &filter, &file]).good();
    let before = folder.read("seen.coua");
    assert!(before.len() > 5 << 20);
    let snapshot = run(["info", "--json", &filter]).json()["snapshot_bytes"].as_u64().unwrap();
    let snapshot = usize::try_from(snapshot).unwrap();
    for (round, new) in ["one\n", "two\n", "three\n"].iter().enumerate() {
        let new = new.as_bytes();
        assert_eq!(run_with(new, ["dedup", "--filter", &filter]).good(), new);
        assert!(folder.read("seen.coua").starts_with(&before), "it is not written again");
        assert_eq!(run_with(new, ["check", "-c", &filter]).good(), b"1\n");
        let report = run(["info", "--json", &filter]).json();
        assert_eq!(
            (&report["items"], &report["transactions"]),
            (&(1_000_001 + round).into(), &(round + 2).into())
        );
    }
    let info = run(["info", "--json", &filter]).json();
    let log = folder.read("seen.coua").len() - snapshot;
    assert_eq!((&info["snapshot_bytes"], &info["log_bytes"]), (&snapshot.into(), &log.into()));
    // The first transaction is the note of how keys are made.
    assert_eq!((&info["log_bytes"], &info["transactions"]), (&log.into(), &4.into()));
    assert!(log > 0 && run(["info", &filter]).text().contains("log size"));
    let verified = run(["verify", &filter]).text();
    assert!(verified.contains(": intact, 1,000,003 items, snapshot "), "{verified}");
    assert!(verified.contains(", 4 transactions of "), "{verified}");
    // Fewer bytes than a frame's head are not damage: a crash leaves such a rest.
    let closed = folder.read("seen.coua");
    folder.file("seen.coua", [&closed[..], &[7; 47]].concat());
    let torn = run(["verify", &filter]).text();
    let words = "; 47 B after that are from an interrupted write and are ignored\n";
    assert!(torn.ends_with(words), "{torn}");
    run_with(b"two\n", ["remove", &filter]).good();
    let counts = run_with(b"one\ntwo\nthree\n", ["count", &filter]).good();
    assert_eq!(counts, b"1\tone\n0\ttwo\n1\tthree\n");
    let good = folder.read("seen.coua");
    let mut bytes = good.clone();
    bytes[before.len() + log / 2] ^= 1;
    folder.file("seen.coua", &bytes);
    for args in [["verify", &filter], ["check", &filter], ["add", &filter]] {
        let run = run_with(b"x\n", args);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.stderr.contains("seen.coua: damaged at byte"), "{}", run.stderr);
    }
    assert!(folder.read("seen.coua") == bytes);
    folder.file("seen.coua", &good);
    // A file that replaces the filter does not take over its log.
    let copy = folder.join("copy.coua");
    run(["merge", "-o", &copy, &filter]).good();
    run(["merge", "-o", &filter, &copy]).good();
    // The transaction of the note of how keys are made.
    assert_eq!(run(["info", "--json", &filter]).json()["transactions"], 1);
    run(["verify", &filter]).text();
    run(["compact", &filter]).good();
}

#[test]
fn a_filter_that_cannot_be_saved_is_as_it_was() {
    let folder = Folder::new();
    folder.file("many", lines(300_000, Repeats::Few));
    run_with(b"a\n", ["dedup", "--filter", &folder.join("seen.coua")]).good();
    let before = folder.read("seen.coua");
    // No file may grow beyond 200 blocks; the output goes to /dev/null.
    let script = "trap '' XFSZ; ulimit -f 400; $COUA dedup --filter seen.coua many > /dev/null";
    let run = shell(folder.path(), script);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let message = "coua: seen.coua: not saved; the file is as before, or as at the last checkpoint: \
                   File too large\n";
    assert_eq!(run.stderr, message);
    assert!(folder.read("seen.coua") == before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn options_must_agree_with_an_existing_filter() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let made = ["--rate", "0.001", "--capacity", "1M"];
    let again = |extra: &[&str]| {
        let args = ["dedup", "--filter", &filter].into_iter().chain(extra.iter().copied());
        run_with(b"a\n", args)
    };
    assert_eq!(again(&made).good(), b"a\n");
    assert_eq!(again(&made).good(), b"");
    assert_eq!(again(&["--rate", "0.01"]).good(), b"", "better than asked for is good enough");
    for (option, value) in [("--rate", "0.00001"), ("--when-full", "stop"), ("--capacity", "2M")] {
        let run = again(&[option, value]);
        assert_eq!(run.code, Some(2), "{option}");
        let begin = format!("coua: {filter}: the existing filter has {option} ");
        assert!(run.stderr.starts_with(&begin), "{}", run.stderr);
    }
}

#[test]
fn a_filter_without_a_limit_has_no_rate_to_agree_with() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    run_with(b"a\n", ["add", &filter]).good();
    let run = run_with(b"a\n", ["add", "--rate", "0.1", &filter]);
    let path = fs::canonicalize(&filter).unwrap();
    let message = format!(
        "coua: {}: the existing filter has --rate unbounded (no limit of items), not 0.1; drop \
         --rate, or use another filter\n",
        path.display()
    );
    run.failed(2, &message);
}

#[test]
fn a_filter_without_a_limit_agrees_with_any_capacity() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    run_with(b"a\n", ["add", &filter]).good();
    run_with(b"a\n", ["add", "--capacity", "1", "--rate", "0.1", &filter]).good();
    let path = fs::canonicalize(&filter).unwrap();
    let message = format!(
        "coua: {}: the existing filter has --when-full grow, not stop; drop --when-full, or use \
         another filter\n",
        path.display()
    );
    let stop = ["add", "--capacity", "5", "--when-full", "stop", &filter];
    run_with(b"a\n", stop).failed(2, &message);
}

#[test]
fn descriptions_that_make_no_filter() {
    let run = run_with(b"a\n", ["dedup", "--rate", "1e-30", "--capacity", "1000"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("coua: new filter: "), "{}", run.stderr);
    let vast = run_with(b"a\n", ["dedup", "--rate", "0.9", "--capacity", "1e19"]);
    assert_eq!(vast.code, Some(2));
    let message = "coua: new filter: out of memory: requested ";
    assert!(vast.stderr.starts_with(message), "{}", vast.stderr);
    let message = "coua: --rate: needs a number of items; add --capacity\n";
    run_with(b"a\n", ["dedup", "--rate", "0.01"]).failed(2, message);
    for args in [
        ["--rate", "2"],
        ["--rate", "x"],
        ["--capacity", "-1"],
        ["--capacity", "0"],
        ["--when-full", "stop"],
        ["--threads", "0"],
    ] {
        let run = run_with(b"a\n", ["dedup"].iter().chain(&args));
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.stdout.is_empty());
    }
    let enormous = run_with(b"a\n", ["dedup", "--capacity", "1e15"]);
    assert_eq!(enormous.code, Some(2));
    assert!(enormous.stderr.contains("memory"), "{}", enormous.stderr);
}

#[test]
fn a_full_filter_stops_with_code_3_and_loses_nothing() {
    let folder = Folder::new();
    let text = lines(20_000, Repeats::Few);
    let file = folder.file("lines", &text);
    let stop = ["--capacity", "5000", "--when-full", "stop"];
    for (name, options) in
        [("exact", &stop[..]), ("rate", &[&stop[..], &["--rate", "0.0001"]].concat())]
    {
        let filter = folder.join(name);
        let args = ["dedup", "--filter", &filter, "--stats=json"];
        let full = run(args.iter().chain(options).chain(&[file.as_str()]));
        assert_eq!(full.code, Some(3));
        let (figures, message) = full.stderr.trim_end().split_once('\n').unwrap();
        let figures = json(figures);
        let printed = full.stdout.split_inclusive(|byte| *byte == b'\n').count();
        assert_eq!(printed, 5000);
        assert_eq!(figures["unique"].as_u64(), Some(5000));
        assert_eq!(figures["items"].as_u64(), Some(5000));
        let records = figures["records"].as_u64().unwrap();
        let words = format!("stopped at {file}: record {} (", records + 1);
        assert!(message.contains("full") && message.contains(&words), "{message}");
        // The refused record and the later ones go to another filter.
        let rest: Vec<u8> = text
            .split_inclusive(|byte| *byte == b'\n')
            .skip(usize::try_from(records).unwrap())
            .flatten()
            .copied()
            .collect();
        let after = run_with(&rest, ["check", "-v", &filter]);
        let refused = rest.split_inclusive(|byte| *byte == b'\n').next().unwrap();
        assert!(after.stdout.starts_with(refused));
        let before = &text[..text.len() - rest.len()];
        assert!(expected(before).len() >= full.stdout.len());
        assert!(expected(before).starts_with(&full.stdout[..1000]));
    }
}

#[test]
fn records_after_the_end_of_a_full_filter_are_not_told() {
    let folder = Folder::new();
    let filter = folder.join("f");
    for args in [&["dedup"][..], &["dedup", "--filter", &filter], &["add", &filter]] {
        let run = run_with(
            b"a 1\nb 2\nc\n",
            [args, &["-k2", "--capacity=1", "--when-full=stop"]].concat(),
        );
        assert_eq!((run.code, run.stderr.lines().count()), (Some(3), 1), "{}", run.stderr);
        fs::remove_file(&filter).ok();
    }
}

#[test]
fn a_filter_may_exceed_its_rate() {
    let folder = Folder::new();
    let filter = folder.join("f");
    let text = lines(20_000, Repeats::Few);
    let options = ["--rate", "0.000001", "--capacity", "5000"];
    let args = ["dedup", "--filter", &filter];
    let run = run_with(&text, args.iter().chain(&options));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.len() > expected(&text).len() * 99 / 100);
    let words = "items, more than its --capacity of 5,000; its false-positive rate is now ";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert_eq!(run_with(b"x\n", [&args[..], &["-q"]].concat()).good(), b"x\n");
    assert!(run_with(b"x\n", args).stderr.contains(words), "in each run");
}

/// The user would believe that the key protects something.
#[test]
fn a_key_for_a_filter_without_one_is_refused() {
    let folder = Folder::new();
    let (filter, key) = (folder.join("seen"), folder.file("key", [7; 16]));
    run_with(b"a\n", ["add", &filter]).good();
    let before = folder.read("seen");
    for command in ["add", "check", "count", "remove", "info"] {
        run([command, &filter, "--secret", &key]).failed(
            2,
            &format!(
                "coua: {filter}: the filter was created without a secret key; drop --secret, or \
                 use another filter\n"
            ),
        );
    }
    assert_eq!(folder.read("seen"), before);
}

/// For example `--secret <(pass show key)`: a pipe can be read only once.
#[test]
fn a_secret_key_may_come_from_a_pipe() {
    let folder = Folder::new();
    let [input, new, added, both] = [
        folder.file("input", "a\nb\na\n"),
        folder.join("new"),
        folder.join("added"),
        folder.join("both"),
    ];
    let piped = |args: &[&str]| run_with(&[7; 16], [args, &["--secret", "/dev/stdin"]].concat());
    assert_eq!(piped(&["dedup", &input]).good(), b"a\nb\n");
    assert_eq!(piped(&["dedup", "--filter", &new, &input]).good(), b"a\nb\n");
    assert_eq!(piped(&["dedup", "--filter", &new, &input]).good(), b"");
    piped(&["add", &added, &input]).good();
    piped(&["verify", &new, &added]).good();
    piped(&["merge", "-o", &both, &new, &added]).good();
    assert_eq!(piped(&["count", &both, &input]).text(), "3\ta\n2\tb\n3\ta\n");
    assert_eq!(piped(&["check", &both, &input]).good(), b"a\nb\na\n");
}

#[test]
fn secret_keys() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    let key = folder.file("key", "000102030405060708090a0b0c0d0e0f\n");
    let raw = folder.file("raw", (0..16).collect::<Vec<u8>>());
    let other = folder.file("other", [7; 16]);
    let with = |key: &str| run_with(b"a\n", ["dedup", "--filter", &filter, "--secret", key]);
    assert_eq!(with(&key).good(), b"a\n");
    assert_eq!(with(&raw).good(), b"", "the same key in other letters");
    let message = format!("coua: {filter}: wrong secret hash key for this filter\n");
    with(&other).failed(2, &message);
    let message = format!(
        "coua: {filter}: filter cannot be read without its secret hash key (--secret FILE)\n"
    );
    run(["info", &filter]).failed(2, &message);
    run_with(b"a\n", ["dedup", "--filter", &filter]).failed(2, &message);
    assert!(run(["info", &filter, "--secret", &key]).text().contains("siphash13"));
    let bad = folder.file("bad", "too short");
    let message = format!(
        "coua: {bad}: is not a hash key (found 9 bytes, expected 16 bytes or 32 hexadecimal digits)\n"
    );
    with(&bad).failed(2, &message);
}

/// Names in a filter are untrusted: a terminal would obey control characters, and a newline would forge a line.
#[cfg(unix)]
#[test]
fn names_in_a_filter_are_shown_harmlessly() {
    let folder = Folder::new();
    let name = "\x1b]0;owned\x07\x1b[2Jx\nitems 7";
    folder.file(name, "a\n");
    run_in(&folder, &["add", "--resume", "f", name]).good();
    run_in(&folder, &["add", "g"]).good();
    for args in [&["info", "--json", "f"][..], &["verify", name]] {
        let run = run_in(&folder, args);
        let shown = [run.stdout, run.stderr.into_bytes()].concat();
        let text = shown.escape_ascii().to_string();
        assert!(text.contains("owned"), "{args:?}: {text}");
        assert!(shown.iter().all(|byte| *byte == b'\n' || !byte.is_ascii_control()), "{text}");
        let is_forged = |line: &[u8]| line.starts_with(b"items 7");
        assert!(!shown.split(|byte| *byte == b'\n').any(is_forged), "{text}");
    }
}
