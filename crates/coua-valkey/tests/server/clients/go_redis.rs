//! The rules by which go-redis reads answers, written down: there need not be Go here.

use crate::client::Protocol;
use crate::resp::Value;
use crate::server::{Kind, Server};

on_both!(cf_info, bf_info, bf_info_of_a_field);

/// `CFInfo` fails with any other name.
const CUCKOO: [&str; 8] = [
    "Size",
    "Number of buckets",
    "Number of filters",
    "Number of items inserted",
    "Number of items deleted",
    "Bucket size",
    "Expansion rate",
    "Max iterations",
];

/// `BFInfo` and its like fail with any other name.
const BLOOM: [(&str, &str); 5] = [
    ("Capacity", "CAPACITY"),
    ("Size", "SIZE"),
    ("Number of filters", "FILTERS"),
    ("Number of items inserted", "ITEMS"),
    ("Expansion rate", "EXPANSION"),
];

/// Names and values as it reads them: a map, or a list where the protocol has none.
fn fields(reply: Value, protocol: Protocol) -> Vec<(String, Value)> {
    let pairs: Vec<_> = match (reply, protocol) {
        (Value::Map(pairs), Protocol::Resp3) => pairs,
        (Value::Array(list), Protocol::Resp2) => {
            list.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        (reply, _) => panic!("under {protocol:?}: {reply}"),
    };
    let name = |name: Value| name.to_string().trim_start_matches('+').to_owned();
    pairs.into_iter().map(|(key, value)| (name(key), value)).collect()
}

fn names(reply: Value, protocol: Protocol) -> Vec<String> {
    fields(reply, protocol).into_iter().map(|(name, _)| name).collect()
}

fn cf_info(kind: Kind) {
    let server = Server::start(kind);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut client = server.connect(protocol);
        client.good("CF.ADD f a");
        let (names, values): (Vec<_>, Vec<_>) =
            fields(client.good("CF.INFO f"), protocol).into_iter().unzip();
        assert_eq!(names, CUCKOO);
        assert!(values.iter().all(|value| matches!(value, Value::Integer(_))), "{values:?}");
    }
}

fn bf_info(kind: Kind) {
    let server = Server::start(kind);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut client = server.connect(protocol);
        client.good("BF.ADD f a");
        assert_eq!(names(client.good("BF.INFO f"), protocol), BLOOM.map(|(name, _)| name));
    }
}

/// It speaks RESP3 unless told otherwise, and reads a map then.
fn bf_info_of_a_field(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.connect(Protocol::Resp3);
    client.good("BF.ADD f a");
    for (name, word) in BLOOM {
        let reply = client.good(&format!("BF.INFO f {word}"));
        assert_eq!(names(reply, Protocol::Resp3), [name]);
    }
}
