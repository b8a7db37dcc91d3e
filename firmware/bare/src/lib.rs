//! Programs without a runtime: no start-up code, no output. They are linked, and never run.
//!
//! - `no_panic` calls every public function of the crates for microcontrollers. It links only if no panic can be
//!   reached, for the panic handler calls a function that does not exist.
//! - `no_panic_async` does the same for the asynchronous calls, as far as that can be.
//! - `self_test` shows that this check can fail: it panics on purpose, and must not link.
//! - `empty`, and the others, whose size over that of `empty` is what a crate costs.
//!
//! A program defines `extern "C" fn _start() -> !`, and hides its arguments from the optimiser by `black_box`.
#![no_std]

pub mod recordings;

use core::hint::black_box;
use core::panic::PanicInfo;

use micro_zstd::FrameEncoder;

#[cfg(not(feature = "find-panics"))]
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn a_panic_can_be_reached() -> !;
    }
    a_panic_can_be_reached()
}

#[cfg(feature = "find-panics")]
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    black_box(info.location());
    loop {
        core::hint::spin_loop();
    }
}

/// Frames for ever, of content from nowhere, to nowhere.
pub fn encode(encoder: &mut impl FrameEncoder) -> ! {
    loop {
        encoder.start(black_box(None));
        let mut content = black_box(&[0; 64][..]);
        while !content.is_empty() {
            let encoded = encoder.encode(content);
            black_box(encoded.output);
            content = content.get(encoded.taken..).unwrap_or_default();
        }
        while let Some(output) = encoder.finish() {
            black_box(output);
        }
    }
}
