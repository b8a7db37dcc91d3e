//! A heap that knows how much of it was in use at the most.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;

use critical_section::Mutex;
use embedded_alloc::TlsfHeap;

const SIZE: usize = 2 << 20;

struct Counted {
    heap: TlsfHeap,
    /// Bytes in use: now, and at the most.
    used: Mutex<Cell<(usize, usize)>>,
}

#[global_allocator]
static HEAP: Counted = Counted { heap: TlsfHeap::empty(), used: Mutex::new(Cell::new((0, 0))) };

static mut MEMORY: [u8; SIZE] = [0; SIZE];

impl Counted {
    fn count(&self, change: impl FnOnce(usize) -> usize) {
        critical_section::with(|section| {
            let used = self.used.borrow(section);
            let (now, most) = used.get();
            let now = change(now);
            used.set((now, most.max(now)));
        });
    }
}

// SAFETY: passes on what the heap does.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(|now| now + layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        self.count(|now| now - layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.heap.dealloc(ptr, layout) }
    }
}

/// Makes the heap ready. Call it once, first of all.
pub fn init() {
    // SAFETY: called once, and nothing else refers to the memory.
    unsafe { HEAP.heap.init((&raw mut MEMORY).addr(), SIZE) }
}

/// The most bytes that were in use at once.
pub fn most() -> usize {
    critical_section::with(|section| HEAP.used.borrow(section).get().1)
}
