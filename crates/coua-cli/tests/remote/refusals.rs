//! Impossible requests are reported, with exit code 2.

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{Folder, run, run_with};

on_both!(
    a_server_without_the_module_is_told,
    wrong_keys_passwords_and_shards_are_told,
    what_only_files_have_is_told,
    what_a_server_cannot_do_is_told,
    a_filter_that_is_otherwise_is_told,
    a_full_filter_records_nothing_behind_the_refused_record,
    a_server_without_memory_is_as_a_full_filter,
    settings_of_the_server_do_not_change_a_filter,
);

fn a_server_without_the_module_is_told(kind: Kind) {
    let server = Server::start(Kind { has_module: false, ..kind });
    let at = format!("redis://127.0.0.1:{}/seen", server.port());
    run(["dedup", "--filter", &at]).failed(2, &format!(
        "coua: {at}: the server lacks the module coua (its commands CF.*): start it with --loadmodule \
         coua-valkey.so\n"
    ));
}

fn wrong_keys_passwords_and_shards_are_told(kind: Kind) {
    let server = Server::start(kind);
    server.client().good("CONFIG SET requirepass secret");
    let port = server.port();
    let plain = format!("valkey://127.0.0.1:{port}/seen");
    let with = |user: &str| format!("valkey://{user}127.0.0.1:{port}/seen");
    for user in [":wrong@", "me:secret@"] {
        let run = run(["dedup", "--filter", &with(user)]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.starts_with(&format!("coua: {plain}: WRONGPASS ")), "{}", run.stderr);
        assert!(!run.stderr.contains("secret") && !run.stderr.contains("wrong@"), "{}", run.stderr);
    }
    let none = run(["dedup", "--filter", &plain]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("NOAUTH"), "{}", none.stderr);
    run_with(b"a\n", ["dedup", "--filter", &with(":secret@")]).good();
    let mut named = crate::support::coua(["check", "-c", &plain]);
    let named = named.env("COUA_SERVER_PASSWORD", "secret").output().unwrap();
    assert_eq!(named.status.code(), Some(1));

    let server = Server::start(kind);
    let mut client = server.client();
    client.good("SET text 1");
    let at = address(&server, "text");
    run(["dedup", "--filter", &at]).failed(
        2,
        &format!("coua: {at}: WRONGTYPE Operation against a key holding the wrong kind of value (key text)\n"),
    );
    run(["add", &address(&server, "seen?shards=4")]).good();
    for (filter, words) in [
        ("seen?shards=3", "other shards"),
        ("seen?shards=8", "fewer shards"),
        ("seen", "other shards"),
    ] {
        let run = run(["dedup", "--filter", &address(&server, filter)]);
        assert!(run.code == Some(2) && run.stderr.contains(words), "{filter}: {}", run.stderr);
    }
    let missing = address(&server, "missing");
    for command in ["check", "count", "remove", "info"] {
        run([command, &missing]).failed(
            2,
            &format!(
                "coua: {missing}: no such filter; create it with `coua dedup` or `coua add`\n"
            ),
        );
    }
}

