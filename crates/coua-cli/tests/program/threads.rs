//! The number of threads, `-j`, affects nothing but the time.

use crate::support::{Folder, Repeats, lines, run_in};
use coua_dev::cases::sample;

const THREADS: [&str; 6] = ["1", "2", "3", "4", "8", "16"];

/// The output of a command, the content of `tee`, and the bytes of the filter afterwards.
type Result = (Vec<u8>, Option<Vec<u8>>, Vec<u8>);

/// The result of a command on a filter that has seen some of the records. The filter remembers the names of outputs, so
/// all runs are in one folder.
fn result(folder: &Folder, before: &[&str], command: &[&str], threads: &str) -> Result {
    for name in ["seen", "tee"] {
        std::fs::remove_file(folder.join(name)).ok();
    }
    let text = lines(60_000, Repeats::Few);
    // Two inputs, the second of which repeats records of the first.
    folder.file("first", &text[..text.len() / 3 * 2]);
    folder.file("second", &text[text.len() / 3..]);
    if !before.is_empty() {
        folder.file("some", lines(20_000, Repeats::Many));
        run_in(folder, &[before, &["some", "second"]].concat()).good();
    }
    let run = run_in(folder, &[command, &["-j", threads, "first", "second"]].concat());
    assert!(matches!(run.code, Some(0 | 3)), "{command:?}: {}", run.stderr);
    let file = |name| folder.has(name).then(|| folder.read(name));
    (run.stdout, file("tee"), file("seen").unwrap_or_default())
}

fn depends_on_no_threads(before: &[&str], command: &[&str]) {
    let folder = Folder::new();
    let one = result(&folder, before, command, THREADS[0]);
    assert!(!one.0.is_empty() || !one.2.is_empty(), "{command:?}");
    for threads in sample(&THREADS[1..], [4, 1]) {
        let more = result(&folder, before, command, threads);
        assert!(more.0 == one.0 && more.1 == one.1, "{command:?} -j {threads}: another output");
        assert!(more.2 == one.2, "{command:?} -j {threads}: another filter");
    }
}

#[test]
fn outputs_without_a_filter_are_equal() {
    depends_on_no_threads(&[], &["dedup"]);
    depends_on_no_threads(&[], &["dedup", "-d"]);
    depends_on_no_threads(&[], &["dedup", "--rate", "0.02", "--capacity", "20000"]);
    depends_on_no_threads(&[], &["dedup", "--window", "5000-items"]);
}

#[test]
fn outputs_and_new_filters_are_equal() {
    for command in [
        &["dedup", "--filter", "seen"][..],
        &["dedup", "--filter", "seen", "--rate", "0.01", "--capacity", "20000"],
        &["dedup", "--filter", "seen", "--window", "5000-items"],
        &["add", "seen"],
        &["add", "seen", "--unique", "--rate", "0.01", "--capacity", "2000"],
    ] {
        depends_on_no_threads(&[], command);
    }
}

#[test]
fn outputs_and_changed_filters_are_equal() {
    for command in [
        &["dedup", "--filter", "seen", "-o", "/dev/stdout"][..],
        &["add", "seen"],
        &["remove", "seen"],
        &["check", "seen"],
        &["check", "-v", "seen"],
        &["count", "seen"],
    ] {
        depends_on_no_threads(&["add", "seen"], command);
    }
}

/// The filter after a command, and its output: with checkpoints at this interval; then, from the start and
/// without checkpoints, on one input and on another.
fn shared(
    folder: &Folder,
    (command, every): (&[&str], &str),
    threads: &str,
) -> [[Option<Vec<u8>>; 2]; 3] {
    let run = |inputs: &[&str], every| {
        std::fs::remove_file(folder.join("out")).ok();
        let options = ["-j", threads, "--checkpoint-every", every];
        let run = run_in(folder, &[command, &options, inputs].concat());
        assert!(matches!(run.code, Some(0 | 3)), "{command:?} -j {threads}: {}", run.stderr);
        // The log of the file tells when checkpoints were.
        [folder.filter("seen"), folder.has("out").then(|| folder.read("out"))]
    };
    let whole = run(&["before", "many", "many"], every);
    std::fs::remove_file(folder.join("seen")).unwrap();
    let parts = [run(&["before"], "1000"), run(&["many"], "1000")];
    std::fs::remove_file(folder.join("seen")).unwrap();
    let [first, second] = parts;
    [whole, first, second]
}

/// Large enough for threads to share, with and without limits.
#[test]
fn filters_that_threads_share_are_equal() {
    let folder = Folder::new();
    folder.file("before", lines(300_000, Repeats::Few));
    let numbers = (0..400_000u32).map(|number| format!("{}\n", number.wrapping_mul(0x9e37_79b9)));
    folder.file("many", numbers.collect::<String>());
    let dedup = ["dedup", "--filter", "seen", "-o", "out"];
    let cases = [
        (&dedup[..], "0.02"),
        // The file of a run that ends early shows the position of its last checkpoint.
        (&[&dedup[..], &["--capacity", "500000", "--when-full", "stop"]].concat(), "1000"),
        (&[&dedup[..], &["--rate", "0.0001", "--capacity", "1000000"]].concat(), "0.02"),
        (&["add", "seen"], "0.02"),
        (&["add", "seen", "--unique"], "0.02"),
    ];
    for (command, every) in sample(cases, [3, 1]) {
        let one = shared(&folder, (command, every), THREADS[0]);
        for threads in sample(&THREADS[1..], [5, 2]) {
            let more = shared(&folder, (command, every), threads);
            assert!(more == one, "{command:?} -j {threads}");
        }
    }
}

/// Records removed since then stay removed, however many threads insert the following ones.
#[test]
fn records_that_were_done_are_not_shared_out() {
    let folder = Folder::new();
    let text = |range: std::ops::Range<u32>| {
        range.map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n"
    };
    folder.file("few", text(0..1_000));
    for threads in sample(THREADS, [5, 1]) {
        folder.file("first", text(0..200_000));
        folder.file("second", text(200_000..400_000));
        let dedup = ["dedup", "-qj", threads, "--filter", "seen", "-o", "out", "--resume"];
        let whole = [&dedup[..], &["first", "second"]].concat();
        run_in(&folder, &whole).good();
        run_in(&folder, &["remove", "seen", "few"]).good();
        folder.file("first", text(0..200_000) + &text(400_000..500_000));
        folder.file("second", text(200_000..400_000) + &text(500_000..600_000));
        run_in(&folder, &whole).good();
        let parts = [0..200_000, 200_000..400_000, 400_000..500_000, 500_000..600_000].map(text);
        assert!(folder.read("out") == parts.concat().into_bytes(), "-j {threads}");
        assert_eq!(run_in(&folder, &["check", "-c", "seen", "few"]).stdout, b"0\n", "-j {threads}");
        std::fs::remove_file(folder.join("seen")).unwrap();
        std::fs::remove_file(folder.join("out")).unwrap();
    }
}
