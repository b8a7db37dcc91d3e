//! A hash of each stream.

use core_codec::izs::model::StreamId;
use sha2::{Digest, Sha256};
use std_io::{Budget, IzsFile};

use crate::document::Outcome;
use crate::output::{Row, hex, row};

pub(super) fn emit(
    file: &IzsFile,
    emit: &mut dyn FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut budget = file.budget();
    for id in file.schema().streams() {
        let mut line =
            row([("format", "izs".into()), ("stream", file.schema().stream_pointer(id).to_string().into())]);
        line.extend(described(file, id));
        match hash(file, id, &mut budget) {
            Ok(sha256) => line.insert("sha256".into(), sha256.into()),
            Err(error) => {
                outcome = Outcome::Failed;
                line.insert("error".into(), error.to_string().into())
            }
        };
        emit(line)?;
    }
    Ok(outcome)
}

/// `element` and `end`, as far as the descriptor has them.
fn described(file: &IzsFile, id: StreamId) -> Row {
    match file.schema()[id].descriptor() {
        Ok(descriptor) => {
            row([("element", descriptor.element.name().into()), ("end", descriptor.end.into())])
        }
        Err(fault) => {
            let members = fault.raw.as_object().into_iter().flat_map(core_codec::izs::model::Object::iter);
            members
                .filter(|(name, _)| ["element", "end"].contains(name))
                .map(|(name, value)| (name.to_owned(), super::json(value)))
                .collect()
        }
    }
}

fn hash(file: &IzsFile, id: StreamId, budget: &mut Budget) -> Result<String, std_io::Error> {
    let stream = file.stream(id)?;
    budget.charge(&stream)?;
    let mut hash = Sha256::new();
    stream.for_each_part(0..stream.len(), |_, bytes| {
        hash.update(bytes);
        Ok::<_, std_io::Error>(())
    })?;
    stream.check_empty_block()?;
    Ok(hex(&hash.finalize()))
}
