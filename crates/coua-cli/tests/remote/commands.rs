//! Every command against a healthy server.

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{Folder, Repeats, expected, lines, run, run_with};

on_both!(
    dedup_prints_first_occurrences_and_remembers,
    all_commands_work_on_one_filter,
    keys_and_outputs_are_those_of_files,
    an_output_is_not_emptied_while_the_filter_holds_items,
    a_filter_is_created_as_the_options_say,
    many_wrong_repeats_are_told_without_being_asked,
    what_the_layout_of_redisbloom_loses_is_told,
);

fn dedup_prints_first_occurrences_and_remembers(kind: Kind) {
    let server = Server::start(kind);
    let text = lines(100_000, Repeats::Many);
    for filter in ["one", "many?shards=16"] {
        let at = address(&server, filter);
        assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), expected(&text), "{at}");
        assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), b"", "{at}");
        let more = [b"new\n", &text[..], b"new"].concat();
        assert_eq!(run_with(&more, ["dedup", "--filter", &at, "-j", "1"]).good(), b"new\n");
    }
    // Every shard has some items, and other clients see the same items.
    let mut client = server.client();
    let keys = client.run("KEYS {many:*").to_string();
    assert_eq!(keys.matches("many:").count(), 16, "{keys}");
    assert_eq!(client.run("CF.EXISTS one new").to_string(), ":1");
}

