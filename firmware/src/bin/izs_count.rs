//! Counts the instructions that a recording takes for a byte of samples, and how deep its stack goes. The samples
//! come in buffers of 512 bytes, as from DMA; the file goes nowhere.
#![no_std]
#![no_main]

use core::ffi::CStr;
use core::hint::black_box;

use board::file::File;
use board::meter::{self, Per};
use board::stack;
use embedded_io::{ErrorType, Read, Write};
use firmware_writer::{Entity, FrameEncoder, Memory, Recording, Rle, Sample, Schema, Store, Stream};

const BUFFER: usize = 512;

/// Takes all, and keeps none of it.
#[derive(Default)]
struct Null {
    bytes: u64,
}

impl ErrorType for Null {
    type Error = core::convert::Infallible;
}

impl Write for Null {
    fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        self.bytes += black_box(buf).len() as u64;
        Ok(buf.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Samples with which a buffer of bytes can be filled.
trait FromBytes: Sample {
    fn from_bytes(bytes: &[u8], samples: &mut [Self]) -> usize;
    const ZERO: Self;
}

impl FromBytes for u8 {
    const ZERO: Self = 0;

    fn from_bytes(bytes: &[u8], samples: &mut [Self]) -> usize {
        for (sample, byte) in samples.iter_mut().zip(bytes) {
            *sample = *byte;
        }
        bytes.len()
    }
}

impl FromBytes for u16 {
    const ZERO: Self = 0;

    fn from_bytes(bytes: &[u8], samples: &mut [Self]) -> usize {
        for (sample, pair) in samples.iter_mut().zip(bytes.as_chunks().0) {
            *sample = Self::from_le_bytes(*pair);
        }
        bytes.len() / 2
    }
}

/// Passes the file to `work`, a buffer at a time; returns how many bytes it has.
#[inline(never)]
fn feed<T: FromBytes>(path: &CStr, mut work: impl FnMut(&[T])) -> u64 {
    let mut file = File::open(path).expect("the input is there");
    let (mut bytes, mut samples) = ([0; BUFFER], [T::ZERO; BUFFER]);
    let mut total = 0;
    while let n @ 1.. = file.read(&mut bytes).expect("it can be read") {
        let count = T::from_bytes(&bytes[..n], &mut samples);
        work(&samples[..count]);
        total += n as u64;
    }
    total
}

/// Instructions of `work`, and how deep its stack goes.
#[inline(never)]
fn measure(work: impl FnOnce()) -> (u64, usize) {
    let used = stack::repaint();
    let instructions = meter::count(work);
    (instructions, stack::deepest() - used)
}

fn count<T: FromBytes, E: FrameEncoder, const LOG: usize>(
    name: &str,
    path: &CStr,
    stream: Stream<T>,
    memory: &mut Memory<E, 1, LOG>,
) {
    let schema = Schema::new(Entity::bits(8 * size_of::<T>() as u8).data(stream.def()));
    let (mut bytes, mut file) = (0, 0);
    let reading = measure(|| {
        feed(path, |samples: &[T]| {
            black_box(samples);
        });
    });
    let recording = measure(|| {
        let mut recording = Recording::start(memory, &schema, Null::default()).expect("it starts");
        bytes = feed(path, |samples| recording.push(stream, samples).expect("it takes samples"));
        file = recording.finish().expect("it ends").bytes;
    });
    board::println!("{name}: {bytes} bytes of samples become {file}");
    let instructions = Per { count: recording.0 - reading.0, of: bytes };
    meter::report(format_args!("instructions a byte, izs {name}"), instructions);
    meter::report(format_args!("bytes of stack, izs {name}"), recording.1 - reading.1);
}

static mut NONE: Memory<Store<32>, 1, 0> = Memory::new(Store::new());
static mut RLE: Memory<Rle<512>, 1, 64> = Memory::new(Rle::new());

#[board::entry]
fn main() -> ! {
    let (none, rle) = (&raw mut NONE, &raw mut RLE);
    // SAFETY: the only references to them.
    let (none, rle) = unsafe { (&mut *none, &mut *rle) };
    let logic = Stream::<u8>::new(0).block(1 << 20);
    let adc = Stream::<u16>::new(0).block(1 << 20);
    count("none, logic", c"logic", logic.uncompressed(), none);
    count("none, adc", c"adc", adc.uncompressed(), none);
    count("rle, logic", c"logic", logic, rle);
    count("rle, adc", c"adc", adc, rle);
    board::exit(0)
}
