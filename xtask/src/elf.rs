//! What linked programs tell: how large their sections are, and where panics in them start.

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};
use object::read::elf::ElfFile32;
use object::{Object, ObjectSection};

/// The bytes that a program takes on a microcontroller.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// `.text`, `.rodata`, and the initial values of `.data`.
    pub(crate) flash: u64,
    /// `.data` and `.bss`.
    pub(crate) ram: u64,
}

pub(crate) fn sizes(program: &Path) -> Result<Sizes> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    let elf =
        ElfFile32::<object::Endianness>::parse(&*bytes).with_context(|| program.display().to_string())?;
    let sum = |names: &[&str]| -> u64 {
        let is_one_of = |name: &str| {
            let extends =
                |of: &str| name.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            names.iter().copied().any(extends)
        };
        elf.sections()
            .filter(|section| section.name().is_ok_and(is_one_of))
            .map(|section| section.size())
            .sum()
    };
    Ok(Sizes { flash: sum(&[".text", ".rodata", ".data"]), ram: sum(&[".data", ".bss"]) })
}

/// A place in the source.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

/// The places in the source that a program names: where its panics start. A `core::panic::Location` lies in the
/// read-only data as four words: address and length of the file's name, line, column.
pub(crate) fn locations(program: &Path) -> Result<Vec<Location>> {
    let bytes = fs::read(program)?;
    let elf = ElfFile32::<object::Endianness>::parse(&*bytes)?;
    let mut found = Vec::new();
    for section in elf.sections() {
        let data = section.data()?;
        let text = |address: u32, length: u32| {
            let start = usize::try_from(u64::from(address).checked_sub(section.address())?).ok()?;
            core::str::from_utf8(data.get(start..start.checked_add(length as usize)?)?).ok()
        };
        let words: Vec<u32> = data.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        for window in words.windows(4) {
            let [address, length, line, column] = *window else { continue };
            if let Some(file) = text(address, length).filter(|file| file.ends_with(".rs")) {
                found.push(Location { file: file.to_owned(), line, column });
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
