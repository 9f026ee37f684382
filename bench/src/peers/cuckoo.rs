//! A cuckoo filter and a quotient filter.

#![expect(clippy::redundant_closure_for_method_calls, reason = "calls look alike")]

use super::calls::calls_and_removal as calls;
use super::{Entry, Made, Plan};

pub(super) fn entries() -> Vec<Entry> {
    vec![Entry { name: "bloom-lib", make: bloom_lib }, Entry { name: "qfilter", make: qfilter }]
}

fn bloom_lib(plan: Plan) -> Made {
    let filter = bloom_lib::CuckooFilter::new(plan.items as usize);
    let filter = filter.map_err(|error| error.to_string())?;
    calls(filter, |f, k| f.insert(k).is_ok(), |f, k| f.contains(k), |f, k| f.remove(k))
}

fn qfilter(plan: Plan) -> Made {
    let filter = qfilter::Filter::new(plan.items, plan.rate).map_err(|error| error.to_string())?;
    calls(filter, |f, k| f.insert_duplicated(k).is_ok(), |f, k| f.contains(k), |f, k| f.remove(k))
}
