//! Any bytes: opening, reading, slicing, verifying and rewriting end in values or errors, within the limits.
#![no_main]

use core_codec::Limits;
use core_codec::source::complete;
use core_codec::stards::{Dataset, Draft, Slice};
use libfuzzer_sys::fuzz_target;
use std_io::{Error, Input, StardsFile};

fuzz_target!(|file: &[u8]| {
    let mut limits = Limits::default();
    limits.item_bytes = 16 << 20;
    limits.metadata_bytes = 1 << 20;
    let Ok(dataset) = complete(Dataset::open(file, &limits)) else { return };
    for array in dataset.arrays() {
        let whole = complete(array.read(file));
        let dimensions = array.shape().len();
        let all = complete(array.read_slice(file, &vec![Slice::ALL; dimensions]));
        // A slice does not look at blocks that hold nothing, which may be damaged.
        if let Ok(whole) = &whole {
            assert_eq!(Ok(whole), all.as_ref());
        }
        let step = i64::from(file.last().copied().unwrap_or(1) as i8);
        let some = vec![Slice::range(None, Some(step), step.max(-3)); dimensions];
        let _ = complete(array.read_slice(file, &some));
        let _ = complete(array.view::<f64, _>(file));
    }
    by_host(file, &dataset, &limits);
    for layer in dataset.layers() {
        let _ = complete(dataset.inherited_metadata(file, layer.name()));
    }
    // What can be rewritten holds the same.
    let Ok(draft) = complete(Draft::from_dataset(&dataset, file)) else { return };
    let Ok(new) = draft.to_bytes(file) else { return };
    let again = complete(Dataset::open(&new[..], &limits)).unwrap();
    for (index, array) in dataset.arrays().iter().enumerate().filter(|(index, _)| dataset.is_visible(*index))
    {
        let layer = dataset.layers()[array.layer()].name();
        let copy = again.array(layer, array.key()).unwrap_or_else(|error| panic!("{index}: {error}"));
        match (complete(array.read(file)), complete(copy.read(&new[..]))) {
            (Ok(old), Ok(new)) => assert_eq!(old, new),
            (old, new) => assert_eq!(old.is_ok(), new.is_ok(), "{old:?} {new:?}"),
        }
    }
});

/// The host side, which fetches what it needs and works in parts, reads and finds the same.
fn by_host(file: &[u8], dataset: &Dataset, limits: &Limits) {
    let input = Input::fetching(file.to_vec()).with_cache(1 << 10);
    let host = StardsFile::from_input(input, limits).unwrap();
    assert_eq!(host.verify().unwrap(), complete(dataset.verify(file)).unwrap());
    for (array, on_host) in dataset.arrays().iter().zip(host.arrays()) {
        let whole = complete(array.read(file));
        let mut joined = Vec::new();
        let parts = on_host.for_each_part(|part| {
            joined.extend_from_slice(part);
            Ok::<_, Error>(())
        });
        match (&whole, on_host.tensor(), parts) {
            (Ok(whole), Ok(tensor), Ok(())) => assert!(*whole == tensor && joined == whole.bytes()),
            (Err(_), Err(_), Err(_)) => {}
            (whole, tensor, parts) => panic!("{:?} {:?} {parts:?}", whole.is_ok(), tensor.is_ok()),
        }
    }
}
