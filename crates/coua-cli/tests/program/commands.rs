//! The commands on filter files, `plan` and `generate`.

use crate::support::{
    Folder, Repeats, expected, filter_of, json, lines, run, run_in, run_with, shell,
};
use coua::{CuckooFilter, KeyHasher, WhenFull};
use coua_dev::cases::sample;

#[test]
fn add_check_count_remove() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    assert_eq!(run_with(b"a\nb\na\n", ["add", &f]).good(), b"");
    assert_eq!(run_with(b"a\nb\nc\n", ["count", &f]).good(), b"2\ta\n1\tb\n0\tc\n");
    assert_eq!(run_with(b"a\nb\nc", ["check", &f]).good(), b"a\nb\n");
    assert_eq!(run_with(b"a\nb\nc", ["check", "-v", &f]).good(), b"c\n");
    assert_eq!(run_with(b"a\nb\nc", ["check", "-c", &f]).good(), b"2\n");
    assert_eq!(run_with(b"a\nb\nc", ["check", "-vc", &f]).good(), b"1\n");
    assert_eq!(run_with(b"a\n", ["remove", &f]).good(), b"");
    assert_eq!(run_with(b"a\nb\nc", ["count", &f]).good(), b"1\ta\n1\tb\n0\tc\n");
    run_with(b"a\na\nb\n", ["remove", &f]).good();
    assert_eq!(run_with(b"a\nb\n", ["count", &f]).good(), b"0\ta\n0\tb\n");
    run_with(b"a\na\n", ["add", "--unique", &f]).good();
    assert_eq!(run_with(b"a\n", ["count", &f]).good(), b"1\ta\n");
}

#[test]
fn check_exits_like_grep() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    run_with(b"a\n", ["add", &f]).good();
    for (args, code) in [(&["check"][..], 0), (&["check", "-c"], 0), (&["check", "-v"], 0)] {
        let run = run_with(b"a\nb\n", args.iter().chain(&[f.as_str()]));
        assert_eq!(run.code, Some(code), "{args:?}");
    }
    run_with(b"b\n", ["check", &f]).failed(1, &format!("coua: {f}: contains none of 1 record\n"));
    run_with(b"b\n", ["remove", &f]).failed(0, &format!("coua: {f}: contains none of 1 record\n"));
    run_with(b"a\n", ["check", "-v", &f]).failed(1, "");
    let none = run_with(b"b\n", ["check", "-c", &f]);
    none.failed(1, "");
    assert_eq!(none.stdout, b"0\n");
    assert_eq!(run_with(b"", ["check", &folder.join("missing")]).code, Some(2));
    let (good, missing) = (folder.file("good", "b\n"), folder.join("missing"));
    let both = run(["check", &f, &good, &missing]);
    both.failed(2, &format!("coua: {missing}: No such file or directory\n"));
    assert_eq!(both.stdout, b"", "it is found first");
}

#[test]
fn a_stream_is_no_filter() {
    let folder = Folder::new();
    folder.file("lines", "a\n");
    run_in(&folder, &["add", "f", "lines"]).good();
    let message = "coua: -: a filter cannot be a stream; for a file named -, write ./-\n";
    for command in [
        &["merge", "-o", "-", "f"][..],
        &["merge", "-o", "g", "-"],
        &["convert", "--rate=0.01", "-o", "-", "f"],
        &["compact", "-"],
        &["add", "-", "lines"],
        &["check", "-", "lines"],
        &["dedup", "--filter", "-", "lines"],
        &["info", "-"],
    ] {
        run_in(&folder, command).failed(2, message);
        assert!(!folder.has("-") && !folder.has("g"), "{command:?}");
    }
    run_in(&folder, &["merge", "-o", "./-", "f"]).good();
    assert_eq!(run_in(&folder, &["check", "./-", "lines"]).good(), b"a\n");
}

