//! The boards write the bytes that the host writes: what the programs `record*` printed in QEMU is what the same
//! recordings come to here.

mod common;
mod scenario;

use common::Sink;
use firmware_writer::{Entropy, Fast, Memory};
use scenario::Hash;

const PRINTED: &str = concat!(
    include_str!("../../../firmware/src/bin/record.out"),
    include_str!("../../../firmware/src/bin/record_fast.out"),
    include_str!("../../../firmware/src/bin/record_entropy.out"),
    include_str!("../../../firmware/src/bin/record_summary.out"),
);

fn check<E: std::fmt::Debug>(name: &str, hash: Result<Hash, E>) {
    let line = format!("{name}: {}", hash.unwrap());
    assert!(
        PRINTED.lines().any(|printed| printed == line),
        "{line:?} is not in what was printed:\n{PRINTED}"
    );
}

#[test]
fn boards_write_what_the_host_writes() {
    check("logic", scenario::logic(&mut scenario::Single::new(Default::default()), Hash::new()));
    check("long_block", scenario::long_block(&mut scenario::Single::new(Default::default()), Hash::new()));
    check("fast", scenario::logic(&mut Memory::new(<Fast>::new()), Hash::new()));
    check("entropy", scenario::logic(&mut Memory::new(<Entropy>::new()), Hash::new()));
    check("raw", scenario::raw(&mut scenario::Raw::new(Default::default()), Hash::new()));
    check("pair", scenario::pair(&mut scenario::Pair::new(Default::default()), Hash::new()));
    check("v001", scenario::v001(&mut scenario::Pair::new(Default::default()), Hash::new()));
}

#[test]
fn boards_write_the_summaries_that_the_host_writes() {
    let mut memory = scenario::Summarised::new(Default::default());
    for sizes in [&[500][..], &[1, 2, 3, 64, 5000]] {
        check("summarised", scenario::summarised(&mut memory, Hash::new(), sizes));
    }
}

#[test]
fn what_they_write_reads_back() {
    let pins: Vec<u8> = scenario::Pins::new().take(scenario::PINS_LEN).collect();
    let ramp: Vec<u8> = scenario::ramp().take(scenario::RAMP_LEN).flat_map(u16::to_le_bytes).collect();
    let mut memory = scenario::Single::new(Default::default());
    let file = scenario::logic(&mut memory, Sink::default()).unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), pins);
    let file = scenario::logic(&mut Memory::new(<Fast>::new()), Sink::default()).unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), pins);
    let file = scenario::logic(&mut Memory::new(<Entropy>::new()), Sink::default()).unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), pins);
    let file = scenario::long_block(&mut memory, Sink::default()).unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), pins);
    let file = scenario::raw(&mut scenario::Raw::new(Default::default()), Sink::default()).unwrap().bytes;
    assert_eq!(common::read(&file, "/entity/data"), ramp);
    let mut memory = scenario::Pair::new(Default::default());
    let ramp: Vec<u8> = scenario::ramp().take(scenario::RAMP_LEN).map(|value| value as u8).collect();
    for file in [scenario::pair(&mut memory, Sink::default()), scenario::v001(&mut memory, Sink::default())] {
        let file = file.unwrap().bytes;
        assert_eq!(common::read(&file, "/entity/children/pins/data"), pins);
        assert_eq!(common::read(&file, "/entity/children/adc/data"), ramp);
    }
}
