//! A filter that forgets: was this message seen in the last hour?

use std::error::Error;

use coua::CuckooFilter;
use coua::window::{Clock, Generations, Window};

fn main() -> Result<(), Box<dyn Error>> {
    let minute = 60_000;
    // An hour, forgotten in steps of ten minutes.
    let hour = Window::new(Clock::Arrival, 60 * minute, 6)?;
    let mut seen = Generations::new(hour, CuckooFilter::new());

    // The filter has no clock: it is told the time.
    seen.advance(1_000 * minute);
    assert!(seen.insert_unique("message 1")?.is_new());
    seen.advance(1_060 * minute);
    assert!(!seen.insert_unique("message 1")?.is_new());
    seen.advance(1_070 * minute);
    assert!(seen.insert_unique("message 1")?.is_new());
    Ok(())
}