/// Other threads do a part of the lookups. The filter is mapped at first, and read into memory before the end.
#[test]
fn any_number_of_threads_finds_the_same() {
    let folder = Folder::new();
    let text = |of: &dyn Fn(u32) -> String| -> Vec<u8> {
        (0..1_000_000).flat_map(|n| of(n).into_bytes()).collect()
    };
    let line = |n: u32| format!("record {n}\n");
    let is_in = |n: u32| !n.is_multiple_of(9);
    let all = folder.file("all", text(&line));
    let some = text(&|n| if is_in(n) { line(n) } else { String::new() });
    let others = text(&|n| if is_in(n) { String::new() } else { line(n) });
    let counted = text(&|n| format!("{}\t{}", u8::from(is_in(n)), line(n)));
    for options in [&[][..], &["--window", "1h"]] {
        let f = folder.join(&format!("f{}.coua", options.len()));
        run_with(&some, ["add"].iter().chain(options).chain(&[f.as_str()])).good();
        let bytes = std::fs::metadata(&f).unwrap().len();
        assert!(bytes > 4 << 20 && bytes < 8 * 1_000_000, "{bytes} bytes");
        for threads in sample(["1", "2", "3", "4", "6"], [3, 1]) {
            let with = |args: &[&str]| run(args.iter().chain(&["-j", threads, &f, &all])).good();
            assert!(with(&["check"]) == some, "{options:?}, {threads} threads");
            assert!(with(&["check", "-v"]) == others, "{options:?}, {threads} threads");
            assert!(with(&["count"]) == counted, "{options:?}, {threads} threads");
            assert_eq!(with(&["check", "-c"]), b"888888\n");
        }
    }
}

#[test]
fn records_without_a_key_against_a_filter() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    run_with(b"1 a\nx\n", ["add", "--quiet", "-k2", &f]).good();
    let with = |args: &[&str]| {
        let common = ["-k2", &f];
        run_with(b"1 a\nx\n2 b\n", args.iter().chain(&common)).stdout
    };
    assert_eq!(with(&["check"]), b"1 a\n");
    assert_eq!(with(&["check", "-v"]), b"x\n2 b\n");
    assert_eq!(with(&["check", "-v", "--missing=drop"]), b"2 b\n");
    assert_eq!(with(&["count"]), b"1\t1 a\n0\tx\n0\t2 b\n");
    assert_eq!(with(&["count", "--missing=drop"]), b"1\t1 a\n0\t2 b\n");
}

#[test]
fn csv_headers_against_a_filter() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    let table = b"id,url\n1,a\n2,b\n";
    run_with(b"url\na\n", ["add", "--csv", "url", &f]).good();
    assert_eq!(run_with(table, ["check", "--csv", "url", &f]).good(), b"id,url\n1,a\n");
    assert_eq!(run_with(table, ["check", "-c", "--csv", "url", &f]).good(), b"1\n");
    assert_eq!(run_with(table, ["count", "--csv", "url", &f]).good(), b"1\t1,a\n0\t2,b\n");
    let none = run_with(b"id,url\n1,x\n", ["check", "--csv", "url", &f]);
    assert_eq!((none.code, none.stdout.as_slice()), (Some(1), b"id,url\n".as_slice()));
    run_with(table, ["remove", "--csv", "url", &f]).good();
    assert_eq!(run_with(table, ["check", "-v", "--csv", "url", &f]).good(), table);
}

#[test]
fn figures_of_each_command() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    let figures = |input: &[u8], args: &[&str]| {
        json(&run_with(input, args.iter().chain(&["--stats=json", &f])).stderr)
    };
    let added = figures(b"a\nb\na\n", &["add"]);
    assert_eq!((added["added"].as_u64(), added["items"].as_u64()), (Some(3), Some(3)));
    let checked = figures(b"a\nc\n", &["check"]);
    assert_eq!((checked["found"].as_u64(), checked["not_found"].as_u64()), (Some(1), Some(1)));
    let counted = figures(b"a\nc\nd\n", &["count"]);
    assert_eq!((counted["found"].as_u64(), counted["not_found"].as_u64()), (Some(1), Some(2)));
    let removed = figures(b"a\nc\n", &["remove"]);
    assert_eq!((removed["removed"].as_u64(), removed["items"].as_u64()), (Some(1), Some(2)));
}

