//! Runs that find the filter full: exit code 3, make room, continue.

use crate::support::{Folder, run_in, run_with};

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect::<Vec<_>>().concat()
}

/// However often the run stops, every record is answered once: none is dropped, and none counts twice.
#[test]
fn a_full_run_goes_on_where_it_stopped() {
    let dedup = &["dedup", "--filter", "seen", "-o", "out", "in"][..];
    let each = &["dedup", "--filter", "seen", "--output-dir", "out.d", "in"];
    for command in [dedup, each, &["add", "seen", "in"]] {
        for window in [&[][..], &["--window", "7d"]] {
            let folder = Folder::new();
            folder.file("in", numbers(0..100));
            folder.file("old", numbers(1_000..1_040));
            let limits = ["--rate=0.0001", "--capacity=60", "--when-full=stop"];
            run_in(&folder, &[&["add", "seen", "old"], &limits[..], window].concat()).good();
            let first = run_in(&folder, command);
            let remedy =
                "; make room with `coua remove`, then run the same command with --resume\n";
            assert_eq!(first.code, Some(3), "{command:?} {window:?}: {}", first.stderr);
            assert!(first.stderr.ends_with(remedy), "{}", first.stderr);
            let resume = [command, &["--resume"]].concat();
            for (some, code) in
                [(1_000..1_013, 3), (1_013..1_040, 3), (0..1, 3), (1..30, 3), (30..40, 0)]
            {
                folder.file("some", numbers(some));
                run_in(&folder, &["remove", "seen", "some"]).good();
                assert_eq!(run_in(&folder, &resume).code, Some(code), "{command:?} {window:?}");
            }
            let counts = (0..100).map(|n| format!("{}\t{n}\n", u8::from(n >= 40)));
            let counts = counts.collect::<Vec<_>>().concat();
            assert_eq!(run_in(&folder, &["count", "seen", "in"]).text(), counts);
            if command == dedup {
                assert_eq!(folder.read("out"), numbers(0..100).as_bytes());
            }
            if command == each {
                assert_eq!(folder.read("out.d/in"), numbers(0..100).as_bytes());
            }
            // The run has ended.
            run_in(&folder, &resume).good();
            assert_eq!(run_in(&folder, &["count", "seen", "in"]).text(), counts);
        }
    }
}

#[test]
fn a_full_run_that_cannot_be_resumed_says_how_to_go_on() {
    let folder = Folder::new();
    let (filter, limits) =
        (folder.join("seen"), ["--rate=0.0001", "--capacity=10", "--when-full=stop"]);
    let remedy = "; make room with `coua remove`, then continue from that record\n";
    for command in [&["add", &filter][..], &["dedup", "--filter", &filter]] {
        let run = run_with(numbers(0..1_000).as_bytes(), [command, &limits].concat());
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        assert!(run.stderr.ends_with(remedy), "{}", run.stderr);
    }
    let run = run_with(numbers(0..1_000).as_bytes(), [&["dedup"], &limits[..]].concat());
    assert!(run.code == Some(3) && !run.stderr.contains("make room"), "{}", run.stderr);
}

/// The run that was at work last knows the end of an output which several runs share, whichever began first.
#[test]
fn runs_that_share_an_output_go_on_in_any_order() {
    let folder = Folder::new();
    folder.file("old", numbers(1_000..1_040));
    let limits = ["--rate=0.0001", "--capacity=60", "--when-full=stop"];
    run_in(&folder, &[&["add", "seen", "old"], &limits[..]].concat()).good();
    let dedup = |input, code| {
        let args = ["dedup", "--filter", "seen", "-o", "out", "--append", "--resume", input];
        let run = run_in(&folder, &args);
        assert_eq!(run.code, Some(code), "{input}: {}", run.stderr);
    };
    for (input, first) in [("early", 0..1), ("late", 100..101)] {
        folder.file(input, numbers(first));
        dedup(input, 0);
    }
    folder.file("early", numbers(0..30));
    folder.file("late", numbers(100..130));
    for (input, freed, code) in [
        ("late", 0..0, 3),
        ("early", 1_000..1_010, 3),
        ("early", 1_010..1_015, 3),
        ("late", 1_015..1_020, 3),
        ("early", 1_020..1_040, 0),
        ("late", 0..20, 0),
    ] {
        folder.file("some", numbers(freed));
        run_in(&folder, &["remove", "seen", "some"]).good();
        dedup(input, code);
    }
    let printed = String::from_utf8(folder.read("out")).unwrap();
    let mut printed: Vec<u32> = printed.lines().map(|line| line.parse().unwrap()).collect();
    printed.sort_unstable();
    assert!(printed.into_iter().eq((0..30).chain(100..130)));
}
