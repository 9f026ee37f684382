//! The exit code says whether a run with a failed step must be repeated.

use super::{EIO, Place, nothing_is_kept_that_was_not_written};
use crate::support::{Repeats, Run, coua, lines, run_as_is, run_in};
use coua_dev::cases::sample;
use std::fs;

const EINVAL: u32 = 22;
const ENOTSUP: u32 = 95;

/// The filter file before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Filter,
    /// A filter with a log.
    Log,
}

const COMMANDS: &[(Before, &[&str])] = &[
    (Before::Nothing, &["dedup", "-j1", "--filter", "seen", "few"]),
    (Before::Nothing, &["dedup", "-j1", "--filter", "seen", "-o", "out", "few"]),
    (Before::Filter, &["dedup", "-j1", "--filter", "seen", "few"]),
    (Before::Filter, &["dedup", "-j1", "--filter", "seen", "-o", "out", "few"]),
    (Before::Log, &["dedup", "-j1", "--filter", "seen", "few"]),
    (Before::Nothing, &["add", "-j1", "seen", "few"]),
    (Before::Filter, &["add", "-j1", "seen", "few"]),
    (Before::Log, &["add", "-j1", "seen", "few"]),
    (Before::Filter, &["remove", "-j1", "seen", "few"]),
    (Before::Nothing, &["merge", "-o", "seen", "other"]),
    (Before::Filter, &["merge", "-o", "seen", "other"]),
    (Before::Log, &["merge", "-o", "seen", "other"]),
    (Before::Nothing, &["convert", "--rate", "0.0001", "-o", "seen", "other"]),
    (Before::Filter, &["convert", "--rate", "0.0001", "-o", "seen", "other"]),
    (Before::Log, &["convert", "--rate", "0.0001", "-o", "seen", "other"]),
];

/// Standard output, `out` and the filter.
type Left = (Vec<u8>, [Option<Vec<u8>>; 2]);

impl Place {
    fn with_few() -> Self {
        let place = Self::new(&[]);
        place.folder.file("few", "a\nb\nc\n");
        place.folder.file("known", "b\nx\n");
        run_in(&place.folder, &["add", "other", "known"]).good();
        place
    }

    fn begin(&self, before: Before) {
        for name in ["seen", "out", "log"] {
            fs::remove_file(self.folder.join(name)).ok();
        }
        if before != Before::Nothing {
            fs::copy(self.folder.join("other"), self.folder.join("seen")).unwrap();
        }
        if before == Before::Log {
            // The log records that a run has ended.
            run_in(&self.folder, &["add", "seen", "known", "--resume"]).good();
        }
    }

    /// Runs with these faults and no checkpoints along the way.
    fn run_at_once(&self, args: &[&str], faults: &[(&str, &str)]) -> Run {
        let has_checkpoints = !["merge", "convert"].contains(&args[0]);
        let rarely = ["--checkpoint-every", "1000"];
        let mut command = coua([args, if has_checkpoints { &rarely } else { &[] }].concat());
        command.current_dir(self.folder.path()).env("LD_PRELOAD", &self.library);
        run_as_is(command.envs(faults.iter().copied()))
    }

    fn left(&self, run: Run) -> Left {
        (run.stdout, self.results())
    }
}

/// Repeated after exit code 2, or resumed, a run leaves the same files as without faults.
#[test]
fn a_failed_run_is_done_again_and_no_other_needs_cc() {
    let place = Place::with_few();
    for (before, args) in sample(COMMANDS, [5, 1]) {
        place.begin(*before);
        let log = place.folder.join("log");
        let whole = place.run_at_once(args, &[("COUA_FAULT_LOG", &log)]);
        assert_eq!((whole.code, &*whole.stderr), (Some(0), ""));
        let (steps, reference) = (place.steps(), place.left(whole));
        assert!(steps.iter().any(|step| step.starts_with("d ")), "{steps:?}");
        for (at, step) in steps.iter().enumerate() {
            let (at, error) = (at.to_string(), EIO.to_string());
            let once = [("COUA_FAULT_AT", &*at), ("COUA_FAULT_ERROR", &*error)];
            // Only this step fails, or it and all later ones.
            for faults in [&once[..], &[&once[..], &[("COUA_FAULT_ON", "1")]].concat()] {
                place.begin(*before);
                let run = place.run_at_once(args, faults);
                let (code, said) = (run.code, &run.stderr);
                let what = format!("{before:?}, {args:?}, {faults:?}: {step}: {code:?} {said}");
                check_words(&run, &what);
                let left = match code {
                    Some(2) => {
                        let mut again = place.run_at_once(args, &[]);
                        if again.stderr.contains("; continue that run with --resume, ") {
                            // The output has content, and the filter holds items.
                            again = place.run_at_once(&[*args, &["--resume"]].concat(), &[]);
                        }
                        assert_eq!((again.code, &*again.stderr), (Some(0), ""), "{what}");
                        place.left(again)
                    }
                    _ => place.left(run),
                };
                assert!(left == reference, "{what}");
            }
        }
    }
}

