//! Writes a file of the host and reads it back.
#![no_std]
#![no_main]

use board::file::File;
use embedded_io::{Read, Write};

#[board::entry]
fn main() -> ! {
    let mut file = File::create(c"written.txt").expect("a file can be created");
    file.write_all(b"from the board\n").expect("it can be written");
    drop(file);

    let mut file = File::open(c"written.txt").expect("what was written is there");
    let mut buffer = [0; 32];
    let mut length = 0;
    while let n @ 1.. = file.read(&mut buffer[length..]).expect("it can be read") {
        length += n;
    }
    board::print!("{}", core::str::from_utf8(&buffer[..length]).expect("it is text"));
    board::println!("a file that is not there: {:?}", File::open(c"no such file").err());
    board::exit(0)
}
