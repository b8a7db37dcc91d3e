//! Records into an asynchronous sink. Here a panic remains that no source can avoid: the compiler puts one where an
//! `async fn` is polled again after it has ended. `cargo xtask no-panic` sees to it that there is no other.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use bare::recordings::{ADC, COUNTER, LOGIC, SCHEMA, Sink, TIMES, samples, show};
use firmware_writer::{BitAndOr, Error, FrameEncoder, Gap, Memory, Recording, Rle, Summary};

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    show(run(asynchronous(&mut Memory::<Rle<256>, 4, 512, 65_536>::new(Rle::new()))));
    loop {
        core::hint::spin_loop();
    }
}

async fn asynchronous<E: FrameEncoder, const LOG: usize, G: Gap>(
    memory: &mut Memory<E, 4, LOG, 65_536, G>,
) -> Result<(), Error<embedded_io::ErrorKind>> {
    let mut summary = Summary::<BitAndOr, 3>::new(black_box(&SCHEMA), LOGIC).map_err(Error::Record)?;
    let mut recording = Recording::start_async(memory, black_box(&SCHEMA), Sink).await?;
    while black_box(true) {
        recording.push_async(black_box(LOGIC), samples()).await?;
        recording.push_summarised_async(black_box(LOGIC), &mut summary, samples()).await?;
        recording.push_async(black_box(ADC), samples()).await?;
        recording.push_async(black_box(COUNTER), samples()).await?;
        recording.push_async(black_box(TIMES), samples()).await?;
    }
    recording.finish_async().await.map(drop)
}

/// Polls to the end.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
