//! Every message that a user can meet, on one page: `messages.txt` contains commands and their messages.
//!
//! Each example runs in its own folder. Its lines that begin with `$ ` are a script; then follow the script's output on
//! both streams, and its exit code if that is not 0. After changing texts, run this test with `COUA_WRITE_MESSAGES=1`
//! and read the diff.

use crate::support::Folder;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, thread};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/messages.txt");

/// The output may contain empty lines: an example begins after one, with its script.
fn examples(page: &str) -> Vec<&str> {
    let is_begin = |at: &usize| ["$ ", "# "].iter().any(|begin| page[*at..].starts_with(begin));
    let after = page.match_indices("\n\n").map(|(at, _)| at + 2).filter(is_begin);
    let begins: Vec<usize> = [0].into_iter().chain(after).collect();
    let ends = begins.iter().skip(1).copied().chain([page.len()]);
    begins.iter().zip(ends).map(|(begin, end)| page[*begin..end].trim_end()).collect()
}

/// Runs the script of an example; returns the example with its current output.
fn example(text: &str) -> String {
    let folder = Folder::new();
    let script: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let bin = Path::new(env!("CARGO_BIN_EXE_coua")).parent().unwrap();
    let path = env::join_paths(
        [bin.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())),
    );
    let output = Command::new("timeout")
        .args(["20", "bash", "-c", &format!("exec 2>&1\n{}", script.join("\n"))])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", path.unwrap())
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    // Absolute names depend on the folder.
    let place = format!("{}/", folder.path().canonicalize().unwrap().display());
    let said = String::from_utf8_lossy(&output.stdout).replace(&place, "/here/");
    let code = match output.status.code() {
        Some(0) => String::new(),
        code => format!("[exit {}]\n", code.unwrap_or(-1)),
    };
    let comments = text.lines().take_while(|line| line.starts_with("# "));
    let head = comments.flat_map(|line| [line, "\n"]).collect::<String>();
    let commands = script.iter().flat_map(|line| ["$ ", line, "\n"]).collect::<String>();
    let said = if said.is_empty() || said.ends_with('\n') { said } else { format!("{said}\n") };
    format!("{head}{commands}{said}{code}")
}

#[test]
fn each_message_is_as_on_the_page() {
    let page = fs::read_to_string(PAGE).unwrap();
    let examples = examples(&page);
    let now = Mutex::new(vec![String::new(); examples.len()]);
    thread::scope(|scope| {
        for part in 0..4 {
            let (now, examples) = (&now, &examples);
            scope.spawn(move || {
                for (number, text) in examples.iter().enumerate().filter(|(n, _)| n % 4 == part) {
                    let new = example(text);
                    now.lock().unwrap_or_else(PoisonError::into_inner)[number] = new;
                }
            });
        }
    });
    let now = now.into_inner().unwrap();
    if env::var_os("COUA_WRITE_MESSAGES").is_some() {
        fs::write(
            PAGE,
            now.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n\n") + "\n",
        )
        .unwrap();
        return;
    }
    let changed: Vec<_> =
        examples.iter().zip(&now).filter(|(old, new)| old.trim_end() != new.trim_end()).collect();
    for (old, new) in &changed {
        eprintln!("--- expected\n{old}\n--- found\n{new}");
    }
    assert!(changed.is_empty(), "{} examples differ", changed.len());
    assert!(examples.len() > 150, "{}", examples.len());
}
