//! What the commands of the cuckoo filters answer.

use crate::client::Protocol;
use crate::script::{check, is_like};
use crate::server::{Kind, Server};

on_both!(
    reserve,
    add,
    insert,
    look,
    remove,
    extensions,
    options_in_any_order_and_case,
    information,
    information_by_field,
    no_room,
    flags_and_keys,
);

fn reserve(kind: Kind) {
    check(
        kind,
        "
        CF.RESERVE f 1000 -> +OK
        TYPE f -> +MBbloomCF
        CF.RESERVE f 1000 -> -ERR item exists
        CF.RESERVE least 4 -> +OK
        CF.RESERVE wide 510 BUCKETSIZE 255 -> +OK
        CF.RESERVE g 1000 BUCKETSIZE 4 MAXITERATIONS 65535 EXPANSION 32768 -> +OK
        CF.RESERVE fixed 1000 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0 -> +OK
        ",
    );
}

fn add(kind: Kind) {
    check(
        kind,
        "
        CF.RESERVE f 1000 -> +OK
        CF.ADD f a -> :1 | #t
        CF.ADD f a -> :1 | #t
        CF.ADDNX f a -> :0 | #f
        CF.ADDNX f b -> :1 | #t
        CF.COUNT f a -> :2
        CF.COUNT f b -> :1
        # A missing key is created, with the capacity of the settings.
        CF.ADD added a -> :1 | #t
        CF.ADDNX addednew a -> :1 | #t
        CF.ADDNX addednew a -> :0 | #f
        # An item may be empty.
        CF.ADD f \"\" -> :1 | #t
        CF.EXISTS f \"\" -> :1 | #t
        CF.COUNT f \"\" -> :1
        ",
    );
}

