//! A filter on a server remembers how its keys are made, as a file does.

use std::thread;

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{Run, run, run_with};
use serde_json::{Value, json};

on_both!(
    normalizers_hold_for_every_command,
    other_normalizers_are_refused,
    a_finder_that_was_forgotten_is_named,
    what_is_not_remembered_is_told,
    the_first_of_several_processes_is_right,
    it_outlives_the_server,
    what_an_enemy_notes_is_harmless,
);

fn normalizers_hold_for_every_command(kind: Kind) {
    let server = Server::start(kind);
    for (name, options, stored, asked) in [
        ("i", &["-i"][..], "Anna\n", "ANNA\n"),
        ("t?shards=3", &["--trim"], " a\n", "a \n"),
        ("u", &["--url=no-www"], "http://a.example\n", "HTTP://www.A.example:80/#top\n"),
        ("w", &["--trim", "-i", "--window", "7d"], "B\n", "\tb\n"),
    ] {
        let at = address(&server, name);
        run_with(stored.as_bytes(), [&["add", &at], options].concat()).good();
        let options: Vec<_> =
            options.iter().copied().take_while(|option| *option != "--window").collect();
        for options in [&[][..], &options] {
            let ask = |args: &[&str]| {
                let run = run_with(asked.as_bytes(), [args, options].concat());
                assert_eq!(run.stderr, "", "{args:?} {options:?}");
                run.text()
            };
            assert_eq!(ask(&["check", &at]), asked, "{options:?}");
            assert_eq!(ask(&["count", &at]), format!("1\t{asked}"));
            assert_eq!(ask(&["dedup", "--filter", &at]), "");
            assert_eq!(ask(&["remove", &at]), "");
            assert_eq!(ask(&["dedup", "--filter", &at]), asked);
        }
    }
    let at = address(&server, "i");
    let keys = json!({"find": {}, "normalize": ["ignore-case"]});
    assert_eq!(run(["info", "--json", &at]).json()["key_options"], keys);
    let text = run(["info", &at]).text();
    assert!(text.contains("whole records, --ignore-case\n"), "{text}");
}

fn other_normalizers_are_refused(kind: Kind) {
    let server = Server::start(kind);
    let refused = |at: &str, options: &[&str], made: &str, given: &str| {
        let words = format!(
            "coua: {at}: its keys were made with {made}, not with {given}; use the same options, or \
             another filter\n"
        );
        for args in [&["check", at][..], &["add", at], &["dedup", "--filter", at], &["remove", at]]
        {
            run_with(b"A\n", [args, options].concat()).failed(2, &words);
        }
    };
    for name in ["f", "g?shards=2"] {
        let at = address(&server, name);
        run_with(b"a\n", ["add", &at]).good();
        refused(&at, &["-i"], "no option", "--ignore-case");
        let at = address(&server, &format!("i{name}"));
        run_with(b"a\n", ["add", "-i", &at]).good();
        refused(&at, &["--trim"], "--ignore-case", "--trim");
        // Another process may be about to add keys.
        run_with(b"A\n", ["remove", &at]).good();
        refused(&at, &["-i", "--trim"], "--ignore-case", "--ignore-case --trim");
        assert_eq!(run_with(b"b\nB\n", ["dedup", "--filter", &at]).text(), "b\n");
    }
}

fn a_finder_that_was_forgotten_is_named(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "f");
    run_with(b"{\"id\":1}\n", ["add", &at, "--json", "/id"]).good();
    let hint = "its keys were selected with --json /id; add that, unless each record is a key\n";
    for args in [&["check", &at][..], &["count", &at], &["remove", &at]] {
        let run = run_with(b"{\"id\":1}\n", args);
        assert_eq!(
            run.stderr,
            format!("coua: {at}: contains none of 1 record: {hint}"),
            "{args:?}"
        );
    }
    let run = run_with(b"{\"id\":1}\n", ["check", "--json", "/id", &at]);
    assert_eq!((run.code, run.stderr), (Some(0), String::new()));
}

/// The messages of a run, which must succeed.
#[track_caller]
fn said(text: &[u8], args: &[&str]) -> String {
    let Run { code, stderr, .. } = run_with(text, args);
    assert_eq!(code, Some(0), "{stderr}");
    stderr
}