#[test]
fn info_describes() {
    let folder = Folder::new();
    let f = folder.join("f.coua");
    let builder = CuckooFilter::builder().rate(0.001).max_items(1_000_000);
    let builder = builder.when_full(WhenFull::ExceedRate);
    filter_of(builder.hasher(KeyHasher::Xxh3 { seed: 5 }), &f);
    run_with(b"a\nb\n", ["add", &f]).good();
    let info = run(["info", "--json", &f]).json();
    assert_eq!(info["file"].as_str(), Some(f.as_str()));
    assert_eq!(info["items"].as_u64(), Some(2));
    assert_eq!(info["capacity"].as_u64(), Some(1_000_000));
    assert_eq!(info["seed"].as_u64(), Some(5));
    assert_eq!(info["hash"].as_str(), Some("xxh3"));
    assert_eq!(info["when_full"].as_str(), Some("grow"));
    assert!(info["rate_at_capacity"].as_f64().unwrap() <= 0.001);
    let table = run(["info", &f]).text();
    assert!(table.contains("xxh3 with seed 5") && table.contains("1,000,000"), "{table}");
}

#[test]
fn info_does_not_read_a_large_filter_through() {
    let folder = Folder::new();
    let filter = folder.join("large.coua");
    run_with(b"a\nb\n", ["add", "--capacity=5000000", "--rate=0.001", &filter]).good();
    let before = run(["info", "--json", &filter]).json();
    assert_eq!(before["items"].as_u64(), Some(2));
    let mut bytes = folder.read("large.coua");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.file("large.coua", bytes);
    assert_eq!(run(["info", "--json", &filter]).json(), before);
    assert_eq!(run(["verify", &filter]).code, Some(2));
}

#[test]
fn verify_checks_each_file() {
    let folder = Folder::new();
    let (good, bad) = (folder.join("good"), folder.join("bad"));
    run_with(b"a\n", ["add", &good]).good();
    let mut bytes = folder.read("good");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.file("bad", bytes);
    let intact = format!("{good}: intact, 1 item, snapshot ");
    let text = run(["verify", &good]).text();
    assert!(text.starts_with(&intact) && text.contains(", 1 transaction of "), "{text}");
    let both = run(["verify", &bad, &good]);
    assert_eq!(both.code, Some(2));
    assert_eq!(both.stdout, text.into_bytes());
    assert!(both.stderr.starts_with(&format!("coua: {bad}: ")), "{}", both.stderr);
}

#[test]
fn merge_holds_what_all_hold() {
    let folder = Folder::new();
    let [a, b, c, all] = ["a", "b", "c", "all"].map(|name| folder.join(name));
    run_with(b"1\n2\n", ["add", &a]).good();
    run_with(b"2\n3\n", ["add", &b]).good();
    assert_eq!(run(["merge", "-o", &all, &a, &b]).good(), b"");
    let counts = run_with(b"1\n2\n3\n4\n", ["count", &all]).good();
    assert_eq!(counts, b"1\t1\n2\t2\n1\t3\n0\t4\n");
    // Merged into one of the sources.
    run(["merge", "-o", &a, &a, &b]).good();
    assert!(folder.read("a") == folder.read("all"));
    filter_of(CuckooFilter::builder().hasher(KeyHasher::Xxh3 { seed: 9 }), &c);
    run_with(b"4\n", ["add", &c]).good();
    let run = run(["merge", "-o", &all, &a, &c]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with(&format!("coua: {c}: ")), "{}", run.stderr);
    assert!(folder.read("a") == folder.read("all"), "it is as it was");
}

/// The finer one would become as coarse as the other, in silence.
#[test]
fn filters_of_other_hash_bits_are_not_merged() {
    let folder = Folder::new();
    let [fine, coarse] = ["fine", "coarse"].map(|name| folder.join(name));
    run_with(b"1\n", ["add", &fine]).good();
    run_with(b"2\n", ["add", &coarse, "--capacity=1000", "--rate=0.05"]).good();
    let before = [folder.read("fine"), folder.read("coarse")];
    for (first, second) in [(&fine, &coarse), (&coarse, &fine)] {
        let run = run(["merge", "-o", first, first, second]);
        let words = " bits of each hash, and ";
        assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
        assert!(run.stderr.starts_with(&format!("coua: {second}: remembers ")), "{}", run.stderr);
    }
    assert!([folder.read("fine"), folder.read("coarse")] == before);
}