fn check_words(run: &Run, what: &str) {
    let lines = usize::from(run.code != Some(0));
    assert_eq!(run.stderr.lines().count(), lines, "{what}");
    match run.code {
        Some(0 | 2) => {}
        code => {
            assert_eq!(code, Some(4), "{what}");
            assert!(run.stderr.contains("seen: written, but fsync failed, so"), "{what}");
        }
    }
}

/// The file system does not support syncing folders: the program can do no more.
#[test]
fn a_sync_that_there_is_not_is_no_error_needs_cc() {
    let place = Place::with_few();
    for (before, args) in sample(COMMANDS, [5, 1]) {
        for error in [EINVAL, ENOTSUP] {
            place.begin(*before);
            let error = error.to_string();
            let faults = [
                ("COUA_FAULT_CALL", "d"),
                ("COUA_FAULT_AT", "0"),
                ("COUA_FAULT_ON", "1"),
                ("COUA_FAULT_ERROR", &*error),
            ];
            place.run_at_once(args, &faults).good();
        }
    }
}

/// The folders of a filter and of an output fail to open before anything is written.
#[test]
fn folders_that_cannot_be_opened_are_refused_first_needs_cc() {
    let place = Place::with_few();
    for (before, args) in sample(COMMANDS, [5, 1]) {
        place.begin(*before);
        let was = place.results();
        let run = |at| {
            let faults = [("COUA_FAULT_CALL", "o"), ("COUA_FAULT_AT", at)];
            place.run_at_once(args, &faults)
        };
        let refused = run("0");
        let words = "its folder cannot be opened, which is needed to sync its name";
        let message = format!("coua: seen: {words}: Input/output error\n");
        refused.failed(2, &message);
        assert!(place.results() == was, "{args:?}");
        if args.contains(&"-o") && args.contains(&"out") {
            let refused = run("1");
            refused.failed(2, &format!("coua: out: {words}: Input/output error\n"));
            assert!(place.results() == was, "{args:?}");
        }
    }
}

/// The run ends at a failed checkpoint, and is resumed from there.
#[test]
fn a_run_is_resumed_from_a_checkpoint_that_may_not_last_needs_cc() {
    let args = super::DEDUP;
    let place = Place::new(args);
    // More than the log of such a small filter may hold.
    place.folder.file("many", lines(200_000, Repeats::Few));
    let (_, reference) = place.whole(args);
    let folders = place.steps().iter().filter(|step| step.starts_with("d ")).count();
    assert!(folders > 2, "{folders}");
    let mut told = 0;
    for at in 0..folders {
        place.again(args);
        let at = at.to_string();
        let faults = [("COUA_FAULT_CALL", "d"), ("COUA_FAULT_AT", &*at)];
        let run = place.run(args, &faults);
        let words = "seen: saved up to here (continue with --resume), but a power cut may undo it";
        told += usize::from(run.stderr.contains(words));
        assert!(!run.stderr.contains(words) || run.code == Some(2), "{}", run.stderr);
        if run.code == Some(2) {
            nothing_is_kept_that_was_not_written(&place, args);
        }
        place.run(&[args, &["--resume"]].concat(), &[]).good();
        assert!(place.results() == reference, "{at}: {}", run.stderr);
    }
    assert!(told > 0);
}

/// The message also says that the filter is full.
#[test]
fn a_full_filter_that_may_not_last_is_told_needs_cc() {
    let place = Place::with_few();
    let options = ["--rate=0.0001", "--capacity=5000", "--when-full=stop"];
    let args = [&["dedup", "--filter", "seen"], &options[..], &["many"]].concat();
    let mut told = 0;
    place.folder.file("many", lines(20_000, Repeats::Few));
    for at in ["0", "1", "2"] {
        place.begin(Before::Nothing);
        let run = place.run_at_once(&args, &[("COUA_FAULT_CALL", "d"), ("COUA_FAULT_AT", at)]);
        if run.stderr.starts_with("coua: seen: written, but fsync failed") {
            assert_eq!(run.code, Some(3), "{}", run.stderr);
            assert!(run.stderr.contains("stopped at many: record "), "{}", run.stderr);
            told += 1;
        }
    }
    assert_eq!(told, 1);
}
