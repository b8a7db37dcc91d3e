//! Panics and faults end the run with a message and exit code 101.

use core::arch::naked_asm;
use core::panic::PanicInfo;

use semihosting::println;

use crate::stack;

const FAILED: i32 = 101;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    crate::exit(FAILED)
}

/// The hard fault handler. The stack may be what broke, so it starts a fresh one before it reports.
///
/// # Safety
/// Called by the core alone.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".HardFault.board")]
unsafe extern "C" fn HardFault() -> ! {
    naked_asm!(
        "mov r0, sp",
        "ldr r1, =_stack_start",
        "mov sp, r1",
        "bl {report}",
        ".ltorg",
        report = sym report,
    )
}

/// `sp` is the stack pointer at the fault, below the frame that the core pushed: r0-r3, r12, lr, pc, xpsr.
extern "C" fn report(sp: usize) -> ! {
    let bounds = stack::bounds();
    if !bounds.contains(&sp) || !bounds.contains(&(sp + 31)) {
        println!("stack overflow: more than {} bytes", bounds.len());
        crate::exit(FAILED);
    }
    // SAFETY: the eight words of the frame lie inside the stack, as checked above.
    let pc = unsafe { (sp as *const u32).add(6).read() };
    println!("hard fault at {pc:#x}");
    crate::exit(FAILED)
}

#[cortex_m_rt::exception]
unsafe fn DefaultHandler(interrupt: i16) -> ! {
    println!("unexpected exception or interrupt {interrupt}");
    crate::exit(FAILED)
}

/// Forbids the 512 KiB below the stack, where QEMU's LM3S6965 and AN386 would drop every write silently. The other
/// two boards fault there by themselves. Region 0 of the MPU: nobody may read, write or execute; elsewhere the
/// default memory map holds.
///
/// # Safety
/// Called by the start-up code alone, before the variables have their values.
#[cfg(any(board = "lm3s6965evb", board = "mps2-an386"))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __pre_init() {
    const SIZE_LOG2: u32 = 19;
    const ENABLE: u32 = 1;
    naked_asm!(
        "ldr r0, ={rnr}",
        "movs r1, #0",
        "ldr r2, ={start}",
        "ldr r3, ={attributes}",
        "stm r0!, {{r1, r2, r3}}", // RNR, RBAR, RASR
        "ldr r0, ={ctrl}",
        "movs r1, #{enable}",
        "str r1, [r0]",
        "dsb",
        "bx lr",
        ".ltorg",
        rnr = const 0xE000_ED98_u32,
        ctrl = const 0xE000_ED94_u32,
        start = const 0x2000_0000_u32 - (1 << SIZE_LOG2),
        attributes = const 1_u32 << 28 | (SIZE_LOG2 - 1) << 1 | ENABLE,
        enable = const 1_u32 << 2 | ENABLE,
    )
}
