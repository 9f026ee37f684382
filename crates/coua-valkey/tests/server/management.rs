//! What an operator sees and sets: settings, events, access control, INFO.

use crate::client::{Client, Protocol};
use crate::resp::Value;
use crate::script::is_like;
use crate::server::{Kind, Server, VALKEY};
use crate::zoo;

on_both!(
    settings,
    settings_of_the_command_line,
    arguments_of_the_module,
    events,
    module_list,
    section_of_info,
    access_control,
    documented_words,
);

fn settings(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for (name, default, other, wrong) in [
        ("cf-initial-size", "1024", "5000", "0"),
        ("cf-bucket-size", "2", "4", "256"),
        ("cf-max-iterations", "20", "77", "0"),
        ("cf-expansion-factor", "1", "3", "32769"),
        ("cf-max-expansions", "32", "16", "0"),
        ("key-memory-limit", "0", "1048576", "-1"),
    ] {
        let name = format!("coua.{name}");
        let is =
            |client: &mut Client| client.good(&format!("CONFIG GET {name}")).elements()[1].clone();
        assert_eq!(is(&mut client).bytes(), default.as_bytes(), "{name}");
        assert!(client.run(&format!("CONFIG SET {name} {wrong}")).is_error(), "{name}");
        assert_eq!(is(&mut client).bytes(), default.as_bytes(), "{name}");
        client.good(&format!("CONFIG SET {name} {other}"));
        assert_eq!(is(&mut client).bytes(), other.as_bytes(), "{name}");
    }
    client.good("CF.ADD f a");
    let info = client.good("CF.INFO f").to_string();
    assert!(is_like(&info, "*+Bucket size :4 +Expansion rate :3 +Max iterations :77*"), "{info}");
}

