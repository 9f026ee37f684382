//! A filter that forgets: was this message seen in the last hour?

use std::error::Error;
use std::time::{Duration, SystemTime};

use coua::window::{Generations, Window};

fn main() -> Result<(), Box<dyn Error>> {
    let minute = Duration::from_secs(60);
    // An hour, forgotten in steps of ten minutes.
    let mut seen = Generations::new(Window::arrival(60 * minute, 6)?);

    // The filter has no clock: it is told the time.
    let start = SystemTime::UNIX_EPOCH + 1_000 * minute;
    seen.advance(start);
    assert!(seen.insert_unique("message 1")?.is_new());
    seen.advance(start + 60 * minute);
    assert!(!seen.insert_unique("message 1")?.is_new());
    seen.advance(start + 70 * minute);
    assert!(seen.insert_unique("message 1")?.is_new());
    Ok(())
}
