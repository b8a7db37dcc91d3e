//! Encodes a file in frames, as `.izs` blocks of 4096 bytes, and counts.

use core::ffi::CStr;

use board::file::File;
use board::meter::{self, Meter};
use embedded_io::Read;
use micro_zstd::FrameEncoder;

const BLOCK: usize = 4096;
/// The content comes in pieces: a microcontroller has no room for a block beside the encoder.
const PIECE: usize = 1024;

/// Prints how long the frames are and a hash of their bytes (FNV-1a), and reports the instructions a byte.
pub(crate) fn encode(encoder: &mut impl FrameEncoder, level: &str, stream: &str, path: &CStr) {
    let mut file = File::open(path).expect("the file is there");
    let (mut hash, mut written, mut read, mut instructions) = (0x811C_9DC5_u32, 0, 0, 0);
    let mut output = |bytes: &[u8]| {
        written += bytes.len();
        hash = bytes.iter().fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    };
    loop {
        let mut block = 0;
        encoder.start(None);
        while block < BLOCK {
            let mut piece = [0; PIECE];
            let len = file.read(&mut piece).expect("it can be read");
            if len == 0 {
                break;
            }
            block += len;
            let mut rest = &piece[..len];
            while !rest.is_empty() {
                let mut meter = Meter::start();
                let encoded = encoder.encode(rest);
                meter.lap();
                instructions += meter.instructions();
                output(encoded.output);
                rest = &rest[encoded.taken..];
            }
        }
        if block == 0 {
            break;
        }
        read += block;
        loop {
            let mut meter = Meter::start();
            let last = encoder.finish();
            meter.lap();
            instructions += meter.instructions();
            let Some(last) = last else { break };
            output(last);
        }
    }
    board::println!("{level}, {stream}: {read} bytes in frames of {written}, hash {hash:08x}");
    let each = meter::Per { count: instructions, of: read as u64 };
    meter::report(format_args!("instructions a byte, {level} on {stream}"), each);
}
