//! The rules by which go-redis reads answers, written down: there need not be Go here.

use crate::client::Protocol;
use crate::resp::Value;
use crate::server::{Kind, Server};

on_both!(cf_info);

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
