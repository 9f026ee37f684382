//! Chains of Bloom filters.

use super::*;
use crate::bloom::value::Bloom;
use crate::server::NativeType;
use crate::value::{OwnFilter as _, Value};

fn chain(capacity: u64, rate: f64, expansion: Option<u32>) -> OwnBloom {
    let blueprint = Blueprint { capacity, rate, expansion, hash_key: [3; 16] };
    OwnBloom::new(blueprint, None).unwrap()
}

fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
    range.map(u32::to_le_bytes).collect()
}

fn items(keys: &[[u8; 4]]) -> Vec<&[u8]> {
    keys.iter().map(<[u8; 4]>::as_slice).collect()
}

#[test]
fn the_rate_holds_while_the_chain_grows() {
    for expansion in [1, 2, 4] {
        let mut chain = chain(1_000, 0.01, Some(expansion));
        let keys_in = keys(0..20_000);
        chain.insert(&items(&keys_in), None);
        assert!(chain.contains_all(&items(&keys_in)).into_iter().all(|present| present));
        let absent = keys(1_000_000..1_100_000);
        let wrong = chain.contains_all(&items(&absent)).into_iter().filter(|&p| p).count();
        // 1,000 expected, and five times the deviation of chance.
        assert!(wrong < 1_160, "expansion {expansion}: {wrong}");
    }
}

#[test]
fn a_batch_answers_as_single_inserts_do() {
    let (mut batch, mut single) = (chain(10, 0.1, Some(2)), chain(10, 0.1, Some(2)));
    let repeated = [keys(0..200), keys(100..300), keys(0..50)].concat();
    let outcomes = batch.insert(&items(&repeated), None);
    let one_by_one: Outcomes =
        repeated.iter().flat_map(|key| single.insert(&[key], None)).collect();
    assert_eq!(outcomes, one_by_one);
    assert_eq!(batch.len(), single.len());
}

#[test]
fn a_chain_that_may_not_grow_refuses_when_full() {
    let mut chain = chain(10, 0.01, None);
    let outcomes = chain.insert(&items(&keys(0..20)), None);
    let refused = Outcome::Refused(Refusal::NonScalingFull);
    assert_eq!(outcomes.iter().filter(|&outcome| *outcome == refused).count(), 10);
    assert_eq!(chain.insert(&items(&keys(0..1)), None)[..], [Outcome::Present]);
}

#[test]
fn scale_is_checked_before_a_filter_is_made() {
    let blueprint = |rate| Blueprint { capacity: 100, rate, expansion: Some(2), hash_key: [0; 16] };
    assert_eq!(OwnBloom::check_scale(&blueprint(0.01), 1_000_000, None), Ok(()));
    assert_eq!(
        OwnBloom::check_scale(&blueprint(0.01), 1_000_000, Some(1_000)),
        Err(Refusal::ScaleBeyondMemory { items: 1_000_000 })
    );
    assert_eq!(
        OwnBloom::check_scale(&blueprint(1e-9), u64::MAX, None),
        Err(Refusal::ScaleBeyondRate { items: u64::MAX })
    );
}

#[test]
fn a_chain_of_few_large_filters_is_freed_in_the_background() {
    // Above 64 the server does.
    let effort = |chain: OwnBloom| Value::<Bloom>::Own(chain).free_effort();
    assert!(effort(chain(10_000_000, 0.01, None)) > 64);
    assert!(effort(chain(1_000, 0.01, None)) < 8);
}

/// Not a moment earlier: the next filter is larger than all before it.
#[test]
fn the_next_filter_takes_memory_when_it_is_needed() {
    let mut chain = chain(100_000, 0.01, Some(2));
    let empty = chain.allocated_bytes();
    let keys_in = keys(0..200_000);
    for key in &keys_in {
        let is_full = chain.len() >= 100_000;
        assert!(is_full || chain.allocated_bytes() == empty, "{} items", chain.len());
        chain.insert(&[key], None);
    }
    assert_eq!(chain.links.len(), 2);
}

/// The rates of its filters halve until a hash of 64 bits allows no smaller one.
#[test]
fn a_chain_grows_beyond_the_smallest_rate_of_a_filter() {
    let mut chain = chain(100, 0.01, Some(1));
    let keys_in = keys(0..20_000);
    let outcomes = chain.insert(&items(&keys_in), None);
    let refused = outcomes.iter().filter(|it| matches!(it, Outcome::Refused(_))).count();
    assert_eq!(refused, 0);
    let absent = keys(1_000_000..1_100_000);
    let wrong = chain.contains_all(&items(&absent)).into_iter().filter(|&p| p).count();
    assert!(wrong < 1_160, "{wrong}");
    let mut image = Vec::new();
    chain.write(&mut image).unwrap();
    let (magic, mut rest) = image.split_first_chunk().unwrap();
    assert_eq!(OwnBloom::read(*magic, &mut rest).unwrap().len(), chain.len());
}

/// Where that is so from the second on, they would add up to more than the rate asked for.
#[test]
fn a_chain_of_filters_at_the_smallest_rate_does_not_grow() {
    let smallest = 2.0 * 1_000.0 / 64f64.exp2();
    let mut chain = chain(1_000, 2.0 * smallest, Some(1));
    let outcomes = chain.insert(&items(&keys(0..3_000)), None);
    assert_eq!(outcomes.last(), Some(&Outcome::Refused(Refusal::MaximumExpansions)));
}