fn all_commands_work_on_one_filter(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "seen?shards=4");
    let at = at.as_str();
    let with = |input: &str, args: &[&str]| run_with(input.as_bytes(), args);
    assert_eq!(with("a\nb\na\nc\n", &["add", at, "--stats=json"]).code, Some(0));
    assert_eq!(with("a\nb\nd\n", &["count", at]).text(), "2\ta\n1\tb\n0\td\n");
    assert_eq!(with("a\nd\n", &["add", "--unique", at]).text(), "");
    assert_eq!(with("a\nd\n", &["count", at]).text(), "2\ta\n1\td\n");
    assert_eq!(with("x\na\nb\n", &["check", at]).text(), "a\nb\n");
    assert_eq!(with("x\na\nb\n", &["check", "-v", at]).text(), "x\n");
    assert_eq!(with("x\na\nb\n", &["check", "-c", at]).text(), "2\n");
    let none = format!("coua: {at}: contains none of 2 records\n");
    with("x\ny\n", &["check", at]).failed(1, &none);
    let figures = with("x\na\nb\n", &["remove", at, "--stats=json"]);
    assert!(figures.stderr.contains(r#""removed":2,"not_found":1"#), "{}", figures.stderr);
    assert_eq!(with("x\na\nb\n", &["remove", at]).code, Some(0));
    assert_eq!(with("a\nb\nc\nd\n", &["count", at]).text(), "0\ta\n0\tb\n1\tc\n1\td\n");
    let info = run(["info", "--json", at]).text();
    for part in ["\"items\": 2", "\"shards\": 4", "\"hash_bits\": 64.0", "\"when_full\": \"grow\""]
    {
        assert!(info.contains(part), "{part}: {info}");
    }
    let table = run(["info", at]).text();
    assert!(table.contains("items removed") && table.contains(at), "{table}");
}

fn an_output_is_not_emptied_while_the_filter_holds_items(kind: Kind) {
    let server = Server::start(kind);
    let (at, folder) = (address(&server, "seen"), Folder::new());
    let (input, out) = (folder.file("in", "a\n"), folder.file("out", "emptied"));
    run(["dedup", "--filter", &at, "-o", &out, &input]).good();
    let kept = format!("coua: {out}: is not emptied, because {at} holds items; ");
    let append = format!("{kept}append with --append, or move the file away\n");
    run(["dedup", "--filter", &at, "-o", &out, &input]).failed(2, &append);
    assert_eq!(folder.read("out"), b"a\n");
}

fn keys_and_outputs_are_those_of_files(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let input = "id,n\n1,a\n2,b\n1,c\n,d\n";
    let run = |filter: &str, name: &str, args: &[&str]| {
        let out = folder.join(&format!("{name}.out"));
        let more = ["dedup", "--filter", filter, "-o", &out, "--csv", "id"];
        let run = run_with(input.as_bytes(), [&more, args].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        folder.read(&format!("{name}.out"))
    };
    for (number, args) in [&["-t", ","][..], &["--trim"], &["--missing", "drop"]].iter().enumerate()
    {
        let at = address(&server, &format!("csv{number}?shards=3"));
        let file = folder.join(&format!("file{number}.coua"));
        assert_eq!(run(&at, "server", args), run(&file, "file", args), "{args:?}");
    }
    let at = address(&server, "fields");
    let only = run_with(b"x 1\ny 1\nz 2\n", ["dedup", "-d", "-k", "2", "--filter", &at]);
    assert_eq!(only.text(), "y 1\n");
    assert_eq!(server.client().run("CF.COUNT fields 1").to_string(), ":1");
}

fn a_filter_is_created_as_the_options_say(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for (name, options, bits, expansion) in [
        ("a", &[][..], "64", ":1"),
        ("c", &["--rate", "0.0001", "--capacity", "1M"], "34", ":1"),
        ("d", &["--rate", "1%", "--capacity", "1000", "--when-full", "grow"], "31", ":1"),
        ("e", &["--when-full", "stop", "--capacity", "1000"], "64", ":0"),
    ] {
        let at = address(&server, name);
        let args = [&["add", &at][..], options].concat();
        run_with(b"x\n", &args).good();
        let mut field = |field: &str| client.call(&["CF.INFO", name, field]).to_string();
        let found = field("Hash bits");
        let found = found.trim_matches(|c: char| !c.is_ascii_digit());
        assert_eq!(found, bits, "{name}");
        assert_eq!(field("Expansion rate"), expansion, "{name}");
        let fixed = run(["info", "--json", &at]).text().contains("\"when_full\": \"stop\"");
        assert_eq!(fixed, expansion == ":0", "{name}");
        // The same options agree with the existing filter.
        run_with(b"x\n", &args).good();
    }
    let at = address(&server, "a");
    let differs = run(["add", &at, "--when-full", "stop"]);
    differs.failed(
        2,
        &format!(
            "coua: {at}: the existing filter has --when-full grow, not stop; drop --when-full, \
             or use another filter\n"
        ),
    );
}

/// A filter planned for too few records mistakes nearly all of them for repeats.
fn many_wrong_repeats_are_told_without_being_asked(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE coarse 1024 HASHBITS 8");
    let text: Vec<u8> = (0..10_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let at = address(&server, "coarse");
    // Also counts the requests about the filter itself.
    let mut dedup = |more: &[&str]| {
        client.good("CONFIG RESETSTAT");
        let run = run_with(&text, [&["dedup", "--filter", &at], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        (run.stderr, client.info("commandstats", "cmdstat_cf.info").unwrap())
    };
    let (told, without) = dedup(&[]);
    let words = "were probably new records, because the filter remembers only 8 bits";
    assert!(told.contains(words), "{told}");
    let (_, with) = dedup(&["--stats"]);
    let [without, with] = [without, with].map(|it| it[..it.find(',').unwrap()].to_owned());
    assert_eq!(
        (without.as_str(), with.as_str()),
        ("calls=2", "calls=4"),
        "the end waits for no answer"
    );
}

/// Its fingerprints have 8 bits, and it adds sub-filters as needed: here of 1024 slots each.
fn what_the_layout_of_redisbloom_loses_is_told(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let mut header = [0; 38];
    header[8..16].copy_from_slice(&512_u64.to_le_bytes());
    header[24] = 1;
    [header[32], header[34], header[36]] = [2, 20, 1];
    client.call(&[b"CF.LOADCHUNK".as_slice(), b"peer", b"1", &header]);
    let at = address(&server, "peer");
    let text: Vec<u8> = (0..15_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let dedup = run_with(&text, ["dedup", "--filter", &at]);
    let lost = 15_000 - dedup.stdout.split(|byte| *byte == b'\n').count() + 1;
    let said = dedup.stderr;
    assert!(lost > 1_000 && said.contains("RedisBloom's 8-bit fingerprints"), "{lost}: {said}");
    let told = said.split("about ").nth(1).and_then(|rest| rest.split(' ').next());
    let told: f64 = told.unwrap().replace(',', "").parse().unwrap();
    assert!((told / lost as f64 - 1.0).abs() < 0.15, "{lost}: {said}");
    let said = run_with(b"x\n", ["check", &at]).stderr;
    assert!(said.contains("RedisBloom's 8-bit fingerprints"), "{said}");
    let rate = run(["info", "--json", &at]).json()["false_positive_rate"].as_f64().unwrap();
    let absent: Vec<u8> =
        (0..10_000).flat_map(|number| format!("x{number}\n").into_bytes()).collect();
    let wrong = run_with(&absent, ["check", "-c", &at]).text().trim().parse::<f64>().unwrap();
    assert!((wrong / 10_000.0 / rate - 1.0).abs() < 0.2, "{wrong}, {rate}");
}