/// Filters of other programs, of RedisBloom, of users without the right, and options that are too long.
fn what_is_not_remembered_is_told(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD other a");
    let mut header = [0; 38];
    header[8..16].copy_from_slice(&512_u64.to_le_bytes());
    header[24] = 1;
    [header[32], header[34], header[36]] = [2, 20, 1];
    client.call(&[b"CF.LOADCHUNK".as_slice(), b"peer", b"1", &header]);
    let rights = "~mine +cf.reserve +cf.info +cf.insert +cf.insertnx +cf.mexists +cf.mdel +command|info +hello";
    client.good(&format!("ACL SETUSER me on >secret {rights}"));
    let mine = address(&server, "mine").replace("://", "://me:secret@");
    let regex = format!("a({})", "x?".repeat(3_000));
    for (name, more, reason) in [
        (address(&server, "other"), &[][..], "it had items before"),
        (address(&server, "peer"), &[], "filters imported from RedisBloom do not support"),
        (mine, &[], "NOPERM "),
        (
            address(&server, "long"),
            &["--regex", &regex],
            "the notes of a filter would exceed 4096 bytes",
        ),
    ] {
        let words = "does not store the key options --ignore-case (";
        let told = said(b"ax\n", &[&["add", &name, "-i"], more].concat());
        assert!(told.contains(&format!("{words}{reason}")), "{told}");
        assert!(told.contains("); give them to every command\n"), "{told}");
        for args in [&["add", &name][..], &["dedup", "--filter", &name]] {
            let silent = said(b"ax\n", &[args, more].concat());
            assert!(!silent.contains("remember"), "{silent}");
            let told = said(b"ax\n", &[args, more, &["-i"]].concat());
            assert!(told.contains(words), "{told}");
        }
        assert!(!run(["info", &name]).text().contains("key options"));
        let silent = said(b"ax\n", &[&["check", "-i", &name], more].concat());
        assert!(!silent.contains("remember"), "{silent}");
    }
}

/// The filter has no key that was made in another way than its note says.
fn the_first_of_several_processes_is_right(kind: Kind) {
    let server = Server::start(kind);
    for round in 0..8 {
        let at = address(&server, &format!("f{round}?shards=2"));
        let options = [&["-i"][..], &["--trim"], &[], &["-i", "--trim"], &[]];
        let runs = thread::scope(|scope| {
            let start = |options: &'static [&str]| {
                let args: Vec<_> = ["add", &at]
                    .into_iter()
                    .chain(options.iter().copied())
                    .map(str::to_owned)
                    .collect();
                scope.spawn(move || (options, run_with(b" Anna \n", args)))
            };
            let started = options.map(start);
            started.map(|run| run.join().unwrap())
        });
        let keys: Value = run(["info", "--json", &at]).json()["key_options"].clone();
        let made = keys["normalize"].as_array().unwrap();
        for (options, run) in &runs {
            let given: Vec<_> =
                options.iter().map(|option| option.trim_start_matches('-')).collect();
            let given: Vec<_> = given
                .iter()
                .map(|option| if *option == "i" { "ignore-case" } else { option })
                .collect();
            let agrees = given.is_empty() || made.iter().map(|it| it.as_str().unwrap()).eq(given);
            assert_eq!(run.code, Some(if agrees { 0 } else { 2 }), "{made:?}: {}", run.stderr);
        }
        let added = runs.iter().filter(|(_, run)| run.code == Some(0)).count();
        assert_eq!(run_with(b" Anna \n", ["count", &at]).text(), format!("{added}\t Anna \n"));
    }
}

fn it_outlives_the_server(kind: Kind) {
    let mut server = Server::with(kind, &["--appendonly", "yes", "--appendfsync", "always"]);
    for name in ["f", "g?shards=2"] {
        run_with(b"Anna\n", ["add", "-i", &address(&server, name)]).good();
    }
    server.restart();
    for name in ["f", "g?shards=2"] {
        let asked = run_with(b"ANNA\n", ["check", &address(&server, name)]);
        assert_eq!(asked.text(), "ANNA\n");
    }
}

/// Any client with the right may write a note.
fn what_an_enemy_notes_is_harmless(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let later = "its keys were made by a later version of coua in a way that this one does not \
                 know; use that version";
    for note in [&b"{"[..], b"\xff\x00", b"[]", br#"{"find":{},"normalize":["stem"]}"#] {
        client.good("DEL f");
        client.good("CF.ADD f a");
        client.call(&[b"CF.NOTE".as_slice(), b"f", b"coua/keys", note]);
        let at = address(&server, "f");
        for args in
            [&["check", &at][..], &["add", &at], &["info", &at], &["dedup", "--filter", &at]]
        {
            run_with(b"a\n", args).failed(2, &format!("coua: {at}: {later}\n"));
        }
    }
    client.good("DEL f");
    client.good("CF.ADD f a");
    let note =
        br#"{"find":{"json":["\u001b]0;owned\u0007\nitems 7"],"x\u001b[2J":[""]},"normalize":[]}"#;
    client.call(&[b"CF.NOTE".as_slice(), b"f", b"coua/keys", note]);
    // A note of another program is ignored.
    client.call(&[b"CF.NOTE".as_slice(), b"f", b"mine", b"\x1b[2J"]);
    for args in [["info", &address(&server, "f")], ["check", &address(&server, "f")]] {
        let run = run_with(b"b\n", args);
        let shown = [run.stdout, run.stderr.into_bytes()].concat();
        assert!(
            shown.iter().all(|byte| *byte == b'\n' || !byte.is_ascii_control()),
            "{}",
            shown.escape_ascii()
        );
        assert!(!String::from_utf8_lossy(&shown).contains("\nitems 7"), "{}", shown.escape_ascii());
    }
}
