//! A store that gets no memory for a second filter, such as the one that takes its place while it is divided among
//! threads.

#![expect(unsafe_code, reason = "an allocator that refuses")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use coua::CuckooFilter;
use coua::shards::Division;
use coua_store::Store;

static REFUSES: AtomicBool = AtomicBool::new(false);

/// Refuses memory for segments, which have the alignment of a cache line.
struct Refusing;

// SAFETY: memory comes from the system's allocator, or not at all.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if REFUSES.load(Ordering::Relaxed) && layout.align() == 64 {
            return ptr::null_mut();
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
fn without_memory_one_thread_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.insert_batch(&(0_u64..100_000).collect::<Vec<_>>()).unwrap();
    store.commit().unwrap();
    REFUSES.store(true, Ordering::Relaxed);
    assert_eq!(store.divide(Division::new(1)), None);
    // There is room for a few items.
    store.insert_batch(&[200_000_u64, 200_001]).unwrap();
    store.commit().unwrap();
    REFUSES.store(false, Ordering::Relaxed);
    assert_eq!(store.filter().len(), 100_002);
    assert!(store.divide(Division::new(1)).is_some_and(|keys| keys > 0));
    store.join();
    drop(store);
    assert_eq!(Store::read(&path).unwrap().filter.len(), 100_002);
}
