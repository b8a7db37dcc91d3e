//! Counts instructions, with SysTick. Under `-icount shift=0` an instruction takes 1 ns of QEMU's time, so that a
//! tick of SysTick is a known number of instructions; program `calibrate` checks it against loops of known length.

use core::fmt;

use cortex_m::peripheral::{SYST, syst::SystClkSource};

/// Twice the instructions that a tick takes: the boards' clocks run at 16, 12.5, 25 and 20 MHz.
const DOUBLED_INSTRUCTIONS_PER_TICK: u64 = if cfg!(board = "microbit") {
    125
} else if cfg!(board = "lm3s6965evb") {
    160
} else if cfg!(board = "mps2-an386") {
    80
} else {
    100
};

/// SysTick counts down from here. It could from 2^24, but so the wrap is seen in a test of a second.
const WRAP: u32 = 1 << 22;

/// Counts the instructions between [`Meter::start`] and the last [`Meter::lap`].
#[derive(Debug)]
pub struct Meter {
    last: u32,
    ticks: u64,
}

impl Meter {
    /// Starts to count. There is one SysTick, so one meter may run at a time.
    pub fn start() -> Self {
        // SAFETY: nothing else on the boards uses SysTick.
        let syst = unsafe { &mut cortex_m::Peripherals::steal().SYST };
        syst.set_clock_source(SystClkSource::Core);
        syst.set_reload(WRAP - 1);
        syst.clear_current();
        syst.enable_counter();
        Self { last: SYST::get_current(), ticks: 0 }
    }

    /// Adds what passed since the start or the last lap. Call it at least every 4 million ticks, which is 160
    /// million instructions at the fewest, or a wrap of the counter goes unseen.
    #[inline(never)]
    pub fn lap(&mut self) {
        let now = SYST::get_current();
        self.ticks += u64::from(self.last.wrapping_sub(now) % WRAP);
        self.last = now;
    }

    /// Instructions counted so far, exact to a tick.
    pub fn instructions(&self) -> u64 {
        self.ticks * DOUBLED_INSTRUCTIONS_PER_TICK / 2
    }
}

/// The instructions of `work`, exact to a tick, for work of less than 160 million instructions.
pub fn count(work: impl FnOnce()) -> u64 {
    let mut meter = Meter::start();
    work();
    meter.lap();
    meter.instructions()
}

/// Prints a figure that `cargo xtask` holds against `ci/budgets.toml`. Such lines are no part of the expected
/// output: a new compiler may change them.
pub fn report(name: impl fmt::Display, value: impl fmt::Display) {
    semihosting::println!("measured {name} = {value}");
}

/// `count` over `of` with three decimals, such as instructions per byte.
#[derive(Clone, Copy, Debug)]
pub struct Per {
    /// The numerator.
    pub count: u64,
    /// The denominator.
    pub of: u64,
}

impl fmt::Display for Per {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = (self.count * 1000 + self.of / 2) / self.of;
        write!(f, "{}.{:03}", thousandths / 1000, thousandths % 1000)
    }
}
