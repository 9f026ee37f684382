//! Removing a key that was never inserted removes another key, whose fingerprint and buckets are the same.
#![expect(clippy::print_stdout, reason = "it shows what it finds")]

use coua_textbook::{CuckooFilter, ParameterError, Shape};

fn main() -> Result<(), ParameterError> {
    let mut seen = CuckooFilter::new(Shape::for_items(100, 0.03)?)?;
    let birds: Vec<_> = (0..100).map(|number| format!("bird {number}")).collect();
    for bird in &birds {
        assert!(seen.insert(bird));
    }
    let strangers = (0..).map(|number| format!("stranger {number}"));
    let stranger = strangers.into_iter().find(|stranger| seen.contains(stranger));
    let stranger = stranger.unwrap_or_default();
    println!("{stranger:?} was never inserted; removed: {}", seen.remove(&stranger));
    let lost: Vec<_> = birds.iter().filter(|bird| !seen.contains(bird)).collect();
    println!("now {lost:?} is lost");
    assert_eq!(lost.len(), 1);
    Ok(())
}
