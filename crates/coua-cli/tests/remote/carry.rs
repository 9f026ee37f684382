//! `pull` and `push`: whole filters from a server to a file and back.

use std::fs;
use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::address;
use crate::cluster::{Cluster, PATIENT};
use crate::server::{Kind, Server};
use crate::support::{Folder, Run, run, run_with};

on_both!(
    what_is_pulled_answers_as_the_server,
    small_filters_are_pulled,
    the_page_gets_what_is_pulled,
    a_filter_of_a_cluster_becomes_one_file,
    a_pull_during_writes_has_all_that_was_there_before,
    what_is_pushed_answers_as_the_file,
    how_keys_are_made_is_carried,
    what_cannot_be_pulled_is_refused,
    what_cannot_be_pushed_is_refused,
    the_rights_to_the_key_are_enough,
    shards_with_different_keys_are_refused,
    what_a_filter_does_when_full_is_carried,
    windows_are_made_and_carried,
    processes_that_create_shards_at_once_agree_on_the_key,
    small_full_filters_with_copies_are_pulled,
);

fn different(count: u64) -> Vec<u8> {
    (0..count).flat_map(|number| format!("item {number}\n").into_bytes()).collect()
}

/// The message of the program that refuses this command.
#[track_caller]
fn refusal(words: &[&str]) -> String {
    let Run { code, stderr, .. } = run(words);
    assert_eq!(code, Some(2), "{stderr}");
    stderr
}

fn how_keys_are_made_is_carried(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    for (name, window) in [("f", &[][..]), ("w", &["--window", "7d"])] {
        let [file, back, again] =
            ["file", "back", "again"].map(|it| folder.join(&format!("{name}{it}")));
        let (at, key) = (address(&server, name), folder.join("key"));
        let made = [&["add", "-i", "--csv", "id", &file], window].concat();
        run_with(b"id,x\nAnna,1\n", made).good();
        assert_eq!(run(["push", &file, &at]).good(), b"");
        run(["pull", &at, &back]).good();
        let options = |filter: &str| run(["info", "--json", filter]).json()["key_options"].clone();
        for filter in [&at, &back] {
            assert_eq!(run_with(b"ANNA\n", ["check", filter]).text(), "ANNA\n");
            assert_eq!(options(filter), options(&file));
        }
        // The same with shards.
        let shards = address(&server, &format!("{name}shards?shards=3"));
        run_with(b"Anna\n", [&["add", "-i", &shards], window].concat()).good();
        run(["pull", &shards, &again, "--secret", &key]).good();
        let asked = run_with(b"ANNA\n", ["check", &again, "--secret", &key]);
        assert_eq!((asked.stdout, asked.stderr), (b"ANNA\n".to_vec(), String::new()));
        std::fs::remove_file(&key).unwrap();
    }
    let (file, at) = (folder.join("long"), address(&server, "long"));
    let regex = format!("a({})", "x?".repeat(3_000));
    run_with(b"ax\n", ["add", "--regex", &regex, &file]).good();
    let words = "its notes, such as the options that select its keys, are too long for a server";
    run(["push", &file, &at]).failed(2, &format!("coua: {at}: {words}\n"));
}

fn what_is_pulled_answers_as_the_server(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    // One is a list of hashes on the server, the other a table.
    for (name, count) in [("few", 10), ("many", 20_000)] {
        let at = address(&server, name);
        let text = different(count);
        run_with(&text, ["add", &at]).good();
        run_with(&text[..text.len() / 2], ["remove", "-q", &at]).good();
        let [file, key] = ["coua", "key"].map(|end| folder.join(&format!("{name}.{end}")));
        run(["pull", &at, &file, "--secret", &key]).good();
        let there = run_with(&text, ["check", &at]).good();
        assert_eq!(run_with(&text, ["check", &file, "--secret", &key]).good(), there);
        run(["verify", &file, "--secret", &key]).good();
    }
}

