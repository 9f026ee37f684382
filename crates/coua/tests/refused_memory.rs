//! A growing filter to which the system gives no memory: a refusal costs little, however often it is met.

#![expect(unsafe_code, reason = "an allocator that refuses")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use coua::{CuckooFilter, FullReason, KeyHash};

use coua_dev::random::Random;

static REFUSES: AtomicBool = AtomicBool::new(false);
static GRANTED: AtomicU64 = AtomicU64::new(0);

/// Refuses the memory of segments, which begins with a cache line, and counts the rest.
struct Refusing;

// SAFETY: memory comes from the system's allocator, or not at all.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if REFUSES.load(Ordering::Relaxed) {
            if layout.align() == 64 {
                return ptr::null_mut();
            }
            GRANTED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

#[test]
fn a_refusal_is_known_before_anything_is_prepared() {
    // Segments that split, in a table smaller than a huge page.
    let mut filter = CuckooFilter::builder().hash_bits(40).capacity(60_000).build().unwrap();
    let random = &mut Random::new(7);
    while filter.insert(KeyHash::from_u64(random.next())).is_ok() {
        // One that grows once more before the memory is refused.
        REFUSES.store(filter.segments() > 5, Ordering::Relaxed);
    }
    let (items, segments) = (filter.len(), filter.segments());
    GRANTED.store(0, Ordering::Relaxed);
    let mut refused = 0;
    for _ in 0..1_000 {
        if let Err(full) = filter.insert(KeyHash::from_u64(random.next())) {
            assert_eq!(full.reason, FullReason::OutOfMemory);
            refused += 1;
        }
    }
    let granted = GRANTED.load(Ordering::Relaxed);
    assert!(refused > 100, "{refused}");
    assert!(granted < 200 * refused, "{granted} bytes for {refused} refusals");
    // With memory it goes on.
    REFUSES.store(false, Ordering::Relaxed);
    for _ in 0..20_000 {
        filter.insert(KeyHash::from_u64(random.next())).unwrap();
    }
    assert!(filter.len() > items + 20_000 && filter.segments() > segments);
}