#[test]
fn compact_gives_memory_back() {
    let folder = Folder::new();
    let f = folder.join("f");
    let text = lines(200_000, Repeats::Few);
    run_with(&text, ["add", &f]).good();
    let keep = expected(&text[..2000]);
    run_with(&text[2000..], ["remove", &f]).good();
    let before = folder.read("f").len();
    run(["compact", &f]).good();
    assert!(folder.read("f").len() < before / 4);
    let kept: Vec<u8> = keep.split_inclusive(|b| *b == b'\n').take(10).flatten().copied().collect();
    assert_eq!(run_with(&kept, ["check", &f]).good(), kept);
}

/// Whatever the limit, the file is smaller, or is as it was and the program says why.
#[cfg(target_os = "linux")]
#[test]
fn compact_tells_a_lack_of_memory() {
    let folder = Folder::new();
    let script = "seq 3000000 >all; head -n 2000000 all >most; $COUA add -q f all; $COUA remove f most >removed
        for limit in $(seq 40000 2000 80000); do
            cp f small
            if (ulimit -v $limit; $COUA compact small) 2>error; then
                [ $(wc -c <small) -lt $(wc -c <f) ] || echo $limit: as large as before
            else
                cmp f small && grep -q '^coua: small: .*out of memory' error || cat error
            fi
        done";
    let told = shell(folder.path(), script).good();
    assert_eq!(String::from_utf8_lossy(&told), "");
}

#[test]
fn convert_makes_a_coarser_copy() {
    let folder = Folder::new();
    let (f, small) = (folder.join("f"), folder.join("small"));
    let text = expected(&lines(50_000, Repeats::Few));
    run_with(&text, ["add", &f]).good();
    for rate in ["1e-9", "0.001"] {
        run(["convert", &f, "-o", &small, "--rate", rate]).good();
        assert!(run_with(&text, ["check", &small]).good() == text, "{rate}: all still there");
        assert!(folder.read("small").len() < folder.read("f").len(), "{rate}");
    }
    let finer = run(["convert", &small, "-o", &f, "--rate", "1e-9"]);
    assert_eq!(finer.code, Some(2));
    assert!(finer.stderr.starts_with(&format!("coua: {small}: ")), "{}", finer.stderr);
    assert_eq!(run(["convert", &f, "-o", &small]).code, Some(2), "a rate is needed");
}

#[test]
fn plan_tells_the_memory() {
    let plan = run(["plan", "--items=1M", "--rate=0.1%", "--json"]).json();
    let bits = plan["bits_per_item"].as_f64().unwrap();
    assert!((13.8..14.6).contains(&bits), "{bits}");
    assert!(plan["rate"].as_f64().unwrap() <= 0.001);
    let bloom = &plan["compared"][1];
    assert_eq!(bloom["name"].as_str(), Some("Bloom"));
    assert!((14.3..14.7).contains(&bloom["bits_per_item"].as_f64().unwrap()));

    let whole = run(["plan", "--items=1M", "--json"]).json();
    assert_eq!(whole["rate"].as_f64(), Some(1e6 / 64_f64.exp2()));
    assert_eq!(whole["compared"][0]["bytes"], whole["bytes"], "it is one of those compared");

    // The filter is as large as planned.
    let folder = Folder::new();
    for (name, options, plan) in [("rate", &["--rate=0.001"][..], &plan), ("default", &[], &whole)]
    {
        let f = folder.join(name);
        run_with(b"a\n", ["add", "--capacity=1M", &f].iter().chain(options)).good();
        let info = run(["info", "--json", &f]).json();
        let (real, planned) = (&info["memory_bytes"], &plan["bytes"]);
        let ratio = real.as_f64().unwrap() / planned.as_f64().unwrap();
        assert!((0.98..1.02).contains(&ratio), "{real} and {planned}");
    }

    assert_eq!(whole["hash_bits"].as_f64(), Some(64.0));

    let table = run(["plan", "--items", "1e9"]).text();
    assert!(table.contains("binary fuse") && table.contains("1,000,000,000"), "{table}");
    assert_eq!(run(["plan", "--items=1e6", "--rate=1e-18"]).code, Some(2));
    assert!(run(["plan", "--rate=0.1"]).stderr.contains("--items <N>"));
}