/// As the server stores them: few items with few bits, or the most items of a list.
fn small_filters_are_pulled(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    for (name, words, count) in [
        ("one", "100 HASHBITS 64", 1),
        ("coarse", "100 HASHBITS 12", 90),
        ("fixed", "1000 EXPANSION 0", 900),
        ("default", "1024", 4_000),
    ] {
        client.good(&format!("CF.RESERVE {name} {words}"));
        let text = different(count);
        run_with(&text, ["add", &address(&server, name)]).good();
        let [file, key] = ["coua", "key"].map(|end| folder.join(&format!("{name}.{end}")));
        run(["pull", &address(&server, name), &file, "--secret", &key]).good();
        let asked = ["check", &file, "--secret", &key];
        assert_eq!(run_with(&text, asked).good(), text, "{name}");
        let info = run(["info", "--json", &file, "--secret", &key]).json();
        let when_full = if name == "fixed" { "stop" } else { "grow" };
        assert_eq!(info["when_full"], when_full, "{name}");
    }
}

fn the_page_gets_what_is_pulled(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let at = address(&server, "seen");
    let text = String::from_utf8(different(1000)).unwrap();
    run_with(text.as_bytes(), ["add", &at]).good();
    let [file, key] = ["seen.coua", "key"].map(|name| folder.join(name));
    run(["pull", &at, &file, "--secret", &key]).good();
    let page = folder.join("page.html");
    let first = text.lines().next().unwrap();
    let explored = run(["explore", &at, "--key", first, "-o", &page]);
    if explored.stderr.contains("was built without the page") {
        stdout().write_all(b"\nskipped: the program was built without the page\n").unwrap();
        return;
    }
    explored.good();
    let page = fs::read_to_string(&page).unwrap();
    let secret = fs::read_to_string(&key).unwrap();
    assert!(page.contains(&format!(r#"id="excerpt">{{"name":"{at}","#)));
    let answers = format!(r#""answers":[["{first}",1]]"#);
    assert!(page.contains(&answers) && !page.contains(secret.trim()));
}

fn a_filter_of_a_cluster_becomes_one_file(kind: Kind) {
    let cluster = Cluster::start(kind, PATIENT);
    let folder = Folder::new();
    let at = address(&cluster[0], "seen?shards=16");
    let text = different(50_000);
    run_with(&text, ["dedup", "--filter", &at]).good();
    let [file, key] = ["seen.coua", "key"].map(|name| folder.join(name));
    run(["pull", &at, &file, "--secret", &key]).good();
    let keyed = ["check", &file, "--secret", &key];
    assert_eq!(run_with(&text, keyed).good(), text);
    assert!(run(["info", "--json", &file, "--secret", &key]).text().contains("\"items\": 50000"));
    // Back, as one key of the same cluster.
    let one = address(&cluster[1], "copy");
    run(["push", &file, &one, "--secret", &key]).good();
    assert_eq!(run_with(&text, ["check", &one]).good(), text);
}

/// Items are added in order during a pull: the file has all items added before the pull, and of the rest the first ones
/// of each shard.
fn a_pull_during_writes_has_all_that_was_there_before(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    // With this number of items a dump has several chunks, and other clients could write between two of them.
    let at = address(&server, "seen?shards=2");
    let before = different(300_000);
    run_with(&before, ["add", &at]).good();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            for item in 0_u64.. {
                let [key, item] = [format!("{{seen:{}}}", item % 2), format!("new {item}")];
                client.call(&["CF.ADD", &key, &item]);
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for round in 0..3 {
            let file = folder.join(&format!("{round}.coua"));
            run(["pull", &at, &file, "--secret", &folder.join("key")]).good();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let new: Vec<u8> = (0..1_000).flat_map(|item| format!("new {item}\n").into_bytes()).collect();
    let mut counts = Vec::new();
    for round in 0..3 {
        let file = folder.join(&format!("{round}.coua"));
        let asked = ["check", &file, "--secret", &folder.join("key")];
        assert_eq!(run_with(&before, asked).good(), before);
        let some = run_with(&new, asked).stdout;
        counts.push(some.split(|byte| *byte == b'\n').count());
    }
    assert!(counts.is_sorted() && counts[2] > 1, "{counts:?}");
}

fn what_is_pushed_answers_as_the_file(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let key = folder.file("key", "000102030405060708090a0b0c0d0e0f\n");
    let text = different(200_000);
    for (name, option) in [("plain", None), ("keyed", Some("--secret"))] {
        let file = folder.join(name);
        let keyed: Vec<&str> = option.into_iter().chain(option.map(|_| key.as_str())).collect();
        let with = |words: &[&str]| [words, &keyed].concat().join(" ");
        let words = with(&["add", &file]);
        run_with(&text, words.split(' ')).good();
        let at = address(&server, name);
        run(with(&["push", &file, &at]).split(' ')).good();
        assert_eq!(run_with(&text, ["check", &at]).good(), text);
        // It is a filter like any other: it grows, is copied, and survives a reload.
        run_with(b"one more\n", ["add", &at]).good();
        let mut client = server.client();
        let digest = client.good(&format!("DEBUG DIGEST-VALUE {name}"));
        client.good("DEBUG RELOAD");
        assert_eq!(client.good(&format!("DEBUG DIGEST-VALUE {name}")), digest);
        let back = folder.join(&format!("{name}.back"));
        run(with(&["pull", &at, &back]).split(' ')).good();
        let words = with(&["check", &back]);
        assert_eq!(run_with(b"one more\nnever\n", words.split(' ')).good(), b"one more\n");
    }
}

fn what_cannot_be_pulled_is_refused(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    client.good("CF.ADD seen a");
    client.good("SET text a");
    let at = |name: &str| address(&server, name);
    let [file, key] = ["new.coua", "key"].map(|name| folder.join(name));
    let there = folder.file("there", "text");
    let refused = |name: &str, file: &str, key: &str, words: &str| {
        let said = refusal(&["pull", &at(name), file, "--secret", key]);
        assert!(said.contains(words), "{said}");
        assert!(!fs::exists(folder.join("new.coua")).unwrap(), "{name}");
    };
    refused("seen", &there, &key, "there: already exists");
    assert_eq!(folder.read("there"), b"text");
    refused("none", &file, &key, "no such filter");
    refused("text", &file, &key, "WRONGTYPE");
    refused("seen", &file, &there, "is not a hash key");
    refused("seen", &file, &file, "is also the secret key file");
    assert!(!fs::exists(&key).unwrap(), "a key without its filter is of no use");
    let said = refusal(&["pull", &at("seen"), &file]);
    assert!(said.contains("has a secret key"), "{said}");
    let other = folder.file("other", "000102030405060708090a0b0c0d0e0f\n");
    refused("seen", &file, &other, "already exists with a different key");
    let said = refusal(&["pull", &file, &file]);
    assert!(said.contains("is not an address"), "{said}");
    // A filter of RedisBloom: 4 items in 2^10 buckets.
    let header = [4_u64, 1024, 0, 1].map(u64::to_le_bytes).concat();
    let header = [&header[..], &[2, 0, 20, 0, 1, 0]].concat();
    client.call(&[b"CF.LOADCHUNK".as_slice(), b"peer", b"1", &header]);
    refused("peer", &file, &key, "RedisBloom's layout");
}

fn what_cannot_be_pushed_is_refused(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    let file = folder.join("seen");
    run_with(b"a\n", ["add", &file]).good();
    client.good("CF.ADD there a");
    client.good("SET text a");
    let refused = |file: &str, name: &str, words: &str| {
        let said = refusal(&["push", file, &address(&server, name)]);
        assert!(said.contains(words), "{said}");
    };
    refused(&file, "there", "the key exists already");
    refused(&file, "text", "WRONGTYPE");
    refused(&file, "new?shards=2", "cannot be spread over shards");
    refused(&folder.file("other", "text"), "new", "other");
    assert_eq!(client.run("EXISTS new").integer(), 0);
    client.good("CONFIG SET coua.key-memory-limit 1kb");
    refused(&file, "new", "the server refused or lost the filter");
    assert_eq!(client.run("EXISTS new").integer(), 0, "nothing is left half loaded");
}

/// No other key with the filter's name is used, or missing rights to it do no harm.
fn the_rights_to_the_key_are_enough(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    let rights = "~copy ~{copy}* +cf.info +cf.loadchunk +renamenx +del +eval_ro +cf.scandump +command|info +hello";
    client.good(&format!("ACL SETUSER me on >secret {rights}"));
    let [file, back] = ["seen", "back"].map(|name| folder.join(name));
    run_with(b"a\n", ["add", &file]).good();
    let mine = |name: &str| address(&server, name).replace("://", "://me:secret@");
    run(["push", &file, &mine("copy")]).good();
    run(["pull", &mine("copy"), &back]).good();
    assert_eq!(run_with(b"a\n", ["check", &back]).good(), b"a\n");
    let said = refusal(&["push", &file, &mine("other")]);
    assert!(said.contains("NOPERM") && said.contains("(key other)"), "{said}");
    client.good("ACL SETUSER me resetkeys ~more");
    let said = refusal(&["push", &file, &mine("more")]);
    assert!(said.contains("NOPERM") && said.contains("(key {more}.coua-push-"), "{said}");
    let rights =
        "~only +cf.reserve +cf.info +cf.insert +cf.insertnx +cf.mexists +cf.mcount +cf.mdel";
    client.good(&format!("ACL SETUSER me resetkeys {rights}"));
    run_with(b"a\nb\n", ["dedup", "--filter", &mine("only")]).good();
    assert_eq!(run_with(b"a\nc\n", ["check", &mine("only")]).good(), b"a\n");
    run(["info", &mine("only")]).good();
}

fn shards_with_different_keys_are_refused(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    client.good("CF.RESERVE {seen:0} 1024");
    client.good("CF.RESERVE {seen:1} 1024");
    let [file, key] = ["seen.coua", "key"].map(|name| folder.join(name));
    let at = address(&server, "seen?shards=2");
    let said = refusal(&["pull", &at, &file, "--secret", &key]);
    assert!(said.contains("{seen:1} cannot be merged with the shards before it"), "{said}");
}

fn processes_that_create_shards_at_once_agree_on_the_key(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let text = different(1_000);
    for round in 0..5 {
        let at = address(&server, &format!("seen{round}?shards=64"));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| run_with(&text, ["dedup", "--filter", &at]).good());
            }
        });
        let [file, key] = ["coua", "key"].map(|end| folder.join(&format!("{round}.{end}")));
        run(["pull", &at, &file, "--secret", &key]).good();
        let asked = ["check", &file, "--secret", &key];
        assert_eq!(run_with(&text, asked).good(), text);
    }
}

fn windows_are_made_and_carried(kind: Kind) {
    let server = Server::start(kind);
    let folder = Folder::new();
    let mut client = server.client();
    let at = address(&server, "seen?shards=2");
    let text = different(1_000);
    let dedup = ["dedup", "--filter", &at, "--window", "4h"];
    assert_eq!(run_with(&text, dedup).good(), text);
    assert_eq!(run_with(&text, dedup).good(), b"");
    let info = run(["info", "--json", &at]).json();
    let window = &info["window"];
    assert_eq!((&window["length"], &window["clock"]), (&14_400_000.into(), &"arrival".into()));
    let said = refusal(&["add", &at, "--window", "5h"]);
    assert!(said.contains("has the window 4h in 8 generations"), "{said}");
    let [file, key] = ["seen.coua", "key"].map(|name| folder.join(name));
    run(["pull", &at, &file, "--secret", &key]).good();
    let asked = ["check", &file, "--secret", &key];
    assert_eq!(run_with(&text, asked).good(), text);
    let day = ["info", "--json", &file, "--secret", &key];
    assert_eq!(run(day).json()["window"]["generations"], 8);
    run(["push", &file, &address(&server, "copy"), "--secret", &key]).good();
    assert_eq!(run_with(&text, ["check", &address(&server, "copy")]).good(), text);
    // Four and a half hours later.
    let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() + 16_200_000;
    for key in ["{seen:0}", "{seen:1}", "copy"] {
        client.good(&format!("CF.ADVANCE {key} {later}"));
    }
    assert_eq!(run_with(&text, dedup).good(), text, "all of it is new again");
    assert_eq!(run_with(&text, ["check", &address(&server, "copy")]).stdout, b"");
    let at = address(&server, "items?shards=4");
    run_with(&text, ["dedup", "--filter", &at, "--window", "400-items"]).good();
    assert!(client.call(&["CF.INFO", "{items:0}", "Window items"]).integer() >= 100);
    let [file, key] = ["items.coua", "key2"].map(|name| folder.join(name));
    let said = refusal(&["pull", &at, &file, "--secret", &key]);
    assert!(said.contains("cannot be merged"), "items of two shards have no common past: {said}");
    let said = refusal(&["add", &address(&server, "plain"), "--window", "4h", "--when-full=stop"]);
    assert!(said.contains("is not available with a window"), "{said}");
    let others: [(&str, &[&str]); 3] = [
        ("last", &["--window-by", "last"]),
        ("given", &["--time-field", "1"]),
        ("stops", &["--when-full", "stop", "--capacity", "1000"]),
    ];
    for (name, options) in others {
        let file = folder.join(name);
        run([&["add", &file, "--window", "4h"], options].concat()).good();
        let said = refusal(&["push", &file, &address(&server, name)]);
        assert!(said.contains("cannot hold a window with --time-field, "), "{said}");
    }
}

fn what_a_filter_does_when_full_is_carried(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    for (name, options, when_full) in
        [("fixed", &["--when-full", "stop"][..], "stop"), ("rated", &["--rate", "0.001"], "grow")]
    {
        let (file, at) = (folder.join(name), address(&server, name));
        run([&["add", &file, "--capacity", "1000"], options].concat()).good();
        run(["push", &file, &at]).good();
        let info = run(["info", "--json", &at]).text();
        assert!(info.contains(&format!("\"when_full\": \"{when_full}\"")), "{info}");
    }
    server.client().good("CF.RESERVE hundred 100 EXPANSION 0");
    let (file, key) = (folder.join("hundred"), folder.join("key3"));
    run(["pull", &address(&server, "hundred"), &file, "--secret", &key]).good();
    let numbers: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
    let full = run_with(numbers.join("\n").as_bytes(), ["add", &file, "--secret", &key]);
    assert_eq!(full.code, Some(3), "{}", full.stderr);
    assert!(full.stderr.contains("holds 100 items"), "{}", full.stderr);
}

fn small_full_filters_with_copies_are_pulled(kind: Kind) {
    let (server, folder) = (Server::start(kind), Folder::new());
    for name in 0..10 {
        let numbers = (0..3000).map(|nth| (nth * 7919 + name * 104_729) % 4999 * 7 % 1500);
        let lines: Vec<_> = numbers.map(|number| format!("{number}\n")).collect();
        let (text, at) = (lines.concat(), address(&server, &name.to_string()));
        let [file, secret] = ["coua", "key"].map(|kind| folder.join(&format!("{name}.{kind}")));
        let fixed = ["--when-full", "stop", "--capacity", "3000", "--rate", "1%"];
        run_with(text.as_bytes(), [&["add", &at][..], &fixed].concat()).good();
        run(["pull", &at, &file, "--secret", &secret]).good();
        let counts =
            |filter: &[&str]| run_with(text.as_bytes(), [&["count"], filter].concat()).text();
        assert_eq!(counts(&[&file, "--secret", &secret]), counts(&[&at]));
        let info = run(["info", "--json", &file, "--secret", &secret]).json();
        assert_eq!(info["when_full"], "stop");
    }
}
