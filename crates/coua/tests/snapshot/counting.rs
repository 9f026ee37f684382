//! An allocator that counts, to see that hostile bytes do not make a load take memory.

#![expect(unsafe_code, reason = "a global allocator is unsafe to write; this one forwards")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use memmap2::MmapMut;

struct Counting;

thread_local! {
    /// Bytes that this thread holds, and the most since the last [`measured`] began.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    // Fails only while a thread ends, when nobody measures.
    let _ended = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

/// A layout's size fits: the standard library promises it.
fn size_of_layout(layout: Layout) -> isize {
    isize::try_from(layout.size()).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size_of_layout(layout));
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-size_of_layout(layout));
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a piece of work cost.
pub(crate) struct Cost {
    /// Heap bytes at the most, beyond those held before.
    pub(crate) heap: u64,
    /// Address space taken at the most, by the whole process; mappings show here.
    pub(crate) mapped: u64,
    pub(crate) time: Duration,
}

/// What takes longer has no end: a busy machine needs seconds for what takes milliseconds, and work by a
/// count that was forged takes hours.
pub(crate) const ENDLESS: Duration = Duration::from_secs(60);

/// Held while something is measured: two at once would see each other's ballast.
static MEASURING: Mutex<()> = Mutex::new(());

pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let (space, most_space) = address_space();
    // Only a new record shows: ballast takes what the process gave back since the last one.
    let _ballast = MmapMut::map_anon((most_space - space) as usize);
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    let most = HELD.with(|held| held.get().1);
    let mapped = address_space().1 - most_space;
    (result, Cost { heap: (most - before).max(0) as u64, mapped, time })
}

/// Measures the loading of hostile bytes, which may take no more address space than their length
/// justifies, and a piece that the heap takes at once.
///
/// Other tests' threads take address space too, but not at every try, as the loading would.
pub(crate) fn measured_load<T>(length: usize, mut work: impl FnMut() -> T) -> (T, Cost) {
    let allowed = (1 << 20) + 2 * length as u64;
    for _ in 0..50 {
        let (result, cost) = measured(&mut work);
        if cost.mapped <= allowed {
            return (result, cost);
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("loading {length} bytes takes over {allowed} bytes of address space")
}

/// Bytes of address space now, and the most so far (0 where the system does not tell).
fn address_space() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    };
    (bytes("VmSize:"), bytes("VmPeak:"))
}
