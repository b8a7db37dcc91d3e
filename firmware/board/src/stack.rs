//! How deep the stack went. The start-up code paints the whole stack; what is no longer painted was used.

use core::ops::Range;

use cortex_m_rt::STACK_PAINT_VALUE;

unsafe extern "C" {
    static mut _stack_start: u32;
    static mut _stack_end: u32;
}

/// The addresses of the stack, lowest first. It grows down.
pub fn bounds() -> Range<usize> {
    (&raw const _stack_end).addr()..(&raw const _stack_start).addr()
}

/// The most bytes of stack that were in use at any time since the start or the last [`repaint`].
pub fn deepest() -> usize {
    let Range { start, end } = bounds();
    let untouched = (start..end)
        .step_by(4)
        // SAFETY: aligned words of the stack region, which is readable RAM from its first byte to its last.
        .take_while(|&at| unsafe { (at as *const u32).read_volatile() } == STACK_PAINT_VALUE)
        .count();
    end - start - 4 * untouched
}

/// What [`repaint`] leaves alone below the stack pointer: the compiler may read it before it makes its own frame.
const MARGIN: usize = 128;

/// Forgets how deep the stack went before; returns how many bytes of it are in use now.
#[inline(never)]
pub fn repaint() -> usize {
    let here = cortex_m::register::msp::read() as usize;
    let Range { start, end } = bounds();
    for at in (start..here - MARGIN).step_by(4) {
        // SAFETY: words so far below the stack pointer hold nothing; no interrupt is enabled that would push there.
        unsafe { (at as *mut u32).write_volatile(STACK_PAINT_VALUE) };
    }
    end - here
}
