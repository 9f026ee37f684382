//! Many keys at a time: the same answers, several times faster in large filters.

use std::error::Error;

use coua::CuckooFilter;

fn main() -> Result<(), Box<dyn Error>> {
    let visits: Vec<String> = (0..10_000).map(|n| format!("visitor {}", n % 4_000)).collect();
    let mut seen = CuckooFilter::new();
    let mut visitors = 0;
    for batch in visits.chunks(1_000) {
        // One answer for each key, in order.
        let outcomes = seen.insert_unique_batch(batch)?;
        visitors += outcomes.iter().filter(|outcome| outcome.is_new()).count();
    }
    assert_eq!(visitors, 4_000);
    assert_eq!(seen.contains_batch(&["visitor 7", "visitor 4000"]), [true, false]);
    Ok(())
}
