//! An allocator that counts, to see that hostile bytes do not make a load take memory.

#![expect(unsafe_code, reason = "a global allocator is unsafe to write; this one forwards")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::time::{Duration, Instant};

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
    /// Address space taken beyond the highest so far, of the whole process; mappings show here.
    pub(crate) mapped: u64,
    pub(crate) time: Duration,
}

pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    let (space, start) = (address_space(), Instant::now());
    let result = work();
    let time = start.elapsed();
    let most = HELD.with(|held| held.get().1);
    let mapped = address_space().saturating_sub(space);
    (result, Cost { heap: (most - before).max(0) as u64, mapped, time })
}

/// Most bytes of address space so far (0 where the system does not tell).
fn address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmPeak:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