#[test]
fn more_items_than_64_bits_distinguish_are_told() {
    assert_eq!(run(["plan", "--items=6e9"]).stderr, "");
    assert_eq!(run(["plan", "--items=1e12", "--rate=1e-6"]).stderr, "");
}

#[test]
fn generate_writes_pages_and_completions() {
    let folder = Folder::new();
    let pages = folder.join("man");
    run(["generate", "man", &pages]).good();
    let page = folder.read("man/coua-dedup.1");
    assert!(String::from_utf8(page).unwrap().contains("json.md"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(["generate", "completions", shell]).text().contains("output-dir"), "{shell}");
    }
}

/// The first block of shell commands in the README that contains these words.
fn readme_block(words: &str) -> Vec<&'static str> {
    let readme = include_str!("../../../../README.md");
    let mut blocks = readme
        .split(
            "```sh
",
        )
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| block.contains(words));
    block.expect("it shows commands").lines().collect()
}

#[cfg(unix)]
#[test]
fn the_readmes_pipeline_marks_and_unmarks() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let fetch = folder.file("fetch", "#!/bin/sh\ngrep bad \"$1\" > failed.txt\ntrue\n");
    std::fs::set_permissions(&fetch, std::fs::Permissions::from_mode(0o755)).unwrap();
    let commands = readme_block("./fetch");
    assert_eq!(commands.len(), 3);
    for (queue, batch) in [("a\nbad\na\nb\n", "a\nbad\nb\n"), ("b\nbad\nc\n", "bad\nc\n")] {
        folder.file("queue.txt", queue);
        for line in &commands {
            let run = shell(folder.path(), &line.replacen("coua ", "\"$COUA\" ", 1));
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}");
        }
        assert_eq!(folder.read("batch.txt"), batch.as_bytes());
    }
}

#[test]
fn the_readmes_shards() {
    let folder = Folder::new();
    folder.file("urls.txt", lines(1000, Repeats::Many));
    for line in &readme_block("--shard 1/2")[..3] {
        let run = shell(folder.path(), &line.replacen("coua ", "\"$COUA\" ", 1));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}");
    }
    let parts = [folder.read("one.txt"), folder.read("two.txt")];
    assert!(parts.iter().all(|part| !part.is_empty()));
    let all = folder.join("all.coua");
    assert_eq!(run(["check", "-v", "-c", &all, &folder.join("urls.txt")]).stdout, b"0\n");
    assert_eq!(parts.concat().len(), expected(&lines(1000, Repeats::Many)).len());
}

#[test]
fn help_and_version() {
    assert!(run(["--version"]).text().starts_with("coua "));
    assert!(run(["help", "dedup"]).text().contains("--missing"));
    assert!(run(["--help"]).text().contains("Exit codes"));
    let unknown = run(["dedupe"]);
    assert_eq!((unknown.code, unknown.stdout.as_slice()), (Some(2), b"".as_slice()));
    assert_eq!(run([""; 0]).code, Some(2));
}

/// The message names the full filter, and options that help.
#[test]
fn a_full_filter_says_what_to_do() {
    let folder = Folder::new();
    let forgotten = |options: &[&str]| run_with(b"1\n2\n3\n4\n", [&["dedup"], options].concat());
    forgotten(&["--capacity", "3", "--when-full", "stop", "--rate", "0.01"]).failed(
        3,
        "coua: filter: is full: it holds 3 items, and its limit is 3; stopped at standard input: \
         record 4 (earlier records are printed; this and later ones are not); raise \
         --capacity, or use --when-full grow\n",
    );
    for (name, text) in [("small", &b"1\n2\n3\n"[..]), ("open", b"4\n")] {
        let name = folder.join(name);
        run_with(text, ["add", &name, "--capacity=3", "--rate=0.01", "--when-full=stop"]).good();
    }
    let kept = run_with(b"4\n", ["dedup", "--filter", &folder.join("small")]);
    assert!(
        kept.code == Some(3) && kept.stderr.contains("make room with `coua remove`"),
        "{}",
        kept.stderr
    );
    run_in(&folder, &["merge", "-o", "small", "small", "open"]).failed(
        2,
        "coua: small: is full: it holds 3 items, and its limit is 3; nothing was written: make \
         room in it with `coua remove`, or add the records of open to a filter with a higher \
         --capacity\n",
    );
}