fn insert(kind: Kind) {
    check(
        kind,
        "
        CF.INSERT f ITEMS a -> [:1] | [#t]
        CF.INSERT f ITEMS a b a -> [:1 :1 :1] | [#t #t #t]
        CF.COUNT f a -> :3
        CF.INSERTNX f ITEMS a c c -> [:0 :1 :0]
        CF.INSERT f NOCREATE ITEMS d -> [:1] | [#t]
        CF.INSERTNX f NOCREATE ITEMS d e -> [:0 :1]
        # Capacity counts only where the key is created.
        CF.INSERT f CAPACITY 5000 ITEMS x -> [:1] | [#t]
        CF.INSERT wide CAPACITY 5000 ITEMS x -> [:1] | [#t]
        CF.INSERTNX wider CAPACITY 5000 ITEMS x -> [:1]
        CF.INSERT none NOCREATE ITEMS a -> -ERR not found
        CF.INSERTNX none NOCREATE ITEMS a -> -ERR not found
        EXISTS none -> :0
        # Behind ITEMS every word is an item.
        CF.INSERT words ITEMS NOCREATE ITEMS CAPACITY -> [:1 :1 :1] | [#t #t #t]
        CF.MEXISTS words NOCREATE ITEMS CAPACITY -> [:1 :1 :1] | [#t #t #t]
        ",
    );
}

fn look(kind: Kind) {
    check(
        kind,
        "
        CF.INSERT f ITEMS a b b -> [:1 :1 :1] | [#t #t #t]
        CF.EXISTS f a -> :1 | #t
        CF.EXISTS f x -> :0 | #f
        CF.MEXISTS f a x b -> [:1 :0 :1] | [#t #f #t]
        CF.MEXISTS f a -> [:1] | [#t]
        CF.COUNT f b -> :2
        CF.COUNT f x -> :0
        # A missing key holds nothing, and stays missing.
        CF.EXISTS none a -> :0 | #f
        CF.MEXISTS none a b -> [:0 :0] | [#f #f]
        CF.COUNT none a -> :0
        EXISTS none -> :0
        ",
    );
}

fn remove(kind: Kind) {
    check(
        kind,
        "
        CF.INSERT f ITEMS a a b -> [:1 :1 :1] | [#t #t #t]
        CF.DEL f a -> :1 | #t
        CF.COUNT f a -> :1
        CF.DEL f a -> :1 | #t
        CF.DEL f a -> :0 | #f
        CF.EXISTS f a -> :0 | #f
        CF.EXISTS f b -> :1 | #t
        CF.DEL f x -> :0 | #f
        CF.DEL none a -> -Not found
        CF.COMPACT f -> +OK
        CF.EXISTS f b -> :1 | #t
        CF.COMPACT none -> -ERR not found
        ",
    );
}

fn extensions(kind: Kind) {
    check(
        kind,
        "
        CF.RESERVE f 1000 ERROR 0.000001 -> +OK
        CF.RESERVE g 1000 HASHBITS 40 SEED 000102030405060708090a0b0c0d0e0f -> +OK
        CF.INSERT h ERROR 0.000001 ITEMS a -> [:1] | [#t]
        CF.INSERTNX i HASHBITS 40 SEED 000102030405060708090A0B0C0D0E0F ITEMS a -> [:1]
        CF.MADD f a b b -> [:1 :1 :1] | [#t #t #t]
        CF.MADD new a -> [:1] | [#t]
        CF.MCOUNT f a b c -> [:1 :2 :0]
        CF.MCOUNT none a b -> [:0 :0]
        CF.MDEL f a c b -> [:1 :0 :1] | [#t #f #t]
        CF.MCOUNT f a b -> [:0 :1]
        CF.MDEL none a -> -Not found
        # Filters of one geometry and one hash can be joined.
        CF.ADD g x -> :1 | #t
        CF.MERGE joined g i -> +OK
        CF.MEXISTS joined x a b -> [:1 :1 :0] | [#t #t #f]
        CF.MERGE joined g -> +OK
        CF.MCOUNT joined x a -> [:2 :1]
        CF.MCOUNT g x a -> [:1 :0]
        CF.MERGE joined none -> -ERR not found
        CF.MERGE nowhere none -> -ERR not found
        EXISTS nowhere -> :0
        # Filters of different hashes cannot.
        CF.MERGE f g -> -ERR *
        CF.MCOUNT f b x -> [:1 :0]
        ",
    );
}

fn options_in_any_order_and_case(kind: Kind) {
    check(
        kind,
        "
        cf.reserve a 1000 expansion 3 bucketsize 4 maxiterations 7 -> +OK
        CF.RESERVE b 1000 MaxIterations 7 Expansion 3 BucketSize 4 -> +OK
        CF.INSERT c nocreate ITEMS x -> -ERR not found
        CF.INSERT c capacity 100 error 0.01 items x -> [:1] | [#t]
        CF.INSERT d error 0.01 capacity 100 items x -> [:1] | [#t]
        ",
    );
}

/// The eight fields of the peer, in its order and alone: clients read them by place, and fail on others.
fn information(kind: Kind) {
    let server = Server::start(kind);
    let set_up = [
        "CF.RESERVE f 1000 BUCKETSIZE 4 MAXITERATIONS 77 EXPANSION 3",
        "CF.INSERT f ITEMS a b c d d",
        "CF.DEL f d",
    ];
    let mut client = server.client();
    for command in set_up {
        client.good(command);
    }
    let found = client.run("CF.INFO f").to_string();
    let expected = "[+Size :* +Number of buckets :* +Number of filters :1 \
        +Number of items inserted :4 +Number of items deleted :1 +Bucket size :4 \
        +Expansion rate :3 +Max iterations :77]";
    assert!(is_like(&found, expected), "{found}");
    let fields = client.run("CF.INFO f FULL").elements().len();
    let found = client.run("CF.DEBUG f").to_string();
    let expected =
        r#""bktsize:4 buckets:* items:4 deletes:1 filters:1 max_iterations:77 expansion:3""#;
    assert!(is_like(&found, expected), "{found}");

    let mut client = server.connect(Protocol::Resp3);
    let found = client.run("CF.INFO f").to_string();
    let expected = "{+Size :*, +Number of buckets :*, +Number of filters :1, \
        +Number of items inserted :4, +Number of items deleted :1, +Bucket size :4, \
        +Expansion rate :3, +Max iterations :77}";
    assert!(is_like(&found, expected), "{found}");
    let found = client.run("cf.info f full").to_string();
    let further = "+Error rate ,*, +Hash bits ,*, +Load ,*, +Bytes per item ,*}";
    assert!(is_like(&found, &expected.replace('}', &format!(", {further}"))), "{found}");
    // Names and values, nothing lost between the protocols.
    assert_eq!(found.matches(", +").count() + 1, fields / 2, "{found}");

    // What is not there is not found, whatever the protocol.
    for command in ["CF.INFO none", "CF.DEBUG none"] {
        assert_eq!(client.run(command).to_string(), "-ERR not found");
    }
}

fn information_by_field(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE f 1000 BUCKETSIZE 4");
    let fields = client.good("CF.INFO f FULL");
    for pair in fields.elements().chunks(2) {
        let name = pair[0].to_string();
        let name = name.strip_prefix('+').unwrap();
        assert_eq!(client.call(&["CF.INFO", "f", name]), pair[1], "{name}");
        assert_eq!(client.call(&["CF.INFO", "f", &name.to_lowercase()]), pair[1], "{name}");
    }
    for (word, name) in [
        ("size", "Size"),
        ("items", "Number of items inserted"),
        ("FILTERS", "Number of filters"),
        ("Expansion", "Expansion rate"),
    ] {
        assert_eq!(client.call(&["CF.INFO", "f", word]), client.call(&["CF.INFO", "f", name]));
    }
    assert!(is_like(&client.run("CF.INFO f x").to_string(), "-*x*"));
}

/// A filter that may not grow takes what it was made for, and then says that it is full.
fn no_room(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    // A rate at which none of these is taken for another, which would not be refused.
    client.good("CF.RESERVE f 100 EXPANSION 0 ERROR 0.000001");
    let commands: Vec<_> =
        (0..1_000).map(|n| vec!["CF.ADD".into(), "f".into(), n.to_string()]).collect();
    let replies = client.pipeline(&commands);
    let taken = replies.iter().take_while(|reply| !reply.is_error()).count();
    assert!((100..1_000).contains(&taken), "{taken} of 100");
    assert_eq!(replies.last().unwrap().to_string(), "-Filter is full");
    assert_eq!(client.run("CF.INSERT f ITEMS p q").to_string(), "[:-1 :-1]");
    assert_eq!(client.run("CF.INSERTNX f ITEMS p q 0").to_string(), "[:-1 :-1 :0]");
    let mut resp3 = server.connect(Protocol::Resp3);
    assert_eq!(resp3.run("CF.ADD f p").to_string(), "-Filter is full");
    assert_eq!(resp3.run("CF.INSERT f ITEMS p q").to_string(), "[#f #f]");
    assert_eq!(resp3.run("CF.INSERTNX f ITEMS p q 0").to_string(), "[:-1 :-1 :0]");
    // What was taken is still there, and room comes back.
    for item in 0..taken {
        assert_eq!(client.run(&format!("CF.EXISTS f {item}")).integer(), 1, "{item}");
    }
    assert_eq!(client.run("CF.DEL f 0").integer(), 1);
    assert_eq!(client.run("CF.ADD f 0").integer(), 1);
}

/// What access control, cluster clients and proxies go by.
fn flags_and_keys(kind: Kind) {
    const GROWS: &str = "[+write +denyoom +module*]";
    const READS: &str = "[+readonly +module +fast*]";
    let server = Server::start(kind);
    let mut client = server.client();
    for (command, flags) in [
        ("cf.reserve", GROWS),
        ("cf.add", GROWS),
        ("cf.addnx", GROWS),
        ("cf.madd", GROWS),
        ("cf.insert", GROWS),
        ("cf.insertnx", GROWS),
        ("cf.loadchunk", GROWS),
        ("cf.exists", READS),
        ("cf.mexists", READS),
        ("cf.count", READS),
        ("cf.mcount", READS),
        ("cf.info", READS),
        ("cf.debug", READS),
        ("cf.scandump", "[+readonly +module*]"),
        ("cf.del", "[+write +module +fast*]"),
        ("cf.mdel", "[+write +module +fast*]"),
        ("cf.compact", "[+write +module*]"),
    ] {
        let info = client.run(&format!("COMMAND INFO {command}"));
        let fields = info.elements()[0].elements();
        assert!(is_like(&fields[2].to_string(), flags), "{command}: {}", fields[2]);
        let keys: Vec<_> = fields[3..6].iter().map(super::resp::Value::integer).collect();
        assert_eq!(keys, [1, 1, 1], "{command}");
    }
    let keys = client.run("COMMAND GETKEYS CF.MERGE a b c");
    assert_eq!(keys.to_string(), r#"["a" "b" "c"]"#);
}
