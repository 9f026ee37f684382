//! What the commands of the Bloom filters answer and refuse.

use crate::refusals::{CUCKOO_COMMANDS, WRONG_TYPE, check_counts};
use crate::script::{Table, check};
use crate::server::Kind;

on_both!(
    add_and_look,
    reserve,
    insert,
    information,
    no_room,
    argument_counts,
    numbers_and_words,
    wrong_types,
);

fn add_and_look(kind: Kind) {
    check(
        kind,
        "
        BF.ADD b a -> :1 | #t
        BF.ADD b a -> :0 | #f
        TYPE b -> +MBbloom--
        BF.MADD b a c d -> [:0 :1 :1] | [#f #t #t]
        BF.MADD new a a -> [:1 :0] | [#t #f]
        BF.EXISTS b a -> :1 | #t
        BF.EXISTS b x -> :0 | #f
        BF.MEXISTS b a x d -> [:1 :0 :1] | [#t #f #t]
        BF.CARD b -> :3
        # A missing key holds nothing, and stays missing.
        BF.EXISTS none a -> :0 | #f
        BF.MEXISTS none a b -> [:0 :0] | [#f #f]
        BF.CARD none -> :0
        EXISTS none -> :0
        # An item may be empty.
        BF.ADD b \"\" -> :1 | #t
        BF.EXISTS b \"\" -> :1 | #t
        ",
    );
}

fn reserve(kind: Kind) {
    check(
        kind,
        "
        BF.RESERVE a 0.01 1000 -> +OK
        BF.RESERVE a 0.01 1000 -> -ERR item exists
        BF.RESERVE b 0.001 1000 EXPANSION 4 -> +OK
        BF.RESERVE c 1e-6 1 NONSCALING -> +OK
        BF.RESERVE e 0.01 100 EXPANSION 0 -> +OK
        BF.INFO e EXPANSION -> [$-1] | {+Expansion rate _}
        bf.reserve d 0.5 1000 nonscaling -> +OK
        BF.INFO a -> [+Capacity :1000 +Size :* +Number of filters :1 +Number of items inserted :0 +Expansion rate :2] | {+Capacity :1000, +Size :*, +Number of filters :1, +Number of items inserted :0, +Expansion rate :2}
        BF.INFO b -> [*+Expansion rate :4] | {*+Expansion rate :4}
        BF.INFO c -> [+Capacity :1 *+Expansion rate $-1] | {+Capacity :1, *+Expansion rate _}
        ",
    );
}

fn insert(kind: Kind) {
    check(
        kind,
        "
        BF.INSERT a ITEMS x y x -> [:1 :1 :0] | [#t #t #f]
        BF.INSERT a NOCREATE ITEMS x z -> [:0 :1] | [#f #t]
        BF.INSERT none NOCREATE ITEMS x -> -ERR not found
        EXISTS none -> :0
        BF.INSERT b CAPACITY 500 ERROR 0.001 EXPANSION 3 ITEMS x -> [:1] | [#t]
        BF.INFO b -> [+Capacity :500 *+Expansion rate :3] | {+Capacity :500, *+Expansion rate :3}
        BF.INSERT c NONSCALING CAPACITY 5 ITEMS x -> [:1] | [#t]
        BF.INFO c -> [+Capacity :5 *+Expansion rate $-1] | {+Capacity :5, *+Expansion rate _}
        BF.INSERT o NONSCALING EXPANSION 4 ITEMS a -> [:1] | [#t]
        BF.INFO o EXPANSION -> [$-1] | {+Expansion rate _}
        BF.INSERT p EXPANSION 0 ITEMS a -> [:1] | [#t]
        BF.INFO p EXPANSION -> [$-1] | {+Expansion rate _}
        BF.INSERT d ITEMS NOCREATE ITEMS ERROR -> [:1 :1 :1] | [#t #t #t]
        BF.INFO d -> [+Capacity :100 *+Expansion rate :2] | {+Capacity :100, *+Expansion rate :2}
        # A filter that could not reach so many items at its rate is not made.
        BF.INSERT e CAPACITY 100 VALIDATESCALETO 1000 ITEMS x -> [:1] | [#t]
        ",
    );
}

fn information(kind: Kind) {
    check(
        kind,
        "
        BF.RESERVE b 0.01 1000 -> +OK
        BF.MADD b x y -> [:1 :1] | [#t #t]
        BF.INFO b CAPACITY -> [:1000] | {+Capacity :1000}
        BF.INFO b Size -> [:*] | {+Size :*}
        BF.INFO b FILTERS -> [:1] | {+Number of filters :1}
        BF.INFO b items -> [:2] | {+Number of items inserted :2}
        BF.INFO b EXPANSION -> [:2] | {+Expansion rate :2}
        BF.RESERVE n 0.01 1000 NONSCALING -> +OK
        BF.INFO n EXPANSION -> [$-1] | {+Expansion rate _}
        BF.DEBUG b -> [\"size:2\" \"bytes:* bits:* hashes:8 hashwidth:64 capacity:1000 size:2 ratio:0.005\"]
        BF.DEBUG n -> [\"size:0\" \"bytes:* bits:* hashes:7 hashwidth:64 capacity:1000 size:0 ratio:0.01\"]
        BF.DEBUG none -> -ERR not found
        BF.INFO b nonsense -> -*
        BF.INFO none -> -ERR not found
        BF.INFO none CAPACITY -> -ERR not found
        ",
    );
}

fn no_room(kind: Kind) {
    check(
        kind,
        "
        BF.RESERVE b 0.000001 2 NONSCALING -> +OK
        BF.MADD b x y -> [:1 :1] | [#t #t]
        BF.ADD b z -> -ERR non scaling filter is full
        BF.MADD b x z -> [:0 -ERR non scaling filter is full] | [#f -ERR non scaling filter is full]
        BF.INSERT b ITEMS z -> [-ERR non scaling filter is full]
        BF.ADD b x -> :0 | #f
        BF.CARD b -> :2
        ",
    );
}

fn argument_counts(kind: Kind) {
    const COMMANDS: &[(&str, &[&str])] = &[
        ("bf.reserve", &["", "b", "b 0.01"]),
        ("bf.add", &["", "b", "b x y"]),
        ("bf.madd", &["", "b"]),
        ("bf.insert", &["", "b", "b items", "b capacity 100", "b nocreate items"]),
        ("bf.exists", &["", "b", "b x y"]),
        ("bf.mexists", &["", "b"]),
        ("bf.card", &["", "b x"]),
        ("bf.info", &["", "b items x"]),
        ("bf.debug", &["", "b x"]),
        ("bf.scandump", &["", "b", "b 0 0"]),
        ("bf.loadchunk", &["", "b", "b 1", "b 1 data more"]),
    ];
    check_counts(kind, COMMANDS);
}

fn numbers_and_words(kind: Kind) {
    check(
        kind,
        "
        BF.RESERVE b x 1000 -> -ERR bad error rate
        BF.RESERVE b 0 1000 -> -ERR (0 < error rate range < 1)*
        BF.RESERVE b 1 1000 -> -ERR (0 < error rate range < 1)*
        BF.RESERVE b -0.1 1000 -> -ERR (0 < error rate range < 1)*
        BF.RESERVE b nan 1000 -> -*
        BF.RESERVE b 0.01 x -> -ERR bad capacity
        BF.RESERVE b 0.01 1.5 -> -ERR bad capacity
        BF.RESERVE b 0.01 0 -> -ERR (capacity should be larger than 0)
        BF.RESERVE b 0.01 -5 -> -ERR (capacity should be larger than 0)
        BF.RESERVE b 0.01 1000 EXPANSION x -> -ERR bad expansion
        BF.RESERVE b 0.01 1000 EXPANSION 2 NONSCALING -> -Nonscaling filters cannot expand
        BF.RESERVE b 0.01 1000 NONSCALING EXPANSION 2 -> -Nonscaling filters cannot expand
        BF.RESERVE b 0.01 1000 nonsense -> -*nonsense*
        BF.RESERVE b 0.01 9223372036854775807 -> -*
        BF.RESERVE b 1e-300 1000000000000 -> -*
        BF.INSERT b CAPACITY x ITEMS a -> -Bad capacity
        BF.INSERT b ERROR x ITEMS a -> -Bad error rate
        BF.INSERT b EXPANSION x ITEMS a -> -Bad expansion
        BF.INSERT b nonsense ITEMS a -> -*nonsense*
        BF.INSERT b E 0.1 ITEMS a -> -*'E'*
        BF.INSERT b ERROR 0 ITEMS a -> -*
        BF.INSERT b CAPACITY 0 ITEMS a -> -*
        BF.SCANDUMP none 0 -> -ERR not found
        BF.SCANDUMP b x -> -*
        BF.LOADCHUNK b x data -> -*
        BF.LOADCHUNK b 1 data -> -*
        BF.LOADCHUNK b 2 data -> -*
        BF.LOADCHUNK b -1 data -> -*
        EXISTS b -> :0
        ",
    );
}

fn wrong_types(kind: Kind) {
    let mut table = Table::default();
    table.row("SET s text", "+OK");
    table.row("CF.ADD f a", ":1 | #t");
    for rest in [
        "BF.RESERVE * 0.01 1000",
        "BF.ADD * a",
        "BF.MADD * a",
        "BF.INSERT * ITEMS a",
        "BF.EXISTS * a",
        "BF.MEXISTS * a",
        "BF.CARD *",
        "BF.INFO *",
        "BF.SCANDUMP * 0",
        "BF.LOADCHUNK * 1 data",
    ] {
        for key in ["s", "f"] {
            table.row(rest.replace('*', key), WRONG_TYPE);
        }
    }
    table.row("BF.ADD b a", ":1 | #t");
    for command in CUCKOO_COMMANDS {
        table.row(command.replace('*', "b"), WRONG_TYPE);
    }
    check(kind, table.rows());
}
