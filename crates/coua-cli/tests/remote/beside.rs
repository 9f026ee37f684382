//! Servers with RedisBloom, where the module's commands have other names.

use crate::address;
use crate::server::{Kind, Server, redisbloom};
use crate::support::{Folder, run, run_with};

on_both!(
    all_commands_work_beside_redisbloom_needs_redisbloom,
    filters_of_redisbloom_are_not_touched_needs_redisbloom,
);

fn beside_redisbloom(kind: Kind) -> Server {
    Server::configured(kind, &format!("loadmodule {}\n", redisbloom().display()))
}

fn all_commands_work_beside_redisbloom_needs_redisbloom(kind: Kind) {
    let (server, folder) = (beside_redisbloom(kind), Folder::new());
    let (at, file) = (address(&server, "seen?shards=3"), folder.join("file"));
    assert_eq!(run_with(b"a\nb\na\n", ["dedup", "--filter", &at]).text(), "a\nb\n");
    run_with(b"c\n", ["add", &at]).good();
    assert_eq!(run_with(b"b\nx\nc\n", ["check", &at]).text(), "b\nc\n");
    run_with(b"c\n", ["remove", &at]).good();
    assert_eq!(run(["info", "--json", &at]).json()["items"], 2);
    let (copy, key) = (address(&server, "copy"), folder.join("key"));
    run(["pull", &at, &file, "--secret", &key]).good();
    run(["push", &file, &copy, "--secret", &key]).good();
    assert_eq!(run_with(b"a\nb\nc\n", ["check", &copy]).text(), "a\nb\n");
    let names = server.client().good("INFO commandstats").to_string();
    assert!(names.contains("cmdstat_coua.insertnx") && !names.contains("cmdstat_cf."), "{names}");
}

fn filters_of_redisbloom_are_not_touched_needs_redisbloom(kind: Kind) {
    let (server, folder) = (beside_redisbloom(kind), Folder::new());
    let mut client = server.client();
    client.good("CF.ADD theirs a");
    let before = client.good("DUMP theirs");
    let (at, file) = (address(&server, "theirs"), folder.join("file"));
    run_with(b"a\n", ["add", &file]).good();
    for words in [
        &["dedup", "--filter", &at][..],
        &["info", &at],
        &["pull", &at, "new"],
        &["push", &file, &at],
    ] {
        let refused = run_with(b"b\n", words);
        assert_eq!(refused.code, Some(2), "{words:?}");
        assert!(refused.stderr.contains("WRONGTYPE"), "{}", refused.stderr);
    }
    assert_eq!(client.good("DUMP theirs"), before);
}
