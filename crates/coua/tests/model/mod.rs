//! Random sequences of every operation, on the filter and an exact model of it.
//!
//! The model is a multiset of *cells*: a filter of C cells tells the hashes h and h' apart exactly
//! if floor(h C / 2^64) differs. So the model predicts every answer, false positives included, and
//! `contains`, `count`, `insert_unique` and `remove` must agree with it to the last copy. That no key
//! is ever lost, and no count below the truth, follows; both are checked by themselves as well.
//!
//! Every case is drawn from its seed. A failure prints it: `COUA_CASE=small:123` runs that one again.

mod case;
mod counts;
mod reference;
mod script;

use std::time::Instant;

use coua_dev::cases;
use coua_dev::instruction_sets;

use case::{Case, Size};
use counts::{Counts, Event};
use script::run;

/// What a billion operations must contain at the least: about half of what they do.
const OF_A_BILLION: [(Event, u64); 14] = [
    (Event::Change, 70_000_000),
    (Event::Lookup, 500_000_000),
    (Event::Refusal, 300_000),
    (Event::Untouched, 70_000),
    (Event::Growth, 3_000),
    (Event::Split, 500),
    (Event::Removal, 20_000_000),
    (Event::Copy, 15_000_000),
    (Event::CountedCopies, 60_000_000),
    (Event::Merge, 3_000),
    (Event::RefusedMerge, 900),
    (Event::Compaction, 2_000),
    (Event::Conversion, 2_000),
    (Event::Reload, 4_000),
];

/// And what of this must happen in large filters.
const IN_LARGE_FILTERS: [(Event, u64); 11] = [
    (Event::Change, 20_000_000),
    (Event::Refusal, 3_000),
    (Event::Growth, 300),
    (Event::Split, 300),
    (Event::Removal, 7_000_000),
    (Event::Copy, 2_000_000),
    (Event::CountedCopies, 15_000_000),
    (Event::Merge, 8),
    (Event::Compaction, 8),
    (Event::Conversion, 5),
    (Event::Reload, 5),
];

/// Says how to run the case again, should it panic.
struct Announce(Case);

impl Drop for Announce {
    #[expect(clippy::print_stderr, reason = "a failing test says how to repeat it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat: COUA_CASE={}\n{:#?}", self.0.name(), self.0);
        }
    }
}

/// The name of the one case that is to be run again.
fn only() -> Option<String> {
    std::env::var("COUA_CASE").ok()
}

/// Runs cases of one size and returns what happened.
fn run_cases(size: Size, seeds: impl Iterator<Item = u64>) -> Counts {
    let only = only();
    let mut counts = Counts::default();
    for seed in seeds {
        let case = Case::draw(size, seed);
        if only.as_ref().is_some_and(|name| *name != case.name()) {
            continue;
        }
        let announce = Announce(case);
        counts.add_all(&run(&announce.0));
    }
    counts
}

/// Runs them, or a sample, and sees that what they are for has happened. Each bound is about half of what all do.
fn check_cases(size: Size, seeds: std::ops::Range<u64>, least: &[(Event, u64)]) {
    let (few, usual) = if instruction_sets::are_fewer() { (60, 9) } else { (20, 6) };
    let step = cases::few_usual_or_all([few, usual, 1]);
    // How often something rare happens depends on the case: of few cases little is demanded.
    let (share, rare) =
        cases::few_usual_or_all([(40 * step as u64, 0), (4 * step as u64, 1), (1, 1)]);
    let counts = run_cases(size, seeds.step_by(step));
    if only().is_none() {
        let least: Vec<_> =
            least.iter().map(|&(event, count)| (event, (count / share).max(rare))).collect();
        counts.check(&least);
    }
}

#[test]
fn small_filters_agree_with_the_model() {
    let least = [
        (Event::Change, 7_000_000),
        (Event::Refusal, 140_000),
        (Event::Untouched, 35_000),
        (Event::Growth, 1_200),
        (Event::Split, 12),
        (Event::Removal, 1_900_000),
        (Event::Copy, 1_600_000),
        (Event::CountedCopies, 6_000_000),
        (Event::Merge, 1_600),
        (Event::RefusedMerge, 500),
        (Event::Compaction, 1_000),
        (Event::Conversion, 1_100),
        (Event::Reload, 2_000),
    ];
    check_cases(Size::Small, 0..1500, &least);
}

#[test]
fn medium_filters_agree_with_the_model() {
    let least = [
        (Event::Change, 7_000_000),
        (Event::Refusal, 8_000),
        (Event::Untouched, 2_000),
        (Event::Growth, 60),
        (Event::Split, 20),
        (Event::Removal, 1_700_000),
        (Event::Copy, 1_700_000),
        (Event::CountedCopies, 6_000_000),
        (Event::Merge, 40),
        (Event::RefusedMerge, 15),
        (Event::Compaction, 30),
        (Event::Conversion, 30),
        (Event::Reload, 50),
    ];
    check_cases(Size::Medium, 0..60, &least);
}

mod large {
    use super::{Event, Size, check_cases};

    /// Too few for every whole operation: the billion has those.
    #[test]
    fn filters_agree_with_the_model() {
        let least = [
            (Event::Change, 2_000_000),
            (Event::Growth, 40),
            (Event::Split, 40),
            (Event::Removal, 800_000),
            (Event::Copy, 190_000),
            (Event::CountedCopies, 700_000),
        ];
        check_cases(Size::Large, 0..2, &least);
    }
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn a_billion_operations_agree_with_the_model() {
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut large = Counts::default();
    let mut round = 1u64;
    while counts.operations() < 1_000_000_000 {
        let first = round << 20;
        counts.add_all(&run_cases(Size::Small, first..first + 1000));
        counts.add_all(&run_cases(Size::Medium, first..first + 100));
        let of_this_round = run_cases(Size::Large, first..first + 20);
        counts.add_all(&of_this_round);
        large.add_all(&of_this_round);
        round += 1;
        println!(
            "{} operations in {:.0} s: {} inserts and removes, {} lookups",
            counts.operations(),
            start.elapsed().as_secs_f64(),
            counts.of(Event::Change),
            counts.of(Event::Lookup),
        );
        if only().is_some() && counts.operations() > 0 {
            return;
        }
    }
    println!("{counts:?}, in large filters {large:?}");
    counts.check(&OF_A_BILLION);
    large.check(&IN_LARGE_FILTERS);
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    let again = cases::few_usual_or_all(["model::small", "model::", "model::"]);
    instruction_sets::run_again_with_fewer(again, "all_of_this_with_fewer_instructions");
}