fn settings_of_the_command_line(kind: Kind) {
    let server = Server::with(kind, &["--coua.cf-bucket-size", "3"]);
    let found = server.client().good("CONFIG GET coua.cf-bucket-size").to_string();
    assert_eq!(found, r#"["coua.cf-bucket-size" "3"]"#);
}

fn arguments_of_the_module(kind: Kind) {
    // RedisBloom has underscores.
    let arguments = ["cf-bucket-size", "4", "CF_MAX_EXPANSIONS", "3"];
    let server = Server::with(kind, &arguments);
    let mut client = server.client();
    for (name, value) in [("cf-bucket-size", "4"), ("cf-max-expansions", "3")] {
        let found = client.good(&format!("CONFIG GET coua.{name}"));
        assert_eq!(found.elements()[1].bytes(), value.as_bytes(), "{name}");
    }
    for wrong in [&["cf-bucket-size", "256"][..], &["cf-bucket-size"], &["nonsense", "1"]] {
        let log = Server::refused(kind, wrong);
        assert!(log.contains("the module is not loaded: ") && log.contains(wrong[0]), "{log}");
    }
}

fn events(kind: Kind) {
    let server = Server::start(kind);
    let mut listener = server.client();
    let mut client = server.client();
    client.good("CONFIG SET notify-keyspace-events KEA");
    listener.good("PSUBSCRIBE __keyspace@0__:*");
    for (command, event) in [
        ("CF.RESERVE f 1000", Some("cuckoo.reserve")),
        ("CF.ADD f a", Some("cuckoo.add")),
        ("CF.ADDNX f a", None),
        ("CF.ADDNX f b", Some("cuckoo.add")),
        ("CF.INSERT f ITEMS a b", Some("cuckoo.add")),
        ("CF.INSERTNX f ITEMS a b", None),
        ("CF.DEL f a", Some("cuckoo.del")),
        ("CF.DEL f x", None),
        ("CF.EXISTS f a", None),
        ("CF.INFO f", None),
        ("DEL f", Some("del")),
    ] {
        client.good(command);
        // So that there is something to receive when there should be nothing.
        client.good("SET marker x");
        let mut found = Vec::new();
        loop {
            let message = listener.receive().unwrap();
            let [_, _, channel, event] = message.elements() else { panic!("{message}") };
            if channel.bytes().ends_with(b":marker") {
                break;
            }
            found.push(String::from_utf8(event.bytes().to_vec()).unwrap());
        }
        found.retain(|event| event != "new");
        assert_eq!(found, event.into_iter().collect::<Vec<_>>(), "{command}");
    }
}

fn module_list(kind: Kind) {
    let server = Server::start(kind);
    let list = server.client().good("MODULE LIST");
    // Redis 8 has one of its own.
    let is_ours = |module: &&Value| module.to_string().starts_with(r#"["name" "coua" "ver" :"#);
    assert_eq!(list.elements().iter().filter(is_ours).count(), 1, "{list}");
}

/// How many filters there are, and how much memory they take.
fn section_of_info(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::cuckoo(&mut client);
    for section in ["coua", "modules", "everything"] {
        let info = client.good(&format!("INFO {section}"));
        let info = String::from_utf8(info.bytes().to_vec()).unwrap();
        let lines: Vec<_> = info.lines().filter(|line| line.starts_with("coua_")).collect();
        assert!(!lines.is_empty(), "INFO {section} says nothing of the module:\n{info}");
    }
    client.good("FLUSHALL SYNC");
    let told = |client: &mut Client| {
        let mut number = |name: &str| client.info_number("coua", &format!("coua_{name}"));
        let cuckoo = [number("cuckoo_filters"), number("cuckoo_bytes")];
        let counts = ["items_inserted", "items_removed", "items_refused", "growths", "rebuilds"]
            .map(&mut number);
        (cuckoo, counts)
    };
    let before = told(&mut client);
    assert_eq!(before.0, [0, 0]);
    client.good("CF.RESERVE fixed 8 EXPANSION 0");
    for command in ["CF.MADD fixed", "CF.MADD grows"] {
        client.good(&zoo::with_items(command, 0..50_000));
    }
    client.good("CF.DEL grows 1");
    client.good("COPY grows copied");
    let usage = |key| client.good(&format!("MEMORY USAGE {key}")).integer();
    let cuckoo: i64 = ["fixed", "grows", "copied"].map(usage).into_iter().sum();
    let after = told(&mut client);
    // The server adds the keys.
    assert!((after.0[1]..after.0[1] + 300).contains(&cuckoo), "{cuckoo} {after:?}");
    assert_eq!(after.0[0], 3);
    let [inserted, removed, refused, growths, rebuilds] =
        [0, 1, 2, 3, 4].map(|place| after.1[place] - before.1[place]);
    assert!((49_500..75_000).contains(&inserted) && removed == 1, "{after:?}");
    assert!(refused > 49_000 && growths >= 1 && (1..=3).contains(&rebuilds), "{after:?}");
    assert!((10..5_000_000).contains(&client.info_number("coua", "coua_longest_command_usec")));
    client.good("FLUSHALL SYNC");
    assert_eq!(told(&mut client).0, [0, 0]);
}

/// What consoles complete commands by.
fn documented_words(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let words = |client: &mut Client, command: &str| {
        let docs = client.good(&format!("COMMAND DOCS {command}"));
        let fields = docs.elements()[1].elements();
        let place = fields.chunks(2).find(|pair| pair[0].bytes() == b"arguments");
        let arguments = place.unwrap_or_else(|| panic!("{command}: {docs}"))[1].elements();
        let field = |argument: &Value, name: &[u8]| {
            let mut pairs = argument.elements().chunks(2);
            let found = pairs.find(|pair| pair[0].bytes() == name);
            found.map(|pair| pair[1].clone())
        };
        let text = |value: &Value| match value {
            Value::Bulk(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => other.to_string(),
        };
        let described = arguments.iter().map(|argument| {
            let parts = [b"token".as_slice(), b"name", b"type", b"flags"];
            let parts = parts.iter().filter_map(|part| field(argument, part));
            parts.map(|part| text(&part)).collect::<Vec<_>>().join(" ")
        });
        described.collect::<Vec<_>>()
    };
    assert_eq!(
        words(&mut client, "CF.INSERT"),
        [
            "key key",
            "CAPACITY capacity integer [+optional]",
            "alternatives oneof [+optional]",
            "SEED seed string [+optional]",
            "NOCREATE nocreate pure-token [+optional]",
            "ITEMS items pure-token",
            "item string [+multiple]",
        ]
    );
    assert_eq!(words(&mut client, "CF.MERGE"), ["destination key", "source key [+multiple]"]);
    assert_eq!(words(&mut client, "CF.EXISTS"), ["key key", "item string"]);
}

/// Where the server has categories of modules, the commands are in theirs.
fn access_control(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    if kind == VALKEY {
        for (user, categories, may, may_not) in [
            ("cuckoo", "+@cuckoo", ["CF.ADD f a", "CF.INFO f"], ["GET f", "SET f a"]),
            ("asks", "+@read", ["CF.EXISTS f a", "CF.INFO f"], ["CF.ADD f a", "CF.COMPACT f"]),
            ("changes", "+@write", ["CF.MERGE g f", "CF.ADD f c"], ["CF.COUNT f a", "CF.INFO f"]),
            ("all", "+@all -@write", ["CF.COUNT f a", "CF.INFO f"], ["CF.DEL f a", "CF.ADD f c"]),
            ("quick", "+@fast", ["CF.EXISTS f a", "CF.DEL f a"], ["CF.COMPACT f", "CF.ADD f a"]),
            ("slow", "+@slow", ["CF.COMPACT f", "CF.ADD f c"], ["CF.EXISTS f a", "CF.INFO f"]),
        ] {
            client.good(&format!("ACL SETUSER {user} on nopass ~* {categories}"));
            let mut with = server.client();
            client.good("CF.ADD f a");
            with.good(&format!("AUTH {user} x"));
            for command in may {
                with.good(command);
            }
            for command in may_not {
                let reply = with.run(command).to_string();
                assert!(reply.starts_with("-NOPERM "), "{user}, {command}: {reply}");
            }
        }
    }
    client.good("CF.ADD f a");
    client.good("ACL SETUSER reader on nopass ~f +cf.exists +cf.mexists");
    let mut reader = server.connect(Protocol::Resp2);
    reader.good("AUTH reader x");
    assert_eq!(reader.run("CF.EXISTS f a"), Value::Integer(1));
    for command in ["CF.ADD f a", "CF.EXISTS g a", "CF.DEL f a"] {
        let reply = reader.run(command).to_string();
        assert!(reply.starts_with("-NOPERM "), "{command}: {reply}");
    }
}
