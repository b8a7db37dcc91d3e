//! A hash of each array and each metadata value.

use sha2::{Digest, Sha256};
use std_io::StardsArray;

use super::{Document, items};
use crate::document::Outcome;
use crate::output::{Row, hex, row};

pub(super) fn emit(
    document: &Document,
    emit: &mut dyn FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut finish = |mut line: Row, hash: Result<String, String>| {
        match hash {
            Ok(sha256) => line.insert("sha256".into(), sha256.into()),
            Err(error) => {
                outcome = Outcome::Failed;
                line.insert("error".into(), error.into())
            }
        };
        emit(line)
    };
    let head = |layer: &str, kind: &str, key: &str| {
        row([
            ("format", "stards".into()),
            ("layer", layer.into()),
            ("kind", kind.into()),
            ("key", key.into()),
        ])
    };
    // An array that a later one of the same key hides is no data.
    for (layer, array) in document.arrays() {
        let mut line = head(layer.name(), "array", array.info().key());
        let described = items::described(array.info());
        line.extend(described.into_iter().filter(|(name, _)| ["dtype", "shape"].contains(&&**name)));
        finish(line, hash(array).map_err(|error| error.to_string()))?;
    }
    for layer in document.file.dataset().layers() {
        for entry in items::entries(document, layer) {
            let mut line = head(layer.name(), "metadata", &entry.key);
            if let Ok(value) = &entry.value {
                line.insert("dtype".into(), value.dtype().name().into());
                line.insert("shape".into(), items::shape(value.shape()));
            }
            let hash = entry.value.map(|value| hex(&Sha256::digest(value.bytes())));
            finish(line, hash.map_err(|error| error.to_string()))?;
        }
    }
    Ok(outcome)
}

fn hash(array: StardsArray<'_>) -> Result<String, std_io::Error> {
    let mut hash = Sha256::new();
    array.for_each_part(|bytes| {
        hash.update(bytes);
        Ok::<_, std_io::Error>(())
    })?;
    Ok(hex(&hash.finalize()))
}
