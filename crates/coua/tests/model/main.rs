//! Random sequences of every operation, on the filter beside an exact model of it.
//!
//! The model is a multiset of *cells*: a filter of C cells tells the hashes h and h' apart exactly
//! if floor(h C / 2^64) differs. So the model predicts every answer, false positives included, and
//! `contains`, `count`, `insert_unique` and `remove` must agree with it to the last copy. That no key
//! is ever lost, and no count below the truth, follows; both are checked by themselves as well.
//!
//! Every case is drawn from its seed. A failure prints it: `COUA_CASE=small:123` runs that one again.

#[path = "../random/mod.rs"]
mod random;

mod case;
mod script;
mod twin;

use std::time::Instant;

use case::{Case, Size};
use script::run;

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

/// Runs cases of one size and returns the number of operations.
fn run_cases(size: Size, seeds: std::ops::Range<u64>) -> u64 {
    let one = std::env::var("COUA_CASE").ok();
    let mut operations = 0;
    for seed in seeds {
        let case = Case::draw(size, seed);
        if one.as_ref().is_some_and(|name| *name != case.name()) {
            continue;
        }
        let announce = Announce(case);
        operations += run(&announce.0);
    }
    operations
}

#[test]
fn small_filters_agree_with_the_model() {
    run_cases(Size::Small, 0..1500);
}

#[test]
fn medium_filters_agree_with_the_model() {
    run_cases(Size::Medium, 0..60);
}

#[test]
fn large_filters_agree_with_the_model() {
    run_cases(Size::Large, 0..2);
}

#[test]
#[ignore = "slow: run with ./test --all"]
fn a_billion_operations_agree_with_the_model() {
    let start = Instant::now();
    let mut operations = 0;
    let mut round = 1u64;
    let one = std::env::var_os("COUA_CASE").is_some();
    while operations < 1_000_000_000 && !(one && operations > 0) {
        let first = round << 20;
        operations += run_cases(Size::Small, first..first + 1000);
        operations += run_cases(Size::Medium, first..first + 100);
        operations += run_cases(Size::Large, first..first + 10);
        round += 1;
        println!("{operations} operations in {:.0} s", start.elapsed().as_secs_f64());
    }
}
