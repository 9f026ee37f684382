//! Several processes share a filter.

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{Repeats, coua, expected, lines};
use std::io::Write;
use std::process::Stdio;
use std::thread;

on_both!(each_record_is_printed_by_one_process);

fn each_record_is_printed_by_one_process(kind: Kind) {
    let server = Server::start(kind);
    let at = address(&server, "shared?shards=8");
    let text = lines(60_000, Repeats::Many);
    let processes: Vec<_> = (0..3)
        .map(|_| {
            let mut child = coua(["dedup", "--filter", &at]);
            let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
            let (mut stdin, text) = (child.stdin.take().unwrap(), text.clone());
            let writer = thread::spawn(move || stdin.write_all(&text).unwrap());
            thread::spawn(move || {
                let output = child.wait_with_output().unwrap();
                writer.join().unwrap();
                assert!(output.status.success() && output.stderr.is_empty());
                output.stdout
            })
        })
        .collect();
    let printed: Vec<u8> = processes.into_iter().flat_map(|one| one.join().unwrap()).collect();
    let sorted = |text: &[u8]| {
        let mut lines: Vec<_> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&printed), sorted(&expected(&text)));
}
