//! Integers are keys, and so are hashes that were made elsewhere.

use std::error::Error;

use coua::{CuckooFilter, KeyHash};

fn main() -> Result<(), Box<dyn Error>> {
    let mut primes: CuckooFilter = [2, 3, 5, 7, 11, 13].into_iter().collect();
    // A number is one key in every type of integer.
    assert!(primes.contains(7_u8) && primes.contains(7_u64) && !primes.contains(8));

    // A hash of 64 uniform bits is taken as it is.
    let hash = KeyHash::from_u64(0x9e37_79b9_7f4a_7c15);
    primes.insert(hash)?;
    assert!(primes.contains(hash));
    assert_eq!(primes.hasher().hash(7), primes.hasher().hash(7_u64.to_le_bytes()));
    Ok(())
}