fn what_only_files_have_is_told(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "seen");
    for option in ["--time-field=2", "--checkpoint-every=1", "--secret=none"] {
        let run = run(["add", &at, option]);
        let name = option.split('=').next().unwrap();
        run.failed(
            2,
            &format!("coua: {name}: works only with filter files, not with a filter on a server\n"),
        );
    }
    for command in ["check", "count", "remove", "info"] {
        run([command, &at, "--secret=none"]).failed(
            2,
            "coua: --secret: works only with filter files, not with a filter on a server\n",
        );
    }
    let folder = Folder::new();
    let out = folder.join("out");
    let message = "coua: --resume: works only with filter files, not with a filter on a server\n";
    run(["dedup", "--filter", &at, "--resume", "-o", &out]).failed(2, message);
    assert!(!folder.has("out"));
    for args in [
        &["verify"][..],
        &["compact"],
        &["merge", "-o", "x"],
        &["convert", "--rate=0.1", "-o", "x"],
    ] {
        let run = run([args, &[&at]].concat());
        assert!(
            run.code == Some(2) && run.stderr.contains("only a file is possible here"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(server.client().run("DBSIZE").to_string(), ":0");
}

fn what_a_server_cannot_do_is_told(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "seen");
    for (args, words) in [
        (&["--rate=0.1"][..], "--rate: needs a number of items"),
        (&["--window=1h", "--window-by=last"], "--window-by=last: is not available on a server"),
        (&["--when-full=stop"], "--when-full=stop: needs --capacity"),
    ] {
        let run = run([&["add", &at], args].concat());
        assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
    }
    assert_eq!(server.client().run("DBSIZE").to_string(), ":0");
}

fn a_filter_that_is_otherwise_is_told(kind: Kind) {
    let server = Server::start(kind);
    let (grows, fixed) = (address(&server, "grows?shards=2"), address(&server, "fixed?shards=2"));
    run(["add", &grows, "--rate=0.1", "--capacity=9"]).good();
    run(["add", &fixed, "--when-full=stop", "--capacity=1000"]).good();
    run(["add", &fixed, "--when-full=stop"]).good();
    run(["add", &grows, "--when-full=grow", "--capacity=9", "--rate=0.1"]).good();
    for (at, option, is) in
        [(&grows, "--when-full=stop", "grow"), (&fixed, "--when-full=grow", "stop")]
    {
        let run = run(["dedup", "--filter", at, option]);
        let words =
            format!("the existing filter has {} {is}, not ", option.split('=').next().unwrap());
        assert!(run.code == Some(2) && run.stderr.contains(&words), "{option}: {}", run.stderr);
    }
    let run = run(["add", &grows, "--rate=1e-9", "--capacity=1000"]);
    assert!(
        run.code == Some(2) && run.stderr.contains("the existing filter has --rate "),
        "{}",
        run.stderr
    );
}

fn a_full_filter_records_nothing_behind_the_refused_record(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    // Several blocks, all of them pending when the first is refused.
    let numbers: Vec<String> = (0..300_000).map(|number| number.to_string()).collect();
    let text = numbers.join("\n") + "\n";
    let file = folder.file("in", &text);
    let fixed = &["--when-full", "stop", "--capacity", "5000"][..];
    let [dedup, add] = [&["dedup", "--filter"][..], &["add"]];
    for (name, command, options) in
        [("dedup", dedup, fixed), ("add", add, fixed), ("dedup", dedup, &[]), ("add", add, &[])]
    {
        let at = address(&server, &format!("{name}-{}?shards=2", options.len()));
        let limit = if options.is_empty() { "64kb" } else { "0" };
        server.client().good(&format!("CONFIG SET coua.key-memory-limit {limit}"));
        let full = run([command, &[at.as_str(), file.as_str()], options].concat());
        assert_eq!(full.code, Some(3), "{}", full.stderr);
        let words = format!("is full, or at a limit of memory; stopped at {file}: record ");
        let place = full.stderr.find(&words).unwrap_or_else(|| panic!("{}", full.stderr));
        let number = full.stderr[place + words.len()..].split(' ').next().unwrap();
        let recorded = run_with(text.as_bytes(), ["check", &at]).text();
        let before = recorded.lines().count();
        assert!((5000..15_000).contains(&before), "{before}");
        assert!(text.starts_with(&recorded), "and nothing behind it");
        assert_eq!(number, (before + 1).to_string());
        if name == "dedup" {
            assert_eq!(recorded.as_bytes(), full.stdout);
        }
    }
}

fn a_server_without_memory_is_as_a_full_filter(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "seen");
    run_with(b"a\n", ["dedup", "--filter", &at]).good();
    server.client().good("CONFIG SET maxmemory 1");
    for command in [&["dedup", "--filter", &at][..], &["add", &at]] {
        let full = run_with(b"a\nb\n", command);
        assert!(full.stderr.contains("limit of memory; stopped at standard input: record 1 "));
        assert_eq!((full.code, full.stdout), (Some(3), Vec::new()), "{}", full.stderr);
    }
    server.client().good("CONFIG SET maxmemory 0");
    assert_eq!(run_with(b"a\nb\n", ["dedup", "--filter", &at]).good(), b"b\n");
}

fn settings_of_the_server_do_not_change_a_filter(kind: Kind) {
    let server = Server::start(kind);
    server.client().good("CONFIG SET coua.cf-expansion-factor 0");
    let text = (0..5000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    for options in [&["--when-full", "grow"][..], &["--window", "7d"]] {
        let at = address(&server, options[1]);
        let run = run_with(text.as_bytes(), [&["dedup", "--filter", &at], options].concat());
        assert_eq!(run.good(), text.as_bytes());
    }
}

#[test]
fn unreachable_servers_and_wrong_addresses_are_told() {
    let at = "valkey://127.0.0.1:1/seen";
    run(["dedup", "--filter", at]).failed(2, &format!("coua: {at}: Connection refused\n"));
    let at = "valkey://me:secret@host/seen?shards=0";
    run(["add", at]).failed(
        2,
        "coua: valkey://host/seen?shards=0: has shards=0; expected a number from 1 to 16384\n",
    );
}
