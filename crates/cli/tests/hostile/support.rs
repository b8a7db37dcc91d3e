//! Hostile files, made byte by byte, and the command run on them in little memory.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// What the files would cost a reader that believes them takes days.
const MOST: Duration = Duration::from_secs(20);

/// A Zstandard frame of blocks of at most 128 KiB; `block` gives the stored bytes of each and its type.
fn frame(len: usize, block: impl Fn(usize, usize) -> (u8, Vec<u8>)) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3];
    let mut at = 0;
    loop {
        let size = (len - at).min(128 << 10);
        let (kind, stored) = block(at, size);
        let last = at + size == len;
        frame.extend(&((size as u32) << 3 | u32::from(kind) << 1 | u32::from(last)).to_le_bytes()[..3]);
        frame.extend(stored);
        at += size;
        if last {
            return frame;
        }
    }
}

/// A frame of so many zeros, one byte for each 128 KiB.
pub(crate) fn zeros(len: usize) -> Vec<u8> {
    frame(len, |_, _| (1, vec![0]))
}

/// A file that grows, behind a hole.
#[derive(Clone)]
pub(crate) struct File(Vec<u8>, u64);

impl File {
    pub(crate) fn new() -> Self {
        Self(vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed], 0)
    }

    /// A file that is longer by so many bytes, which take no room on most file systems.
    pub(crate) fn behind(hole: u64) -> Self {
        Self(Vec::new(), hole)
    }

    fn len(&self) -> u64 {
        self.1 + self.0.len() as u64
    }

    /// Stores the bytes once, and an index that names them `blocks` times: its offset and size.
    pub(crate) fn blocks(&mut self, stored: &[u8], blocks: usize) -> (usize, usize) {
        let parts = vec![(self.len(), stored.len() as u32); blocks];
        self.0.extend(stored);
        self.index(&parts)
    }

    /// Stores each of `parts` as a block.
    pub(crate) fn parts(&mut self, parts: &[&[u8]]) -> (usize, usize) {
        let place = |part: &&[u8]| {
            let start = self.len();
            self.0.extend(*part);
            (start, part.len() as u32)
        };
        let places: Vec<_> = parts.iter().map(place).collect();
        self.index(&places)
    }

    fn index(&mut self, places: &[(u64, u32)]) -> (usize, usize) {
        let start = self.len() as usize;
        self.0.extend(places.iter().flat_map(|place| place.0.to_le_bytes()));
        self.0.extend(places.iter().flat_map(|place| place.1.to_le_bytes()));
        (start, places.len() * 12)
    }

    /// Ends the file with this schema, and runs the command on it in 160 MiB of address space. The file's name
    /// takes the place of `FILE`, or the end.
    pub(crate) fn run(mut self, schema: &str, arguments: &[&str]) -> Output {
        let schema = frame(schema.len(), |at, size| (0, schema.as_bytes()[at..at + size].to_vec()));
        self.0.extend(&schema);
        self.0.extend((schema.len() as u32).to_le_bytes());
        self.0.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let mut file = std::fs::File::create(&path).unwrap();
        file.set_len(self.1).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(&self.0).unwrap();
        run(arguments, &path)
    }
}

/// Runs the command on a file of these bytes, within the same bounds.
pub(crate) fn run_on(file: &[u8], arguments: &[&str]) -> Output {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, file).unwrap();
    run(arguments, &path)
}

fn run(arguments: &[&str], file: &Path) -> Output {
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 163840 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_tripoint")]);
        shell
    } else {
        Command::new(env!("CARGO_BIN_EXE_tripoint"))
    };
    let started = Instant::now();
    match arguments.split(|argument| *argument == "FILE").collect::<Vec<_>>()[..] {
        [before, after] => command.args(before).arg(file).args(after),
        _ => command.args(arguments).arg(file),
    };
    let output = command.output().unwrap();
    let elapsed = started.elapsed();
    assert!(elapsed < MOST, "{arguments:?}: {elapsed:?}");
    output
}

/// A stream descriptor.
pub(crate) fn data(element: &str, end: u64, block: u64, compress: &str, index: (usize, usize)) -> String {
    let (offset, size) = index;
    format!(
        r#"{{"element":"{element}","end":{end},"block":{block},"compress":"{compress}","i_offset":{offset},"i_size":{size},"i_compress":"none"}}"#
    )
}

/// What an [`Output`] says, and its exit code.
pub(crate) fn said(output: Output) -> (String, Option<i32>) {
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}
